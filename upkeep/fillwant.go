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

// want is a range of days of an account to pull again.
type want struct {
	taskID   int64
	account  int64
	from, to day.Day
	holes    []results.Hole
	subtasks int
}

// foremost returns the wants with the oldest days, as many as the budget of subtasks allows.
func foremost(wants []want, budget int) []want {
	slices.SortFunc(wants, func(a, b want) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.taskID, b.taskID),
			cmp.Compare(a.account, b.account))
	})
	for i := range wants {
		// The last want may exceed the rest of the budget: one larger than the whole budget must not wait forever.
		if budget <= 0 {
			clear(wants[i:])
			return wants[:i]
		}
		budget -= wants[i].subtasks
	}
	return wants
}

// group holds the accounts of one page for which one task should pull the same days of a scope.
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
			if err == nil { // Fan-outs report accounts with an invalid zone.
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

// calendar returns the days within a task's reach, the planned day included, that have settled long enough ago. Today
// is never among them, because its figures are pulled all the time.
func calendar(now time.Time, zone *time.Location, days int) []results.CalendarDay {
	today := day.Of(now, zone)
	var all []results.CalendarDay
	for _, d := range day.Between(today.Add(1-days), today.Add(-1)) {
		if now.Before(HoleFrom(d, zone)) {
			break
		}
		all = append(all, results.CalendarDay{Day: d, Since: task.FirstRunIDAt(SettledAt(d, zone))})
	}
	return all
}

// SettledAt returns when the figures of a day are complete: eight in the morning of the next day in the account's zone.
func SettledAt(d day.Day, zone *time.Location) time.Time {
	next := d.Add(1).Start(zone)
	return time.Date(next.Year(), next.Month(), next.Day(), settledHour, 0, 0, 0, zone)
}

// wants returns the holes of a group as ranges of days to order, by account and day, and the number of days that are
// left alone for now.
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

// tooSoon reports whether a hole was ordered too recently, or its run is not fanned out yet.
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

// comes reports whether a running fan-out will make a subtask for a hole.
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

// busyDays holds, by account id, the parts that open subtasks pull.
type busyDays map[int64][]string

// has reports whether an open subtask will fill a hole. A pull of the last hours of a day ("2026-11-21@15") will not.
// Its part sorts between its day and the next.
func (b busyDays) has(h results.Hole) bool {
	return slices.ContainsFunc(b[h.AccountID], func(part string) bool {
		from, to, isRange := strings.Cut(part, "..")
		if !isRange {
			to = from
		}
		return day.Day(from) <= h.Day && h.Day <= day.Day(to)
	})
}

// busyDays reads the parts of a scope's open subtasks for accounts, given by id.
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
