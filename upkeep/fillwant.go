package upkeep

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/store/results"
	"adsync/base/task"
)

// want is a range of days of an account that are to be pulled again.
type want struct {
	taskID   int64
	account  int64
	from, to day.Day
	holes    []results.Hole
	subtasks int
}

// foremost keeps the wants that come first, the oldest days before others, as many as there are subtasks for.
func foremost(wants []want, budget int) []want {
	slices.SortFunc(wants, func(a, b want) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.taskID, b.taskID),
			cmp.Compare(a.account, b.account))
	})
	for i := range wants {
		// The last may need more than is left: a want that is larger than all there is must not wait for ever.
		if budget <= 0 {
			clear(wants[i:])
			return wants[:i]
		}
		budget -= wants[i].subtasks
	}
	return wants
}

// group is accounts of one page that are to have the same days of a scope, from one task.
type group struct {
	task     fillTask
	zone     *time.Location
	calendar results.Calendar
	accounts []int64 // by id
}

func (f *filler) groups(scope fillScope, page []results.FillAccount) []*group {
	type key struct {
		taskID int64
		zone   string
	}
	known := map[key]*group{}
	tasks := map[string]fillTask{} // by tier
	var all []*group
	for _, a := range page {
		t, found := tasks[a.Tier]
		if !found {
			t, _ = scope.taskOf(a.Tier)
			tasks[a.Tier] = t
		}
		if t.id == 0 {
			continue
		}
		k := key{t.id, a.Timezone}
		g, seen := known[k]
		if !seen {
			zone, err := schedule.Zone(a.Timezone)
			if err == nil { // Fan-outs name those whose zone cannot be used.
				g = &group{task: t, zone: zone, calendar: results.Calendar{Report: scope.Name, Level: scope.Level,
					Days: calendar(f.now, zone, t.days)}}
			}
			if known[k] = g; g != nil && len(g.calendar.Days) > 0 {
				all = append(all, g)
			}
		}
		if g != nil {
			g.accounts = append(g.accounts, a.ID)
		}
	}
	return all
}

// calendar is the days that a task reaches, the planned day included, and that have settled long enough ago. Today's
// figures are pulled all the time: it is never among them.
func calendar(now time.Time, zone *time.Location, days int) []results.CalendarDay {
	today := day.Of(now, zone)
	var all []results.CalendarDay
	for _, d := range day.Between(today.Add(1-days), today.Add(-1)) {
		if now.Before(HoleFrom(d, zone)) {
			break
		}
		all = append(all, results.CalendarDay{Day: d, Since: task.FirstRunIDAt(settledAt(d, zone))})
	}
	return all
}

// settledAt is when the figures of a day are complete.
func settledAt(d day.Day, zone *time.Location) time.Time {
	next := d.Add(1).Start(zone)
	return time.Date(next.Year(), next.Month(), next.Day(), settledHour, 0, 0, 0, zone)
}

// wants looks for the holes of a group: ranges of days to order, by account and day, and how many days are left alone
// for now.
func (f *filler) wants(ctx context.Context, scope fillScope, g *group) (wants []want, waiting int, err error) {
	ids, err := f.store.AccountsWithHoles(ctx, g.accounts, g.calendar)
	if err != nil {
		return nil, 0, err
	}
	for some := range slices.Chunk(ids, holesPage) {
		busy, err := f.busyDays(ctx, scope, some)
		if err != nil {
			return nil, 0, err
		}
		holes, err := f.store.Holes(ctx, some, g.calendar)
		if err != nil {
			return nil, 0, err
		}
		for _, h := range holes {
			if f.tooSoon(h) || busy.has(h) || f.comes(scope, g, h) {
				waiting++
				continue
			}
			if n := len(wants); n > 0 && wants[n-1].account == h.AccountID && wants[n-1].to.Add(1) == h.Day {
				wants[n-1].to, wants[n-1].holes = h.Day, append(wants[n-1].holes, h)
				continue
			}
			wants = append(wants, want{taskID: g.task.id, account: h.AccountID, from: h.Day, to: h.Day,
				holes: []results.Hole{h}})
		}
	}
	span := max(scope.MaxDays, 1)
	for i := range wants {
		wants[i].subtasks = (len(wants[i].holes) + span - 1) / span
	}
	return wants, waiting, nil
}

// tooSoon tells whether a hole was ordered a moment ago, or its run is still to be made.
func (f *filler) tooSoon(h results.Hole) bool {
	if h.Tries == 0 {
		return false
	}
	gap := lastGap
	if shift := h.Tries - 1; shift < 8 {
		gap = min(firstGap<<shift, lastGap)
	}
	return f.waiting[h.RunID] || f.now.Before(h.OrderedAt.Add(gap))
}

// comes tells whether a fan-out that goes on will make a subtask for a hole.
func (f *filler) comes(scope fillScope, g *group, h results.Hole) bool {
	for _, t := range scope.tasks {
		for _, run := range f.open[t.id] {
			if run.State != task.RunFanningOut || h.AccountID <= run.Cursor {
				continue
			}
			today := day.Of(run.PlannedAt, g.zone)
			from, to := today.Add(1-t.days), today.Add(-t.skip)
			if order := run.Settings.Order; order != nil {
				if order.Redrive != nil || len(order.Accounts) > 0 && !slices.Contains(order.Accounts, h.AccountID) {
					continue
				}
				from, to = cmp.Or(order.From, from), cmp.Or(order.To, to)
			} else if t.id != g.task.id && t.tiers != nil {
				continue // It may have another scope.
			}
			if from <= h.Day && h.Day <= to {
				return true
			}
		}
	}
	return false
}

// busyDays are days of accounts that open subtasks are to pull.
type busyDays map[int64][]string

// has tells whether one of them makes a hole whole. A pull of the last hours of a day ("2026-11-21@15") does not, and
// its part sorts between its day and the next.
func (b busyDays) has(h results.Hole) bool {
	return slices.ContainsFunc(b[h.AccountID], func(part string) bool {
		from, to, isRange := strings.Cut(part, "..")
		if !isRange {
			to = from
		}
		return day.Day(from) <= h.Day && h.Day <= day.Day(to)
	})
}

// busyDays reads what of a scope is open of accounts, given by id.
func (f *filler) busyDays(ctx context.Context, scope fillScope, accounts []int64) (busyDays, error) {
	var runs []int64
	for _, t := range scope.tasks {
		for _, run := range f.open[t.id] {
			runs = append(runs, run.ID)
		}
	}
	busy := busyDays{}
	if len(runs) == 0 {
		return busy, nil
	}
	open, err := f.store.OpenSubtasksOfAccounts(ctx, runs, accounts)
	if err != nil {
		return nil, err
	}
	for p := range open {
		busy[p.AccountID] = append(busy[p.AccountID], p.Part)
	}
	return busy, nil
}
