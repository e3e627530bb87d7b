package main

import (
	"time"

	"adsync/test/patch"
)

// defence is a defence that is switched off.
type defence struct {
	name    string
	without string // what the program does without the defence
	edits   []patch.Edit
	// season reports whether the night has what the defence is for on a day; nil if it always has.
	season func(time.Time) bool
}

// isLongDayNear reports whether a day of 25 hours is near enough for the night to pull its hours.
func isLongDayNear(now time.Time) bool {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		return false
	}
	y, m, d := now.In(zone).Date()
	for ago := 1; ago <= 88; ago++ {
		start, end := time.Date(y, m, d-ago, 0, 0, 0, 0, zone), time.Date(y, m, d-ago+1, 0, 0, 0, 0, zone)
		if end.Sub(start) > 24*time.Hour {
			return true
		}
	}
	return false
}

// all are the switches, ordered by what they protect: pages, figures, days, accounts, summaries, configuration.
var all = []defence{
	{
		name: "total", without: "a pull is whole though its pages have fewer rows than they tell of",
		edits: []patch.Edit{{
			File:    "media/pull/pull.go",
			Find:    "	if f.note == \"\" && f.proof == media.ByTotal && came != f.total {\n",
			Replace: "	if f.note == \"\" && came < 0 {\n",
		}, {
			File:    "media/numbered.go",
			Find:    "; out.counted() != due {\n",
			Replace: "; due < 0 {\n",
		}},
	},
	{
		name: "sums", without: "rows need not add up to the platform's own sums",
		edits: []patch.Edit{{
			File:    "media/pull/pull.go",
			Find:    "	if f.note == \"\" && f.sums != nil {\n",
			Replace: "	if f.note == \"\" && f.sums != nil && came < 0 {\n",
		}},
	},
	{
		name: "file-size", without: "a file that is cut off is taken for the whole file",
		edits: []patch.Edit{{
			File:    "media/pull/csv.go",
			Find:    "	if job.Size >= 0 && counted.n != job.Size {\n",
			Replace: "	if job.Size >= 0 && counted.n < 0 {\n",
		}},
	},
	{
		name: "file-columns", without: "a file may lack columns that were requested",
		edits: []patch.Edit{{
			File:    "media/pull/csv.go",
			Find:    "		if !slices.Contains(columns, name) {\n",
			Replace: "		if !slices.Contains(columns, name) && name == \"\" {\n",
		}},
	},
	{
		name: "repeated-hours", without: "of two hours of the same name only the first counts", season: isLongDayNear,
		edits: []patch.Edit{{
			File:    "media/pull/repeated.go",
			Find:    "	f.rows[at] = addUp(f.rows[at], row)\n",
			Replace: "	_, _ = at, addUp\n",
		}},
	},
	{
		name: "joint-accounts", without: "an account that a joint query has no rows of gets those of the others",
		edits: []patch.Edit{{
			File: "media/pull/joint.go",
			Find: "		m.answer <- share{rows: rows[m.account.ExternalID]}\n",
			Replace: "		own := rows[m.account.ExternalID]\n		if len(own) == 0 {\n			own = got.rows\n		}\n" +
				"		m.answer <- share{rows: own}\n",
		}},
	},
	{
		name: "suspect", without: "a success without rows takes away what was spent",
		edits: []patch.Edit{{
			File:    "base/store/results/evidence.go",
			Find:    "		v := w.Judging.judge(a, others[a.Day], w.Confirmed)\n		o.apply(a, v)\n",
			Replace: "		v := Verdict{Believed: w.Confirmed}\n		o.apply(a, v)\n",
		}},
	},
	{
		name: "fence", without: "an older pull that ends last writes over a newer one",
		edits: []patch.Edit{{
			File:    "base/store/results/fence.go",
			Find:    "		if r.ClaimedVersion > c.Version || (",
			Replace: "		if r.ClaimedVersion < 0 && (",
		}},
	},
	{
		name: "gone", without: "rows that a whole pull has no more stay",
		edits: []patch.Edit{{
			File:    "base/store/results/report.go",
			Find:    "		keys, public = append(keys, s.keys...), append(public, s.public...)\n",
			Replace: "		keys, public = append(keys, s.keys[:0]...), append(public, s.public[:0]...)\n",
		}},
	},
	{
		name: "hours-of-a-new-day", without: "the last hours alone are pulled of a day that was never pulled whole",
		edits: []patch.Edit{{
			File:    "base/store/results/fence.go",
			Find:    "	if k.Whole == 0 {\n",
			Replace: "	if k.Whole < 0 {\n",
		}},
	},
	{
		name: "fill", without: "nobody looks for days that coverage lacks",
		edits: []patch.Edit{{
			File:    "upkeep/fill.go",
			Find:    "Spare: params.Spare, Order: true, By: FillName",
			Replace: "Spare: params.Spare, By: FillName",
		}},
	},
	{
		name: "null", without: "what a platform does not tell is 0",
		edits: []patch.Edit{{
			File:    "base/metric/metric.go",
			Find:    "			args = append(args, nil)\n",
			Replace: "			args = append(args, int64(0))\n",
		}},
	},
	{
		name: "day-zone", without: "all accounts have China's days",
		edits: []patch.Edit{{
			File:    "engine/accounts.go",
			Find:    "schedule.Zone(row.Timezone)",
			Replace: "schedule.Zone(\"Asia/Shanghai\")",
		}},
	},
	{
		name: "planned-zone", without: "the days of a run are China's, whatever the account's zone",
		edits: []patch.Edit{{
			File:    "producer/fanout.go",
			Find:    "	loc, err := schedule.Zone(zone)\n",
			Replace: "	loc, err := schedule.Zone(\"Asia/Shanghai\" + zone[:0])\n",
		}},
	},
	{
		name: "overlap", without: "pulls of changes begin where the last one ended",
		edits: []patch.Edit{{
			File:    "media/pull/list.go",
			Find:    "		since = time.Unix(highWater, 0).Add(-windowOverlap)\n",
			Replace: "		since = time.Unix(highWater, 0)\n",
		}},
	},
	{
		name: "gone-objects", without: "objects that a full list has no more stay as they were",
		edits: []patch.Edit{{
			File:    "base/store/results/object.go",
			Find:    "		if !e.seen && e.deleted.IsZero() {\n",
			Replace: "		if !e.seen && e.deleted.IsZero() && w.Version < 0 {\n",
		}},
	},
	{
		name: "dirty-marks", without: "a change of figures does not mark its day for the summaries",
		edits: []patch.Edit{{
			File:    "base/store/results/coverage.go",
			Find:    "		if o.dirty {\n",
			Replace: "		if o.dirty && c.Version < 0 {\n",
		}},
	},
	{
		name: "binding-marks", without: "the days of an account that goes to another game are not marked for the summaries",
		edits: []patch.Edit{{
			File:    "base/store/summaries/binding.go",
			Find:    "account_id IN ? AND report IN ('report_daily', 'report_hourly') AND level = 'account' AND day >= ?\"+",
			Replace: "account_id IN ? AND report IN ('') AND level = 'account' AND day >= ?\"+",
		}},
	},
	{
		name: "summary-leftovers", without: "a summary keeps the rows that a rebuild has no more",
		edits: []patch.Edit{{
			File: "base/store/summaries/summary.go",
			Find: "		if err := results.DeletePublic(s.Data, tx, table, gone, version, now); err != nil {\n			return " +
				"err\n		}\n",
			Replace: "		_, _ = gone, results.DeletePublic\n",
		}},
	},
	{
		name: "wide-marks", without: "a change of figures does not mark its day for the wide table",
		edits: []patch.Edit{{
			File:    "base/store/results/report.go",
			Find:    "		if o.changed {\n",
			Replace: "		if o.changed && p.Version < 0 {\n",
		}},
	},
	{
		name: "wide-configuration", without: "a change of names or bindings does not reach the rows of the wide table",
		edits: []patch.Edit{{
			File:    "upkeep/wide.go",
			Find:    "	if err := spreadConfigurations(ctx, deps, platform); err != nil {\n		return 0, err\n	}\n",
			Replace: "",
		}},
	},
}
