package publish

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/publishing"
	"adsync/base/store/storetest"
	"adsync/media"
)

// correctedRig returns a rig whose file of 20 November was published at now, and is compared each hour for a day after
// its moment, with a quiet time of 10 minutes.
func correctedRig(t *testing.T, change func(*publishing.Subscription)) *rig {
	t.Helper()
	r := newRig(t, func(s *publishing.Subscription) {
		s.Corrections = `{"every_minutes": 60, "days": 1}`
		if change != nil {
			change(s)
		}
	})
	r.account(7, "active", "")
	r.pull("2026-11-20", 1_000_000, settled)
	r.plan()
	require.NoError(t, r.run(part))
	require.Equal(t, publishing.Published, r.file(1).State)
	return r
}

// look moves the clock to a time of the day and runs what the planning then orders of the files of 20 November.
func (r *rig) look(clock string) {
	r.t.Helper()
	at, err := time.Parse("2006-01-02 15:04", "2026-11-"+clock)
	require.NoError(r.t, err)
	r.clock.add(at.Sub(r.clock.Now()))
	r.data("DELETE FROM manual_order")
	r.plan()
	for _, o := range r.orders() {
		for _, part := range o.Request.Parts {
			require.NoError(r.t, r.run(part), part)
		}
	}
}

// change pulls another cost of 20 November.
func (r *rig) change(cost int64) {
	r.t.Helper()
	r.pull("2026-11-20", cost, r.clock.Now())
}

// requireRevisions requires how many revisions the file has, and that the newest one was published with a cost.
func (r *rig) requireRevisions(n int, cost string) {
	r.t.Helper()
	made := 0
	for _, p := range r.files() {
		if p.ToDay == "2026-11-20" {
			made++
		}
	}
	require.Equal(r.t, n, made)
	require.Equal(r.t, publishing.Published, r.file(n).State, r.file(n).ErrorText)
	require.Contains(r.t, r.visible()["2026-11-20/sales.csv"], ",7,"+cost+"\n")
	require.Equal(r.t, r.file(n).SHA256, sum(r.visible()["2026-11-20/sales.csv"]))
}

func TestCorrections_NoneWithoutAChange(t *testing.T) {
	t.Parallel()
	r := correctedRig(t, nil)
	require.Equal(t, now.Add(time.Hour), r.file(1).CompareAt)
	require.Equal(t, time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC), r.file(1).CorrectUntil)
	for _, at := range []string{"21 04:00", "21 04:59", "21 05:00", "21 06:00", "21 07:30"} {
		r.look(at)
		r.requireRevisions(1, "1000000")
	}
	require.Equal(t, now.Add(4*time.Hour+30*time.Minute), r.file(1).CompareAt, "an hour after the last comparison")
	require.Empty(t, r.file(1).Compared)
	used, _ := r.deps.Spool.Usage()
	require.Zero(t, used)
}

func TestCorrections_OneForEachChangeAfterTheQuietTime(t *testing.T) {
	t.Parallel()
	r := correctedRig(t, nil)
	r.look("21 04:01")
	r.change(2_000_000)
	r.look("21 04:59")
	require.Empty(t, r.file(1).Compared, "it is not due")
	r.look("21 05:00")
	require.NotEmpty(t, r.file(1).Compared)
	r.look("21 05:09")
	r.requireRevisions(1, "1000000")
	r.look("21 05:10")
	require.Equal(t, publishing.Planned, r.file(2).State)
	require.True(t, r.file(1).CompareAt.IsZero(), "the newest revision is compared")
	require.Equal(t, r.file(1).CorrectUntil, r.file(2).CorrectUntil)
	require.Equal(t, r.file(1).Sequence, r.file(2).Sequence)
	require.True(t, r.file(2).DueAt.IsZero())
	r.look("21 05:11")
	r.requireRevisions(2, "2000000")
	require.Equal(t, publishing.Published, r.file(1).State, "it was")

	r.change(3_000_000)
	r.look("21 06:10")
	require.Empty(t, r.file(2).Compared, "not more often than every hour")
	r.look("21 06:11")
	r.look("21 06:21")
	r.look("21 06:22")
	r.requireRevisions(3, "3000000")
	for _, at := range []string{"21 07:22", "21 07:32", "21 08:22", "21 08:32"} {
		r.look(at)
		r.requireRevisions(3, "3000000")
	}
}

func TestCorrections_AChangeMustStayTheSame(t *testing.T) {
	t.Parallel()
	r := correctedRig(t, nil)
	r.change(2_000_000)
	r.look("21 05:00")
	r.change(3_000_000) // It has not settled yet.
	r.look("21 05:10")
	r.requireRevisions(1, "1000000")
	r.change(1_000_000) // It is taken back.
	r.look("21 05:20")
	r.requireRevisions(1, "1000000")
	require.Empty(t, r.file(1).Compared)
	r.look("21 06:20")
	r.look("21 06:30")
	r.requireRevisions(1, "1000000")
}

func TestCorrections_EndAtCorrectUntil(t *testing.T) {
	t.Parallel()
	r := correctedRig(t, nil)
	r.change(2_000_000)
	r.look("22 00:40")
	r.look("22 00:50")
	r.look("22 00:51")
	r.requireRevisions(2, "2000000")
	require.True(t, r.file(2).CompareAt.IsZero(), "the next comparison would be too late")
	r.change(3_000_000)
	for _, at := range []string{"22 01:51", "22 02:01", "22 02:02"} {
		r.look(at)
		r.requireRevisions(2, "2000000")
	}

	r = correctedRig(t, nil)
	r.look("22 00:30")
	require.True(t, r.file(1).CompareAt.IsZero())
	r = correctedRig(t, nil)
	r.change(2_000_000)
	r.look("22 00:50")
	require.True(t, r.file(1).CompareAt.IsZero(), "the quiet time would end too late")
}

func TestCorrections_EndWithTheirSubscription(t *testing.T) {
	t.Parallel()
	for _, edit := range []string{"UPDATE subscription SET enabled = 0", "UPDATE subscription SET corrections = ''",
		"DELETE FROM subscription", "UPDATE subscription SET cron = 'never'"} {
		r := correctedRig(t, nil)
		r.change(2_000_000)
		r.look("21 05:00")
		r.exec(edit)
		r.look("21 05:10")
		r.look("21 05:11")
		r.requireRevisions(1, "1000000")
		require.True(t, r.file(1).CompareAt.IsZero(), edit)
	}
}

func TestCorrections_OfAccountsThatJoinLater(t *testing.T) {
	t.Parallel()
	r := correctedRig(t, func(s *publishing.Subscription) { s.Completeness = whole })
	r.account(8, "active", "")
	r.look("21 05:00")
	require.Empty(t, r.file(1).Compared, "it has no figures yet")
	r.pullOf(8, "2026-11-20", 9_000_000, settledAt(t, "2026-11-20").Add(-time.Second))
	r.look("21 06:00")
	r.look("21 06:10")
	require.Len(t, r.files(), 2)
	r.look("21 06:11")
	require.Equal(t, publishing.Waiting, r.file(2).State)
	require.Equal(t, "waits for figures, such as "+missed(8, beforeSettled).String(), r.file(2).ErrorText)
	require.True(t, r.file(2).LatestAt.IsZero())
	r.pullOf(8, "2026-11-20", 9_000_000, r.clock.Now())
	r.look("21 06:12")
	r.requireRevisions(2, "1000000")
	require.Contains(t, r.visible()["2026-11-20/sales.csv"], ",8,9000000\n")
}

func TestCorrections_OfAnIncompleteFile(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *publishing.Subscription) {
		s.Completeness = `{"when": "complete", "latest_minutes": 1}`
		s.Corrections = `{"every_minutes": 60, "days": 1}`
	})
	r.account(7, "active", "")
	r.account(8, "active", "")
	r.pull("2026-11-20", 1_000_000, settled)
	r.look("21 04:00")
	require.True(t, r.file(1).Incomplete)
	r.change(2_000_000) // It differs, and is not whole.
	r.look("21 05:00")
	r.look("21 05:10")
	r.look("21 06:00")
	require.Empty(t, r.file(1).Compared)
	r.requireRevisions(1, "1000000")
	r.change(1_000_000)
	// Account 8 has no rows on this day: the file stays the same, and is whole now.
	r.data("INSERT INTO coverage (account_id, report, level, day, media, run_id, state) SELECT 8, report, level, day, " +
		"media, run_id, state FROM coverage")
	r.look("21 07:00")
	r.look("21 07:01")
	r.requireRevisions(2, "1000000")
	require.False(t, r.file(2).Incomplete)
	require.Equal(t, r.file(1).SHA256, r.file(2).SHA256)
}

func TestRevisit_ChecksAPublishedFile(t *testing.T) {
	t.Parallel()
	at := func(r *rig) string { return filepath.Join(r.shelf, "2026-11-20", "sales.csv") }
	published := func() *rig {
		r := newRig(t, nil)
		r.pull("2026-11-20", 1_000_000, settled)
		r.plan()
		require.NoError(t, r.run(part))
		require.False(t, r.file(1).CheckAt.IsZero())
		return r
	}
	r := published()
	text, err := os.ReadFile(at(r))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at(r), []byte(strings.ToUpper(string(text))), 0o600))
	require.NoError(t, r.run(part))
	require.Equal(t, publishing.Failed, r.file(1).State)
	require.Contains(t, r.file(1).ErrorText, "not the one that was delivered")

	r = published()
	require.NoError(t, os.Remove(at(r)))
	require.NoError(t, r.run(part))
	require.Equal(t, publishing.Published, r.file(1).State, "its reader has moved it")
	require.True(t, r.file(1).CheckAt.IsZero())

	r = published()
	away := r.shelf + "-away"
	require.NoError(t, os.Rename(r.shelf, away))
	var deferred *media.DeferError
	require.ErrorAs(t, r.run(part), &deferred)
	require.NoError(t, os.Rename(away, r.shelf))
	r.clock.add(probeFirst)
	require.NoError(t, r.run(part))
	require.True(t, r.file(1).CheckAt.IsZero())
	require.Zero(t, storetest.RowsIn(t, r.store, "destination_slot WHERE expires_at > '2026-11-21 05:00:00'"))
}
