package overview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/store/overview"
	"adsync/client"
)

// spending reads the spend of today and of the day before.
type spending struct {
	*facts

	glance interface {
		HourlySpend(from, to day.Day) ([]overview.Spend, error)
		DailySpend(from, to day.Day) ([]overview.Spend, error)
	}
}

// readSpend reads the hours of the present days of all time zones, which may be the UTC day before or after.
func (l *spending) readSpend() error {
	today := day.Of(l.o.Business, time.UTC)
	hours, err := l.glance.HourlySpend(today.Add(-2), today.Add(1))
	if err != nil {
		return err
	}
	days, err := l.glance.DailySpend(today.Add(-1), today.Add(1))
	if err != nil {
		return err
	}
	for i := range l.o.Media {
		m := &l.o.Media[i]
		for _, h := range hours {
			if h.Media == m.Name {
				l.addHour(m, h)
			}
		}
		for _, d := range days {
			if present, _ := l.todayIn(d.Zone); d.Media == m.Name && d.Day == present {
				l.spendOf(m, d).Theirs = &d.Cost
			}
		}
		slices.SortStableFunc(m.Spend, func(a, b client.Spend) int {
			return cmp.Compare(max(b.Ours, dayBefore(&b)), max(a.Ours, dayBefore(&a)))
		})
	}
	return nil
}

func (l *spending) addHour(m *client.MediaOverview, h overview.Spend) {
	present, _ := l.todayIn(h.Zone)
	if h.Hour < 0 || h.Hour > 23 || (h.Day != present && h.Day != present.Add(-1)) {
		return
	}
	s := l.spendOf(m, h)
	if h.Day == present {
		s.Ours += h.Cost
		s.Unassigned += h.Unassigned
		s.Hours[h.Hour] += h.Cost
	} else {
		s.Before[h.Hour] += h.Cost
	}
}

// spendOf returns the media's row of a currency and zone, and adds it if it is missing.
func (l *spending) spendOf(m *client.MediaOverview, of overview.Spend) *client.Spend {
	for i := range m.Spend {
		if m.Spend[i].Currency == of.Currency && m.Spend[i].Zone == of.Zone {
			return &m.Spend[i]
		}
	}
	present, zone := l.todayIn(of.Zone)
	m.Spend = append(m.Spend, client.Spend{
		Currency: of.Currency, Zone: of.Zone, Day: string(present), Hours: make([]int64, 24), Before: make([]int64, 24),
		Hour: int64(l.o.Business.In(zone).Hour()),
	})
	return &m.Spend[len(m.Spend)-1]
}

// dayBefore returns the spend of the day before.
func dayBefore(s *client.Spend) (all int64) {
	for _, h := range s.Before {
		all += h
	}
	return all
}

func (l *facts) readTheirs(ctx context.Context, ask TheirsFunc) {
	l.o.Theirs = Ledger
	for i := range l.o.Media {
		m := &l.o.Media[i]
		for j := range m.Spend {
			s := &m.Spend[j]
			s.Theirs = nil
			if slices.ContainsFunc(m.Spend, func(o client.Spend) bool { return o.Currency == s.Currency && o.Zone != s.Zone }) {
				continue // The platform's figure covers all zones of a currency.
			}
			theirs, err := ask(ctx, m.Name, s.Currency, day.Day(s.Day))
			if err != nil {
				l.trouble(m.Name, fmt.Errorf("read the platform's figure: %w", err))
				return
			}
			s.Theirs = &theirs
		}
	}
}

// TheirsFunc returns the spend of a day, by the platform's own figures, of its accounts with a currency.
type TheirsFunc func(ctx context.Context, media, currency string, d day.Day) (int64, error)
