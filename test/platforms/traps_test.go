package platforms_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/engine"
	"adsync/media"
	"adsync/media/mediatest"
	"adsync/media/wire"
	"adsync/simulator"
	"adsync/test/platforms/simclient"

	"adsync/simulator/fault/trap"
)

// trapped is a client of a world with traps, and the tables that it fills.
type trapped struct{ *simclient.Puller }

func newTrapped(t *testing.T, platform media.Platform, cfg simulator.Config) *trapped {
	t.Helper()
	return &trapped{simclient.NewPuller(t, platform, cfg)}
}

// report pulls a report of some days at a level, in parts of as many days as a query may span.
func (x *trapped) report(t *testing.T, r media.Report, id int64, from, to day.Day) {
	t.Helper()
	for ; from <= to; from = from.Add(r.MaxDays) {
		part := from.String()
		if last := min(from.Add(r.MaxDays-1), to); last != from {
			part += ".." + last.String()
		}
		x.Pull(t, r.Name, id, part, `{"level":"`+r.Level+`"}`)
	}
}

func (x *trapped) reportOf(t *testing.T, name, level string) media.Report {
	t.Helper()
	reports := x.Platform.Reports()
	i := slices.IndexFunc(reports, func(r media.Report) bool { return r.Name == name && r.Level == level })
	require.GreaterOrEqual(t, i, 0)
	return reports[i]
}

// reportRow is a row's key with two of its figures, of the table or of the truth.
type reportRow struct {
	Day         string
	Hour        int
	ObjectID    string
	Cost        int64
	Impressions int64
}

func (x *trapped) rows(t *testing.T, r media.Report, id int64, from, to day.Day) (rows []reportRow) {
	t.Helper()
	hour, table := "0", "report_daily"
	if r.Hourly {
		hour, table = "hour", "report_hourly"
	}
	require.NoError(t, x.Store.Data.Writer(t.Context()).Raw("SELECT day, "+hour+
		" AS hour, object_id, cost, impressions FROM "+table+
		" WHERE account_id = ? AND level = ? AND day >= ? AND day <= ?", id, r.Level, from, to).Scan(&rows).Error)
	for i := range rows {
		rows[i].Day = rows[i].Day[:len("2026-11-21")]
	}
	return rows
}

func (x *trapped) trueRows(t *testing.T, r media.Report, id int64, from, to day.Day) (rows []reportRow) {
	t.Helper()
	for _, row := range x.Server.Rows(t, r.Name, r.Level, x.Server.Accounts[id-1], from, to) {
		rows = append(rows, reportRow{row.Day.String(), row.Hour, row.Object, row.Metrics["cost"],
			row.Metrics["impressions"]})
	}
	return rows
}

func (x *trapped) requireTrue(t *testing.T, r media.Report, id int64, from, to day.Day) {
	t.Helper()
	require.ElementsMatch(t, x.trueRows(t, r, id, from, to), x.rows(t, r, id, from, to), "%s of account %d at level %s",
		r.Name, id, r.Level)
}

func (x *trapped) requireTrueObjects(t *testing.T, list media.List, id int64) {
	t.Helper()
	var rows []struct {
		ObjectID string
		Name     string
		Deleted  bool
	}
	require.NoError(t, x.Store.Data.Writer(t.Context()).Raw(
		"SELECT o.object_id, COALESCE(n.name, '') AS name, o.deleted_at IS NOT NULL AS deleted FROM "+list.Table.Name+
			" o LEFT JOIN object_name n ON n.account_id = o.account_id AND n.level = ? AND n.object_id = o.object_id"+
			" WHERE o.account_id = ?", list.Level, id).Scan(&rows).Error)
	have := make([]mediatest.Object, len(rows))
	for i, r := range rows {
		have[i] = mediatest.Object{ID: r.ObjectID, Name: r.Name, Deleted: r.Deleted}
	}
	want := x.Server.Objects(t, list.Name, x.Server.Accounts[id-1])
	for i := range want {
		want[i].Modified = time.Time{}
	}
	require.ElementsMatch(t, want, have, "%s of account %d", list.Name, id)
}

// proofOf returns what shows that the pages of a list hold all rows.
func (x *trapped) proofOf(t *testing.T, list media.List) media.Proof {
	t.Helper()
	account, err := x.Account(t.Context(), 1)
	require.NoError(t, err)
	q := media.ListQuery{Until: x.Now()}
	if len(list.Variants) > 0 {
		q.Variant = list.Variants[0]
	}
	page, err := list.Page(t.Context(), x.Client.For(account), q, "")
	require.NoError(t, err)
	return page.Proof
}

// met returns the number of answers that each trap changed.
func (x *trapped) met(t *testing.T) map[string]int64 {
	t.Helper()
	var traps []trap.Trap
	require.NoError(t, json.Unmarshal(x.World.Get(t, "traps", nil), &traps))
	met := map[string]int64{}
	for _, trap := range traps {
		met[trap.Name] = trap.Met
	}
	return met
}

func (x *trapped) set(t *testing.T, trap string) {
	t.Helper()
	x.World.Order(t, "traps", map[string]any{"on": false})
	x.World.Order(t, "traps", map[string]any{"name": trap, "on": true})
}

// With all traps on, the tables hold the truth in the end, and no change is recorded that did not happen.
func TestTraps_AWorldWithAllTrapsIsPulledWhole(t *testing.T) {
	t.Parallel()
	for _, platform := range engine.Platforms() {
		t.Run(platform.Name(), func(t *testing.T) {
			t.Parallel()
			x := newTrapped(t, platform, simulator.Config{Accounts: simclient.OfEach(5), Seed: 7})
			x.World.Order(t, "traps", map[string]any{"on": true})
			// The keeper of tokens waits some seconds after a cut refresh: its own tests cover that.
			x.World.Order(t, "traps", map[string]any{"name": "refresh_cut", "on": false})
			from, to := x.Server.Today.Add(-2), x.Server.Today.Add(-1)
			for id := range int64(3) {
				for _, list := range platform.Lists() {
					for range 2 {
						x.Pull(t, list.Name, id+1, "full", "")
					}
					x.requireTrueObjects(t, list, id+1)
				}
				for _, r := range platform.Reports() {
					first := from
					if r.Hourly {
						first = to
					}
					x.report(t, r, id+1, first, to)
					x.requireTrue(t, r, id+1, first, to)
				}
			}
			require.Positive(t, x.Again)
			must := []string{
				"answer_html", "answer_unknown_code", "app_over_limit", "emoji_name", "extra_field", "figures_fall", "name_reused",
				"dash_value", "figure_unreadable", "key_empty", "name_cut", "null_value", "numbers_as_text", "page_empty",
				"platform_busy", "renamed", "status_unstamped", "two_edits", "undated_file", "unknown_word", "zero_untold",
			}
			if !x.Server.Refresh.IsZero() {
				must = append(must, "token_ended")
			}
			if platform.Name() == "oceanengine" { // The other platform's lists are read by cursor, and have larger pages.
				must = append(must, "page_row_lost", "page_row_twice", "page_short", "page_total_moved")
			}
			met := x.met(t)
			for _, trap := range must {
				require.Positive(t, met[trap], "%s: %v", trap, met)
			}
			var changes int
			require.NoError(t, x.Store.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM config_change").Row().Scan(&changes))
			require.Zero(t, changes, "the world stood still")
		})
	}
}

// A value that cannot be used costs only itself: the rest of the answer is kept, coverage names the field, and the next
// pull has the truth.
func TestTraps_AnUnusableValueCostsOnlyItself(t *testing.T) {
	t.Parallel()
	for _, platform := range engine.Platforms() {
		t.Run(platform.Name(), func(t *testing.T) {
			t.Parallel()
			x := newTrapped(t, platform, simulator.Config{Accounts: simclient.OfEach(2), Seed: 7})
			day1 := x.Server.Today.Add(-1)
			// state returns a scope's state in coverage, and the kinds of its unusable values.
			state := func(report, level string) (state, kinds string) {
				var unusable int
				db := x.Store.Data.Writer(t.Context())
				require.NoError(t, db.Raw("SELECT state, unusable FROM coverage WHERE account_id = 1 AND report = ? AND level = ?",
					report, level).Row().Scan(&state, &unusable))
				rows := []string{}
				require.NoError(t, db.Raw("SELECT kind FROM unusable_value WHERE account_id = 1 AND report = ? AND level = ?"+
					" ORDER BY kind", report, level).Scan(&rows).Error)
				require.Equal(t, unusable > 0, len(rows) > 0)
				return state, strings.Join(rows, " ")
			}
			for _, r := range platform.Reports() {
				if r.Hourly {
					continue
				}
				want := x.trueRows(t, r, 1, day1, day1)
				for _, c := range []struct {
					trap, kind string
					rows       int
				}{{"figure_unreadable", "figure", len(want)}, {"key_empty", "key", len(want) - 1}} {
					require.NoError(t, x.Store.Data.Writer(t.Context()).Exec("DELETE FROM "+"report_daily").Error)
					x.set(t, c.trap)
					err := x.Try(t, r.Name, 1, day1.String(), `{"level":"`+r.Level+`"}`)
					require.ErrorContains(t, err, "unusable", "%s at level %s", c.trap, r.Level)
					require.Len(t, x.rows(t, r, 1, day1, day1), c.rows, "%s at level %s: the others are kept", c.trap, r.Level)
					s, kinds := state(r.Name, r.Level)
					require.Equal(t, []string{"partial", c.kind}, []string{s, kinds}, "%s at level %s", c.trap, r.Level)
					x.report(t, r, 1, day1, day1)
					x.requireTrue(t, r, 1, day1, day1)
					s, kinds = state(r.Name, r.Level)
					require.Equal(t, []string{"complete", ""}, []string{s, kinds}, "%s at level %s", c.trap, r.Level)
				}
			}
			for _, list := range platform.Lists() {
				if list.Level != "adgroup" {
					continue
				}
				isReadTwice := x.proofOf(t, list) == media.ByRepeat
				x.set(t, "name_cut")
				x.World.Order(t, "traps", map[string]any{"name": "key_empty", "on": true})
				if err := x.Try(t, list.Name, 1, "full", ""); isReadTwice {
					require.NoError(t, err, "two later readings agree, and have the key")
				} else {
					require.ErrorContains(t, err, "unusable")
					s, kinds := state(list.Name, list.Level)
					require.Equal(t, []string{"partial", "attribute key"}, []string{s, kinds})
					x.Pull(t, list.Name, 1, "full", "")
				}
				x.requireTrueObjects(t, list, 1)
				s, kinds := state(list.Name, list.Level)
				require.Equal(t, []string{"complete", "attribute"}, []string{s, kinds}, "the list stays complete")
				require.Positive(t, x.met(t)["key_empty"])
				require.Positive(t, x.met(t)["name_cut"])
			}
		})
	}
}

// A zero that the platform leaves out is NULL; one that it sends is 0.
func TestTraps_AZeroThatIsLeftOutIsNULL(t *testing.T) {
	t.Parallel()
	for _, platform := range engine.Platforms() {
		t.Run(platform.Name(), func(t *testing.T) {
			t.Parallel()
			x := newTrapped(t, platform, simulator.Config{Accounts: simclient.OfEach(2), Seed: 7})
			x.set(t, "zero_untold")
			x.World.Order(t, "traps", map[string]any{"name": "dash_value", "on": true})
			yesterday := x.Server.Today.Add(-1)
			for _, r := range platform.Reports() {
				x.report(t, r, 1, yesterday, yesterday)
				hour, table := "0", "report_daily"
				if r.Hourly {
					hour, table = "hour", "report_hourly"
				}
				var rows []map[string]any
				require.NoError(t, x.Store.Data.Writer(t.Context()).Raw("SELECT "+hour+" AS at, object_id, "+
					strings.Join(metric.Names(), ", ")+" FROM "+table+
					" WHERE account_id = 1 AND level = ?", r.Level).Scan(&rows).Error)
				have, want := map[string]any{}, map[string]any{}
				for _, row := range rows {
					have[fmt.Sprint(row["at"], " ", row["object_id"])] = row
					delete(row, "at")
					delete(row, "object_id")
				}
				for _, truth := range x.Server.Rows(t, r.Name, r.Level, x.Server.Accounts[0], yesterday, yesterday) {
					row := map[string]any{}
					for _, name := range metric.Names() {
						row[name] = nil
						if value, sent := truth.Metrics[name]; sent {
							row[name] = value
						}
					}
					want[fmt.Sprint(truth.Hour, " ", truth.Object)] = row
				}
				require.Equal(t, want, have, "%s at level %s", r.Name, r.Level)
			}
			require.Positive(t, x.met(t)["zero_untold"])
			require.Positive(t, x.met(t)["dash_value"])
		})
	}
}

// hasFigure reports whether a platform's reports have a public metric.
func hasFigure(platform media.Platform, metric string) bool {
	return slices.ContainsFunc(platform.Reports(), func(r media.Report) bool {
		return slices.ContainsFunc(r.Figures, func(f wire.Figure) bool { return f.Metric == metric })
	})
}

// A platform adds to what a day's cohort pays for 30 days. No look-back reaches the later days; the weekly pull does.
func TestTraps_TheWeeklyPullHasCohortsThatGrow(t *testing.T) {
	t.Parallel()
	for _, platform := range engine.Platforms() {
		t.Run(platform.Name(), func(t *testing.T) {
			t.Parallel()
			x := newTrapped(t, platform, simulator.Config{Accounts: simclient.OfEach(2), Seed: 7})
			if !hasFigure(platform, "pay_amount_d7") {
				t.Skip("the platform has no such figure")
			}
			x.set(t, "cohort_grows")
			seeded := seededTask(t, platform, ".report_daily.account.mature")
			h, ok := x.Handlers.Get(seeded.Handler)
			require.True(t, ok)
			weekly := func(now time.Time) {
				parts, err := h.Parts(media.Plan{PlannedAt: now, Zone: simclient.Zone, Params: json.RawMessage(seeded.Params)})
				require.NoError(t, err)
				for _, part := range parts {
					x.Pull(t, "report_daily", 1, part, seeded.Params)
				}
			}
			amounts := func(from, to day.Day) (have, want []int64) {
				require.NoError(t, x.Store.Data.Writer(t.Context()).Raw("SELECT pay_amount_d7 FROM report_daily"+
					" WHERE account_id = 1 AND level = 'account' AND day >= ? AND day <= ? ORDER BY day",
					from, to).Scan(&have).Error)
				for _, row := range x.Server.Rows(t, "report_daily", "account", x.Server.Accounts[0], from, to) {
					want = append(want, row.Metrics["pay_amount_d7"])
				}
				return have, want
			}
			now, err := time.ParseInLocation("2006-01-02 15", x.Server.Today.String()+" 05", simclient.Zone)
			require.NoError(t, err)
			x.World.Order(t, "clock", map[string]any{"now": now, "frozen": true})
			weekly(now)
			have, want := amounts(x.Server.Today.Add(-29), x.Server.Today.Add(-7))
			require.Equal(t, want, have)
			require.Len(t, have, 23)

			now = now.AddDate(0, 0, 7)
			x.World.Order(t, "clock", map[string]any{"now": now, "frozen": true})
			old, want := amounts(x.Server.Today.Add(-22), x.Server.Today.Add(-7))
			for i := range old {
				require.Less(t, old[i], want[i], "each of the days has grown")
			}
			weekly(now)
			have, want = amounts(x.Server.Today.Add(-22), x.Server.Today)
			require.Equal(t, want, have)
			require.Positive(t, x.met(t)["cohort_grows"])
		})
	}
}

// at sets the world's clock to a time of today, from where it runs at a thousandth of its speed.
func (x *trapped) at(t *testing.T, hour, minute int) {
	t.Helper()
	today, err := time.ParseInLocation("2006-01-02", x.Server.Today.String(), simclient.Zone)
	require.NoError(t, err)
	now := today.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	x.World.Order(t, "clock", map[string]any{"now": now, "speed": 0.001, "frozen": false})
}

func total(rows []reportRow) (cost int64) {
	for _, r := range rows {
		cost += r.Cost
	}
	return cost
}

// A later pull corrects what an answer lacks; an answer that would remove too much is refused.
func TestTraps_OfTimeAreCorrectedByALaterPull(t *testing.T) {
	t.Parallel()
	for _, platform := range engine.Platforms() {
		t.Run(platform.Name(), func(t *testing.T) {
			t.Parallel()
			x := newTrapped(t, platform, simulator.Config{Accounts: simclient.OfEach(2), Seed: 7})
			today := x.Server.Today
			yesterday := today.Add(-1)
			for _, c := range []struct {
				trap, report, level string
				hour, minute        int
				day                 day.Day
				refused             bool // the answer is not believed
			}{
				{trap: "yesterday_empty", report: "report_daily", level: "account", hour: 3, day: yesterday, refused: true},
				{trap: "yesterday_empty", report: "report_hourly", level: "adgroup", hour: 3, day: yesterday, refused: true},
				{trap: "yesterday_partial", report: "report_daily", level: "account", hour: 4, day: yesterday, refused: true},
				{trap: "yesterday_partial", report: "report_hourly", level: "account", hour: 4, day: yesterday, refused: true},
				{trap: "hour_missing", report: "report_hourly", level: "account", hour: 9, minute: 10, day: today, refused: true},
				{trap: "older_figures", report: "report_daily", level: "account", hour: 12, day: today},
				{trap: "levels_apart", report: "report_daily", level: "adgroup", hour: 12, day: today},
				{trap: "hour_late", report: "report_hourly", level: "account", hour: 12, minute: 10, day: today},
			} {
				r := x.reportOf(t, c.report, c.level)
				x.World.Order(t, "traps", map[string]any{"on": false})
				x.at(t, c.hour, c.minute)
				// Where a platform returns no sums of its own, the hours show what is missing.
				x.report(t, x.reportOf(t, "report_hourly", "account"), 1, c.day, c.day)
				x.report(t, r, 1, c.day, c.day)
				x.requireTrue(t, r, 1, c.day, c.day)
				truth := total(x.trueRows(t, r, 1, c.day, c.day))

				met := x.met(t)[c.trap]
				x.set(t, c.trap)
				err := x.Try(t, r.Name, 1, c.day.String(), `{"level":"`+r.Level+`"}`)
				require.Equal(t, met+1, x.met(t)[c.trap], "%+v", c)
				if c.refused {
					require.ErrorContains(t, err, "suspect", "%+v", c)
					require.Len(t, x.rows(t, r, 1, c.day, c.day), len(x.trueRows(t, r, 1, c.day, c.day)), "%+v", c)
				} else {
					require.NoError(t, err)
					require.Less(t, total(x.rows(t, r, 1, c.day, c.day)), truth, "%+v", c)
				}
				x.report(t, r, 1, c.day, c.day)
				x.requireTrue(t, r, 1, c.day, c.day)
			}
		})
	}
}

// A platform's refusal costs a wait and no attempt, for an account, an app or an endpoint.
func TestTraps_RefusalsMakeThePullWait(t *testing.T) {
	t.Parallel()
	for _, platform := range engine.Platforms() {
		t.Run(platform.Name(), func(t *testing.T) {
			t.Parallel()
			x := newTrapped(t, platform, simulator.Config{Accounts: simclient.OfEach(2), Seed: 7})
			r := x.reportOf(t, "report_daily", "account")
			yesterday := x.Server.Today.Add(-1)
			for _, trap := range []string{"account_over_limit", "app_over_limit", "endpoint_shut"} {
				x.at(t, 12, 0)
				x.set(t, trap)
				err := x.Try(t, r.Name, 1, yesterday.String(), `{"level":"account"}`)
				deferred, ok := errors.AsType[*media.DeferError](err)
				require.True(t, ok, "%s: %v", trap, err)
				require.GreaterOrEqual(t, deferred.After, time.Second)
				if trap == "endpoint_shut" {
					require.GreaterOrEqual(t, deferred.After, time.Minute, "the penalty, or what is documented")
					require.Error(t, x.Try(t, r.Name, 2, yesterday.String(), `{"level":"account"}`),
						"it is shut for the other accounts too")
					x.at(t, 12, 6)
				}
				require.NoError(t, x.Try(t, r.Name, 1, yesterday.String(), `{"level":"account"}`))
				x.requireTrue(t, r, 1, yesterday, yesterday)
				require.EqualValues(t, 1, x.met(t)[trap])
			}
		})
	}
}
