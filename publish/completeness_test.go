package publish

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/publishing"
	"adsync/media"
)

// latest is the latest moment of the file of 20 November, four hours after its own moment, and an hour after now.
var latest = time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)

// missed returns that account's figures of 20 November are missing.
func missed(account int64, why string) Missing {
	return Missing{Media: "tulip", AccountID: account, Report: "report_daily", Level: "account", From: "2026-11-20",
		To: "2026-11-20", Why: why}
}

// requireMissing requires the list of what a published file lacks, in its row and its manifest.
func (r *rig) requireMissing(incomplete bool, want ...Missing) {
	r.t.Helper()
	p := r.file(1)
	require.Equal(r.t, publishing.Published, p.State, p.ErrorText)
	require.Equal(r.t, incomplete, p.Incomplete)
	var m Manifest
	require.NoError(r.t, json.Unmarshal([]byte(r.visible()[p.Name+manifestSuffix]), &m))
	require.Equal(r.t, incomplete, m.Incomplete)
	if len(want) == 0 {
		require.Empty(r.t, p.Missing)
		require.Empty(r.t, m.Missing)
		return
	}
	for _, text := range []string{p.Missing, string(m.Missing)} {
		var got []Missing
		require.NoError(r.t, json.Unmarshal([]byte(text), &got))
		require.Equal(r.t, want, got)
	}
}

// requireWaits requires that the file of 20 November waits with a text.
func (r *rig) requireWaits(text string) {
	r.t.Helper()
	p := r.file(1)
	require.Equal(r.t, publishing.Waiting, p.State)
	require.Equal(r.t, text, p.ErrorText)
	require.Zero(r.t, p.RunID)
}

func TestComplete_AFileIsMadeOnceAllDaysHaveSettledAndAreSummed(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *publishing.Subscription) {
		s.Completeness = whole
		s.Source = `{"query": "SELECT day, game, cost FROM summary_daily WHERE day = :day ` +
			`ORDER BY day, game, media, os, currency, day_zone"}`
	})
	r.account(7, "active", "")
	r.account(8, "active", "")
	step := func(want string) {
		t.Helper()
		r.plan()
		r.requireWaits("waits for figures, such as " + want)
	}
	step(missed(7, neverPulled).String())
	early := settledAt(t, "2026-11-20").Add(-time.Second)
	r.pull("2026-11-20", 5_000_000, early)
	step(missed(7, beforeSettled).String())
	r.pull("2026-11-20", 6_000_000, settled)
	r.data("UPDATE coverage SET dirty = NULL")
	step(missed(8, neverPulled).String())
	r.pullOf(8, "2026-11-20", 7_000_000, settled)
	step(missed(8, notSummed).String())
	r.data("UPDATE coverage SET dirty = NULL")
	r.plan()
	require.Equal(t, publishing.Planned, r.file(1).State)
	require.NotZero(t, r.file(1).RunID)
	require.Empty(t, r.file(1).ErrorText)

	// A pull before the file is made: it waits again.
	r.pull("2026-11-20", 8_000_000, settled.Add(time.Minute))
	require.ErrorIs(t, r.run(part), media.ErrSuperseded)
	require.Empty(t, r.visible())
	step(missed(7, notSummed).String())
	r.data("UPDATE coverage SET dirty = NULL")
	r.plan()
	require.NoError(t, r.run(part))
	r.requireMissing(false)
}

func TestComplete_AtItsLatestMomentAFileIsSentIncomplete(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *publishing.Subscription) {
		s.Completeness = `{"when": "complete", "latest_minutes": 240, "parked": "name"}`
	})
	r.account(7, "active", "")
	r.account(8, "active", "")
	r.account(9, "active", "auth")
	r.pull("2026-11-20", 5_000_000, settled)
	r.plan()
	require.Equal(t, latest, r.file(1).LatestAt)
	r.clock.add(latest.Sub(now) - time.Second)
	r.plan()
	r.requireWaits("waits for figures, such as " + missed(8, neverPulled).String())
	require.ErrorIs(t, r.run(part), media.ErrSuperseded, "it is not made before that")
	r.clock.add(time.Second)
	r.plan()
	require.Equal(t, publishing.Planned, r.file(1).State)
	require.NoError(t, r.run(part))
	parked := missed(9, neverPulled)
	parked.Parked = true
	r.requireMissing(true, missed(8, neverPulled), parked)
}

func TestComplete_AParkedAccountIsNamedAndNotWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *publishing.Subscription) { s.Completeness = `{"when": "complete", "parked": "name"}` })
	r.account(7, "active", "")
	r.account(9, "active", "auth")
	r.pull("2026-11-20", 5_000_000, settled)
	r.plan()
	require.NoError(t, r.run(part))
	parked := missed(9, neverPulled)
	parked.Parked = true
	r.requireMissing(false, parked)
}

func TestComplete_AHeldFileWaitsOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *publishing.Subscription) {
		s.Completeness = `{"when": "complete", "latest_minutes": 240, "at_latest": "hold"}`
	})
	r.account(7, "active", "")
	r.plan()
	text := "waits for figures, such as " + missed(7, neverPulled).String()
	r.requireWaits(text)
	r.clock.add(latest.Sub(now))
	r.plan()
	r.requireWaits(heldReason + text)
	require.ErrorIs(t, r.run(part), media.ErrSuperseded)
	r.clock.add(10 * time.Hour)
	r.plan()
	r.requireWaits(heldReason + text)
	r.pull("2026-11-20", 5_000_000, settled)
	r.plan()
	require.NoError(t, r.run(part))
	r.requireMissing(false)
}
