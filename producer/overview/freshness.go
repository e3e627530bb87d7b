package overview

import (
	"cmp"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/store/overview"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
	"adsync/media"
	"adsync/producer"
)

// pullsHours reports whether a task pulls the present hours of a media's accounts of a tier when it is enabled.
func pullsHours(t *producer.Task, platform, tier string) bool {
	params, err := media.ReadPullParams(t.Params)
	return err == nil && t.Usable && t.Handler == platform+".report_hourly" && params.Level == settings.AccountLevel &&
		(t.Scope == task.ScopeAll || slices.Contains(t.Tiers(), tier))
}

// hoursPeriod returns the time between two pulls of the present hours of a media's accounts of a tier, by the crons of
// the enabled tasks; 0 if no such task pulls them.
func hoursPeriod(tasks []producer.Task, platform, tier string, now time.Time) time.Duration {
	least := time.Duration(0)
	for i := range tasks {
		t := &tasks[i]
		if !t.Enabled || !pullsHours(t, platform, tier) {
			continue
		}
		s, err := schedule.Parse(t.Cron, t.Timezone, t.Name)
		if err != nil || !s.Recurs() {
			continue
		}
		if next := s.NextN(now, 2); len(next) == 2 && (least == 0 || next[1].Sub(next[0]) < least) {
			least = next[1].Sub(next[0])
		}
	}
	return least
}

// periodDefault is the period of the default tasks.
const periodDefault = 2 * time.Minute

// lateAfter returns the age, by the database's time, from which a media's figures are late: two missed pulls.
func (l *facts) lateAfter(media string) time.Duration {
	return l.real(2 * cmp.Or(l.periods[media], periodDefault))
}

// freshness reads the age of figures.
type freshness struct {
	*facts

	glance interface {
		Pulled(accountIDs []int64, days []day.Day) ([]overview.Pulled, error)
		Unassigned(accountIDs []int64, d day.Day) ([]int64, error)
		Unsummed(media string, since time.Time, limit int) ([]overview.Unsummed, error)
	}
}

// readFreshness reads the age of the present day's figures of the active accounts.
func (l *freshness) readFreshness(m *client.MediaOverview) error {
	byZone, recent, anyRecent := map[string][]int64{}, map[int64]bool{}, false
	for _, a := range l.pulled[m.Name] {
		byZone[a.Timezone] = append(byZone[a.Timezone], a.ID)
		recent[a.ID] = l.o.At.Sub(a.Changed.Time) <= l.lateAfter(m.Name)
		anyRecent = anyRecent || recent[a.ID]
	}
	m.Pulled = int64(len(l.pulled[m.Name]))
	spent := slices.ContainsFunc(m.Spend, func(s client.Spend) bool { return s.Unassigned != 0 })
	for timezone, ids := range byZone {
		today, zone := l.todayIn(timezone)
		for page := range slices.Chunk(ids, accountsPage) {
			pulled, err := l.glance.Pulled(page, []day.Day{today.Add(-1), today})
			if err != nil {
				return err
			}
			l.sortByAge(m, page, today, l.real(l.o.Business.Sub(today.Start(zone))), pulled, recent)
			if spent {
				bare, err := l.glance.Unassigned(page, today)
				if err != nil {
					return err
				}
				l.withoutGame[m.Name] = append(l.withoutGame[m.Name], bare...)
			}
		}
	}
	return l.readFirstPull(m, anyRecent)
}

// readFirstPull sets whether a media's first pull is under way: new accounts have no figures yet, or the summaries,
// which are built after the pulls, have none of today. If account rows have changed lately, a spend of 0 counts as
// none: a summary that was built between the first pulls has only some of the accounts.
func (l *freshness) readFirstPull(m *client.MediaOverview, anyRecent bool) error {
	m.FirstPull = m.New > 0
	known := slices.ContainsFunc(m.Spend, func(s client.Spend) bool { return !anyRecent || s.Ours != 0 })
	if m.FirstPull || known || m.Fresh == 0 {
		return nil
	}
	waiting, err := l.glance.Unsummed(m.Name, l.o.At, 1)
	m.FirstPull = len(waiting) > 0
	return err
}

// sortByAge sorts accounts into fresh, late and new. began is the time since the day began: missing figures are at most
// that old. An account without any pull is new if its row is in recent.
func (l *freshness) sortByAge(m *client.MediaOverview, ids []int64, today day.Day, began time.Duration,
	pulled []overview.Pulled, recent map[int64]bool) {
	age, before := map[int64]time.Duration{}, map[int64]bool{}
	for _, p := range pulled {
		if p.Report == "report_hourly" && !p.PulledAt.IsZero() {
			before[p.AccountID] = true
		}
		if p.Report == "report_hourly" && p.Day == today && !p.PulledAt.IsZero() {
			age[p.AccountID] = max(l.o.At.Sub(p.PulledAt.Time), 0)
		}
	}
	lateAfter := l.lateAfter(m.Name)
	for _, id := range ids {
		of, known := age[id]
		if recent[id] && !before[id] {
			m.OldestSeconds = -1
			m.New++
			continue
		}
		if !known && began <= lateAfter {
			of, known = began, true
		}
		switch {
		case !known:
			m.OldestSeconds = -1
		case m.OldestSeconds >= 0:
			m.OldestSeconds = max(m.OldestSeconds, of.Seconds())
		}
		if known && of <= lateAfter {
			m.Fresh++
			continue
		}
		m.Late++
		l.late[m.Name] = append(l.late[m.Name], id)
	}
}
