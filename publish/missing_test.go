package publish

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/upkeep"
)

var (
	byAccount  = upkeep.Scope{Report: reportDaily, Level: "account"}
	byCampaign = upkeep.Scope{Report: reportDaily, Level: "campaign"}
)

// data changes rows of the data database.
func (r *rig) data(text string, args ...any) {
	r.t.Helper()
	require.NoError(r.t, r.store.Data.Writer(r.t.Context()).Exec(text, args...).Error)
}

// lacking returns what is missing for a need.
func (r *rig) lacking(n need, first bool) []Missing {
	r.t.Helper()
	all, err := n.missing(r.t.Context(), r.deps.Database.DB, first)
	require.NoError(r.t, err)
	return all
}

// settledAt returns from when on figures of a day in China are complete.
func settledAt(t *testing.T, on day.Day) time.Time {
	t.Helper()
	z, err := schedule.Zone("Asia/Shanghai")
	require.NoError(t, err)
	return upkeep.SettledAt(on, z)
}

func TestMissing_NamesTheReasonOfEachDay(t *testing.T) {
	t.Parallel()
	const zone = "Asia/Shanghai"
	r := newRig(t, nil)
	for _, on := range day.Between("2026-11-13", "2026-11-20") {
		if on != "2026-11-13" && on != "2026-11-14" {
			at := settledAt(t, on)
			if on == "2026-11-16" {
				at = at.Add(-time.Millisecond)
			}
			r.pull(on, 5_000_000, at)
		}
	}
	r.data("UPDATE coverage SET state = 'partial' WHERE day = '2026-11-15'")
	r.data("UPDATE coverage SET state = 'suspect' WHERE day = '2026-11-20'")
	r.data("UPDATE coverage SET dirty = NULL WHERE day <> '2026-11-17'")
	r.data("DELETE FROM wide_day")
	r.data("INSERT INTO wide_day (account_id, day, media, mark, dirty) VALUES (7, '2026-11-18', 'tulip', 1, 1), " +
		"(7, '2026-11-19', 'tulip', 1, NULL)")
	n := need{Groups: []needGroup{{Media: "tulip", Zone: zone, From: "2026-11-13", To: "2026-11-20",
		Scopes: []upkeep.Scope{byAccount}, Accounts: []int64{7}}}}
	miss := func(from, to day.Day, why string) Missing {
		return Missing{Media: "tulip", AccountID: 7, Report: "report_daily", Level: "account", From: from, To: to, Why: why}
	}
	pulled := []Missing{
		miss("2026-11-13", "2026-11-14", neverPulled), miss("2026-11-15", "2026-11-15", "partial"),
		miss("2026-11-16", "2026-11-16", beforeSettled), miss("2026-11-20", "2026-11-20", "suspect"),
	}
	require.Equal(t, pulled, r.lacking(n, false))
	n.Summed = true
	require.Equal(t, []Missing{pulled[0], pulled[1], pulled[2], miss("2026-11-17", "2026-11-17", notSummed), pulled[3]},
		r.lacking(n, false))
	n.Summed, n.Wide = false, true
	require.Equal(t, []Missing{pulled[0], pulled[1], pulled[2], miss("2026-11-18", "2026-11-18", notWide), pulled[3]},
		r.lacking(n, false))
	require.Equal(t, "report_daily of account 7 by account on 2026-11-13 (tulip, never pulled)", pulled[0].String())

	n = need{Groups: []needGroup{{Media: "tulip", Zone: "America/Los_Angeles", From: "2026-11-18", To: "2026-11-19",
		Scopes: []upkeep.Scope{byAccount}, Accounts: []int64{7}}}}
	require.Equal(t, []Missing{miss("2026-11-18", "2026-11-19", beforeSettled)}, r.lacking(n, false),
		"days settle later there")
	n.Groups[0].From, n.Groups[0].To = "2026-11-19", "2026-11-19"
	n.Groups[0].Zone = zone
	require.Empty(t, r.lacking(n, false))
}

func TestMissing_AsksOfEachLevelWhatItNeeds(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.pull("2026-11-20", 5_000_000, settled)
	r.data("UPDATE coverage SET level = 'campaign'")
	n := need{Summed: true, Groups: []needGroup{{Media: "tulip", Zone: "Asia/Shanghai", From: "2026-11-20",
		To: "2026-11-20", Scopes: []upkeep.Scope{byCampaign}, Accounts: []int64{7}}}}
	require.Empty(t, r.lacking(n, false), "the summaries show accounts alone")
	n.Groups[0].Scopes = []upkeep.Scope{byAccount, byCampaign}
	require.Equal(t, []Missing{{Media: "tulip", AccountID: 7, Report: "report_daily", Level: "account",
		From: "2026-11-20", To: "2026-11-20", Why: neverPulled}}, r.lacking(n, false))
}

func TestMissing_DoesNotJoinOverADayThatIsThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.pull("2026-11-19", 5_000_000, settledAt(t, "2026-11-19"))
	lacks := func(from, to day.Day) Missing {
		return Missing{Media: "tulip", AccountID: 7, Report: "report_daily", Level: "account", From: from, To: to,
			Why: neverPulled}
	}
	n := need{Groups: []needGroup{{Media: "tulip", Zone: "Asia/Shanghai", From: "2026-11-17", To: "2026-11-20",
		Scopes: []upkeep.Scope{byAccount}, Accounts: []int64{7}}}}
	require.Equal(t, []Missing{lacks("2026-11-17", "2026-11-18"), lacks("2026-11-20", "2026-11-20")},
		r.lacking(n, false))
}

func TestMissing_JoinsDaysOfOneReasonAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ids := make([]int64, accountChunk+1)
	for i := range ids {
		ids[i] = int64(100 + i)
	}
	group := needGroup{Media: "tulip", Zone: "Asia/Shanghai", From: "2026-11-18", To: "2026-11-20",
		Scopes: []upkeep.Scope{byCampaign, byAccount}, Accounts: ids}
	parked := group
	parked.Media, parked.Accounts, parked.Parked = "orchid", []int64{5}, true
	parked.From, parked.To = "2026-11-20", "2026-11-20"
	n := need{Groups: []needGroup{group, parked}}
	all := r.lacking(n, false)
	require.Len(t, all, 2*len(ids)+2)
	require.Equal(t, Missing{Media: "orchid", AccountID: 5, Report: "report_daily", Level: "account", From: "2026-11-20",
		To: "2026-11-20", Why: neverPulled, Parked: true}, all[0])
	for i, m := range all[2:] {
		require.Equal(t, Missing{Media: "tulip", AccountID: ids[i/2], Report: "report_daily",
			Level: []string{"account", "campaign"}[i%2], From: "2026-11-18", To: "2026-11-20", Why: neverPulled}, m)
	}
	require.Len(t, waitedFor(all), 2*len(ids))
	require.Len(t, r.lacking(n, true), 2*3*accountChunk, "it has looked at the first accounts alone")
	require.Empty(t, r.lacking(need{Groups: []needGroup{parked}}, true), "a parked account is only named")
}
