package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
)

// settled is when figures of 20 November are pulled that are complete.
var settled = time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)

// sum returns the SHA-256 of a text in hex.
func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// requireWhole requires exactly one visible file with the row's content, and its manifest.
func (r *rig) requireWhole() publishing.Publication {
	const name = "2026-11-20/sales.csv"
	r.t.Helper()
	p, all := r.file(1), r.visible()
	require.Equal(r.t, publishing.Published, p.State, p.ErrorText)
	require.Len(r.t, all, 2, "no leftovers: %v", r.names())
	require.Equal(r.t, p.SHA256, sum(all[name]))
	require.EqualValues(r.t, len(all[name]), *p.ByteSize)
	var m Manifest
	require.NoError(r.t, json.Unmarshal([]byte(all[name+manifestSuffix]), &m))
	require.Equal(r.t, Manifest{Subscription: "sales", File: filepath.Base(name), From: "2026-11-20", To: "2026-11-20",
		Revision: p.Revision, Rows: *p.RowCount, Columns: 3, Bytes: *p.ByteSize, SHA256: p.SHA256,
		RenderedAt: p.RenderedAt.UTC()}, m)
	used, _ := r.deps.Spool.Usage()
	require.Zero(r.t, used)
	return p
}

func TestFiles_FromRowsToAManifest(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.pull("2026-11-20", 12_340_000, settled)
	r.plan()
	r.plan()
	require.Len(t, r.files(), 1)
	require.Equal(t, 1, storetest.RowsIn(t, r.store, "manual_order"), "it is ordered once")
	require.Equal(t, Lane, r.file(1).Lane)
	require.NoError(t, r.run(part))
	p := r.requireWhole()
	require.EqualValues(t, 1, *p.RowCount)
	require.Contains(t, r.visible()["2026-11-20/sales.csv"], "day,account_id,cost\n2026-11-20,7,12340000\n")
	require.NoError(t, r.run(part), "a second delivery of the subtask changes nothing")
	r.requireWhole()
	err := r.run("sales/2026-11-19/r1")
	var invalid *media.Error
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, media.Invalid, invalid.Class)
}

func TestFiles_AreInTheResultsOfTheirSubtasks(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.pull("2026-11-20", 12_340_000, settled)
	r.plan()
	none, err := r.result(partPlan)
	require.NoError(t, err)
	require.Empty(t, none.Files)
	got, err := r.result(part)
	require.NoError(t, err)
	p := r.requireWhole()
	want := []task.File{{ID: strconv.FormatInt(p.ID, 10), Subscription: "sales", Revision: 1, Destination: "shelf",
		Name: "2026-11-20/sales.csv", Rows: 1, Bytes: *p.ByteSize, SHA256: p.SHA256}}
	require.Equal(t, media.Result{Rows: 1, Files: want}, got)
	again, err := r.result(part)
	require.NoError(t, err)
	require.Equal(t, want, again.Files, "a try after a kill, whose outcome was not written, has the file too")

	// One that is another by then was not delivered.
	r.data("UPDATE publication SET check_at = ?", sqldb.At(r.clock.Now()))
	require.NoError(t, os.WriteFile(filepath.Join(r.shelf, p.Name), []byte("theirs"), 0o600))
	none, err = r.result(part)
	require.NoError(t, err)
	require.Equal(t, publishing.Failed, r.file(1).State)
	require.Empty(t, none.Files)

	r = newRig(t, func(s *publishing.Subscription) { s.OnEmpty = emptySkip })
	r.plan()
	none, err = r.result(part)
	require.NoError(t, err)
	require.Equal(t, publishing.Empty, r.file(1).State)
	require.Empty(t, none.Files)
}

func TestFiles_OfASubscriptionAreFollowedByItsApplication(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *publishing.Subscription) {
		s.Application, s.Corrections = "shop", `{"every_minutes": 60, "days": 1}`
	})
	for name, application := range map[string]string{"quiet": "", "desk": "desk", "spoilt": "desk", "broken": "desk"} {
		row := sales()
		row.Name, row.Path, row.Application, row.Since = name, name+"/{day}.csv", application, now.AddDate(0, 0, -1)
		r.put(&row)
	}
	r.plan()
	r.data("DELETE FROM manual_order")
	r.data("UPDATE publication SET run_id = 0")
	r.exec("UPDATE subscription SET cron = 'never' WHERE name = 'broken'")
	r.exec("UPDATE subscription SET application = 'No name' WHERE name = 'spoilt'")
	r.plan()
	got := map[string]string{}
	for _, o := range r.orders() {
		for _, part := range o.Request.Parts {
			name, _, _ := strings.Cut(part, "/")
			got[name] += o.Request.Application
		}
	}
	require.Equal(t, map[string]string{"sales": "shop", "quiet": "", "desk": "desk", "broken": "desk", "spoilt": ""}, got,
		"the end of one that cannot be used any more is followed too")

	// Second looks deliver nothing.
	require.NoError(t, r.run(part))
	r.data("DELETE FROM manual_order")
	r.clock.add(time.Hour)
	r.plan()
	require.Len(t, r.orders(), 1)
	require.Equal(t, []string{part}, r.orders()[0].Request.Parts)
	require.Empty(t, r.orders()[0].Request.Application)
}

func TestFiles_SurviveAKillAtEachChangeOfARow(t *testing.T) {
	t.Parallel()
	for _, exists := range []string{existsReplace, existsVersion, existsRefuse} {
		r := newRig(t, func(s *publishing.Subscription) { s.OnExists = exists })
		r.pull("2026-11-20", 12_340_000, settled)
		r.plan()
		kills := 0
		for n := 1; ; n++ {
			died := r.kill(n, true)
			if !died {
				break
			}
			kills++
			r.clock.add(connectionMax) // The killed try's connection is free again.
			require.NoError(t, r.run(part), "%s: before change %d", exists, n)
			r.requireWhole()
			r.again()

			require.True(t, r.kill(n, false))
			r.clock.add(connectionMax)
			require.NoError(t, r.run(part), "%s: after change %d", exists, n)
			r.requireWhole()
			r.again()
		}
		require.Greater(t, kills, 8)
	}
}

// again makes the file one that was never delivered.
func (r *rig) again() {
	r.t.Helper()
	require.NoError(r.t, os.RemoveAll(filepath.Join(r.shelf, "2026-11-20")))
	p := r.file(1)
	ok, err := r.store.ReopenFile(r.t.Context(), p.ID, r.clock.Now())
	require.NoError(r.t, err)
	require.True(r.t, ok)
}

func TestFiles_AnOvertakenTryChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.pull("2026-11-20", 12_340_000, settled)
	r.plan()
	require.True(t, r.kill(5, false))
	before := r.file(1)
	require.True(t, before.State.Open())
	require.NoError(t, r.run(part))
	after := r.requireWhole()
	before.State, before.SHA256 = publishing.Verified, "stale"
	ok, err := r.store.StepFile(t.Context(), &before)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, after, r.file(1))
}

func TestFiles_OfNoRows(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.plan()
	require.NoError(t, r.run(part))
	require.Equal(t, "day,account_id,cost\n", r.visible()["2026-11-20/sales.csv"])
	require.Zero(t, *r.file(1).RowCount)

	r = newRig(t, func(s *publishing.Subscription) { s.OnEmpty = emptySkip })
	r.plan()
	require.NoError(t, r.run(part))
	require.Equal(t, publishing.Empty, r.file(1).State)
	require.Empty(t, r.visible())
	require.Zero(t, storetest.RowsIn(t, r.store, "destination_state"), "it was not used")

	r = newRig(t, func(s *publishing.Subscription) { s.OnEmpty = emptyFail })
	r.plan()
	require.ErrorContains(t, r.run(part), "on_empty is fail")
	require.Equal(t, publishing.Planned, r.file(1).State)
	require.Contains(t, r.file(1).ErrorText, "on_empty is fail")
	require.Empty(t, r.visible())
}

func TestFiles_WhereAnotherFileHasTheName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ exists, name, fails string }{
		{existsReplace, "2026-11-20/sales.csv", ""},
		{existsVersion, "2026-11-20/sales-2.csv", ""},
		{existsRefuse, "", "on_exists is refuse"},
	} {
		r := newRig(t, func(s *publishing.Subscription) { s.OnExists = c.exists })
		other := filepath.Join(r.shelf, "2026-11-20", "sales.csv")
		require.NoError(t, os.MkdirAll(filepath.Dir(other), 0o755))
		require.NoError(t, os.WriteFile(other, []byte("theirs"), 0o600))
		r.plan()
		err := r.run(part)
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails)
			require.Equal(t, map[string]string{"2026-11-20/sales.csv": "theirs"}, r.visible())
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.name, r.file(1).Name)
		require.Equal(t, r.file(1).SHA256, sum(r.visible()[c.name]))
		require.Equal(t, c.exists == existsVersion, r.visible()["2026-11-20/sales.csv"] == "theirs")
	}
}

func TestFiles_ALaterRevisionSupersedes(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.pull("2026-11-20", 12_340_000, settled)
	r.plan()
	next := r.file(1)
	next.ID, next.Revision, next.RunID = next.ID+1, 2, 0
	_, err := r.store.PlanFiles(t.Context(), []publishing.Publication{next})
	require.NoError(t, err)
	require.NoError(t, r.run("sales/2026-11-20/r2"))
	require.ErrorIs(t, r.run(part), media.ErrSuperseded)
	require.Equal(t, publishing.Superseded, r.file(1).State)
	require.Len(t, r.visible(), 2, "what was uploaded is deleted")
	require.Equal(t, publishing.Published, r.file(2).State)
}

func TestFiles_WaitForTheirDestination(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.plan()
	away := r.shelf + "-away"
	require.NoError(t, os.Rename(r.shelf, away))
	var deferred *media.DeferError
	require.ErrorAs(t, r.run(part), &deferred)
	require.Equal(t, probeFirst, deferred.After)
	require.ErrorAs(t, r.run(part), &deferred, "it does not try again yet")
	require.Contains(t, deferred.Reason, "cannot be used since")
	r.clock.add(probeFirst)
	require.ErrorAs(t, r.run(part), &deferred)
	require.Equal(t, 2*probeFirst, deferred.After)
	require.NoError(t, os.Rename(away, r.shelf))
	r.clock.add(2 * probeFirst)
	require.NoError(t, r.run(part))
	r.requireWhole()
	states, err := r.store.DestinationStates(t.Context())
	require.NoError(t, err)
	require.True(t, states["shelf"].DownSince.IsZero())
}

func TestFiles_WaitForAConnectionAndForRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.exec(`UPDATE destination SET options = '{"connections": 1}'`)
	r.pull("2026-11-20", 12_340_000, settled)
	r.plan()
	taken, err := r.store.TakeConnection(t.Context(), "shelf", 1, 1, now, now.Add(time.Hour))
	require.NoError(t, err)
	require.True(t, taken)
	var deferred *media.DeferError
	require.ErrorAs(t, r.run(part), &deferred)
	require.Equal(t, busyWait, deferred.After)
	require.Equal(t, publishing.Rendered, r.file(1).State)
	require.NoError(t, r.store.ReturnConnection(t.Context(), "shelf", 1, now))

	r.unrender()
	full, err := OpenSpool(t.TempDir(), 10)
	require.NoError(t, err)
	spool := r.deps.Spool
	r.deps.Spool = full
	require.ErrorAs(t, r.run(part), &deferred)
	require.Equal(t, fullWait, deferred.After)
	used, _ := full.Usage()
	require.Zero(t, used)
	r.deps.Spool = spool
	require.NoError(t, r.run(part))
	r.requireWhole()
}

// unrender makes the open file one that was not rendered.
func (r *rig) unrender() {
	r.t.Helper()
	r.deps.Spool.Remove(r.file(1).ID)
	err := r.store.Data.Writer(r.t.Context()).Exec("UPDATE publication SET state = 'planned', sha256 = ''").Error
	require.NoError(r.t, err)
}

func TestFiles_OutgrowTheirLane(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *publishing.Subscription) {
		var columns []string
		for i := range 20 {
			columns = append(columns, fmt.Sprintf("'%s' AS c%d", strings.Repeat("x", 900), i))
		}
		s.Source = `{"query": "SELECT day, ` + strings.Join(columns, ", ") +
			` FROM report_daily_account ORDER BY day, account_id, level, object_id"}`
	})
	storetest.AddRows(t, r.store.Data,
		"report_daily (day, account_id, level, object_id, media, currency, day_zone, version, updated_at)", 100,
		func(i int) []any {
			return []any{"2026-11-20", 1000 + i, "account", "", "tulip", "CNY", "Asia/Shanghai", 1, "2026-11-21 00:00:00"}
		})
	r.deps.LargeBytes = 1 << 19
	r.plan()
	require.ErrorIs(t, r.run(part), media.ErrSuperseded)
	require.Equal(t, publishing.Planned, r.file(1).State)
	r.plan()
	require.Equal(t, LargeLane, r.file(1).Lane)
	require.NotZero(t, r.file(1).RunID)
	require.NoError(t, r.run(part))
	require.Equal(t, publishing.Published, r.file(1).State)
	require.Greater(t, *r.file(1).ByteSize, int64(1<<19))
}

func TestFiles_EndWithTheirSubscription(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.plan()
	r.exec("DELETE FROM subscription")
	require.ErrorIs(t, r.run(part), media.ErrSuperseded)
	require.Equal(t, publishing.Cancelled, r.file(1).State)
}
