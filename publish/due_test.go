package publish

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/config"
	"adsync/base/day"
	"adsync/base/store/publishing"
)

// briefly writes files as period and sequence.
func briefly(all []publishing.Publication) (words []string) {
	for i := range all {
		words = append(words, all[i].Part()+" #"+template{{field: "sequence"}}.name(nil, &all[i]))
	}
	return words
}

func TestDue_MakesUpForMissedMoments(t *testing.T) {
	t.Parallel()
	s := checked(t, nil)
	require.Equal(t, []string{"sales/2026-11-19/r1 #1", "sales/2026-11-20/r1 #2"},
		briefly(s.due(publishing.Progress{}, now)), "none before it was enabled")
	last := publishing.Progress{DueAt: time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC), Sequence: 7}
	next := s.due(last, now)
	require.Equal(t, []string{"sales/2026-11-20/r1 #8"}, briefly(next))
	require.Equal(t, time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC), next[0].DueAt.UTC())
	require.Equal(t, "2026-11-20/sales.csv", next[0].Name)
	require.Empty(t, s.due(publishing.Progress{DueAt: next[0].DueAt, Sequence: 8}, now))

	s = checked(t, func(s *publishing.Subscription) { s.Since = now.AddDate(-3, 0, 0) })
	all := s.due(publishing.Progress{}, now)
	require.Len(t, all, momentsMax, "the newest ones")
	require.EqualValues(t, "2026-11-20", all[momentsMax-1].ToDay)
}

func TestDue_APeriodOfSeveralMomentsIsPlannedOnce(t *testing.T) {
	t.Parallel()
	s := checked(t, func(s *publishing.Subscription) { s.Period, s.Since = "week", now.AddDate(0, 0, -14) })
	all := s.due(publishing.Progress{}, now)
	require.Equal(t, []string{"sales/2026-10-26_2026-11-01/r1 #1", "sales/2026-11-02_2026-11-08/r1 #2",
		"sales/2026-11-09_2026-11-15/r1 #3"}, briefly(all))
	// Later passes do not know that the moments since then gave nothing new.
	again := s.due(publishing.Progress{DueAt: all[1].DueAt, Sequence: 2}, now)
	require.Equal(t, []string{"sales/2026-11-02_2026-11-08/r1 #2", "sales/2026-11-09_2026-11-15/r1 #3"}, briefly(again))
}

func TestDue_HasNoGapsInItsSequence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := checked(t, func(s *publishing.Subscription) {
			s.Period = rapid.SampledFrom([]string{"day", "week", "month", "days:3"}).Draw(t, "period")
			s.Cron = rapid.SampledFrom([]string{"0 9 * * *", "0 */7 * * *", "30 5 * * 1", "0 0 1 * *"}).Draw(t, "cron")
			s.Since = now.Add(-time.Duration(rapid.IntRange(0, 60*24).Draw(t, "hours")) * time.Hour)
		})
		var last publishing.Progress
		rows := map[Period]int64{} // as the table has them
		for at := s.Since; at.Before(now); {
			at = at.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "pause")) * time.Hour)
			for _, p := range s.due(last, at) {
				of := Period{p.FromDay, p.ToDay}
				if _, known := rows[of]; known {
					continue
				}
				rows[of] = p.Sequence
				require.EqualValues(t, len(rows), p.Sequence, "%s", of)
				last = publishing.Progress{DueAt: p.DueAt, Sequence: p.Sequence}
			}
		}
	})
}

func TestPublication_WaitsIfItsSubscriptionDoes(t *testing.T) {
	t.Parallel()
	s := checked(t, func(s *publishing.Subscription) {
		s.Completeness = `{"when": "complete", "latest_minutes": 30}`
		s.Corrections = `{"every_minutes": 60, "days": 3}`
	})
	late := s.due(publishing.Progress{}, now)
	require.Len(t, late, 2)
	for _, p := range late { // They are planned later than at their moments.
		require.Equal(t, publishing.Waiting, p.State)
		require.Equal(t, now, p.PlannedAt)
		require.True(t, p.DueAt.Before(now.Add(-time.Hour)))
		require.Equal(t, p.DueAt.Add(30*time.Minute), p.LatestAt, "it counts from the moment")
		require.Equal(t, p.DueAt.AddDate(0, 0, 3), p.CorrectUntil)
	}
	p := s.Order([]Period{{"2026-11-20", "2026-11-20"}}, nil, publishing.Progress{}, now)[0]
	require.Equal(t, publishing.Waiting, p.State)
	require.Equal(t, now.Add(30*time.Minute), p.LatestAt, "it counts from the order")
	require.Equal(t, now.AddDate(0, 0, 3), p.CorrectUntil)
	require.False(t, s.allowsIncomplete(&p, p.LatestAt.Add(-time.Second)))
	require.True(t, s.allowsIncomplete(&p, p.LatestAt))
	require.Equal(t, 10*time.Minute, s.corrections.quiet(), "the default")
}

func TestPeriods_AreThoseWithinTheDays(t *testing.T) {
	t.Parallel()
	s := checked(t, nil)
	all, err := s.Periods("2026-11-18", "2026-11-25", now)
	require.NoError(t, err)
	require.Equal(t, []Period{{"2026-11-18", "2026-11-18"}, {"2026-11-19", "2026-11-19"}, {"2026-11-20", "2026-11-20"}},
		all, "today is not over")
	week := checked(t, func(s *publishing.Subscription) { s.Period = "week" })
	all, err = week.Periods("2026-11-03", "2026-11-20", now)
	require.NoError(t, err)
	require.Equal(t, []Period{{"2026-11-09", "2026-11-15"}}, all)

	for _, c := range []struct{ key, from, to string }{
		{"from", "yesterday", "2026-11-20"},
		{"to", "2026-11-20", "2026-11-19"},
		{"to", "2026-11-20", ""},
		{"to", "2026-11-21", "2026-11-21"},
		{"to", "2025-11-01", "2026-11-20"},
		{"to", "9999-12-31", "9999-12-31"},
	} {
		_, err := s.Periods(c.from, c.to, now)
		var f *config.FieldError
		require.ErrorAs(t, err, &f, c.from)
		require.Equal(t, c.key, f.Key, c.from)
	}
}

func TestPeriods_HaveTheDaysThatTheCronWouldGive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := checked(t, func(s *publishing.Subscription) {
			s.Period = rapid.SampledFrom([]string{"day", "week", "month", "days:5"}).Draw(t, "period")
		})
		from := day.Day("2026-01-01").Add(rapid.IntRange(0, 300).Draw(t, "from"))
		to := from.Add(rapid.IntRange(0, 60).Draw(t, "days"))
		all, err := s.Periods(string(from), string(to), now)
		want := map[Period]bool{}
		for d := day.Day("2025-11-01"); d <= "2026-11-21"; d = d.Add(1) {
			if p := s.rule.at(d.Start(s.zone)); p.From >= from && p.To <= to {
				want[p] = true
			}
		}
		if len(want) == 0 {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Len(t, all, len(want))
		for _, p := range all {
			require.True(t, want[p], p)
		}
	})
}

func TestOrder_MakesTheNextRevisionOfWhatIsThere(t *testing.T) {
	t.Parallel()
	s := checked(t, func(s *publishing.Subscription) { s.Path = "{day}-r{revision}-{sequence:3}{ext}" })
	made := []publishing.Publication{
		{FromDay: "2026-11-19", ToDay: "2026-11-19", Revision: 2, Sequence: 5},
		{FromDay: "2026-11-19", ToDay: "2026-11-19", Revision: 1, Sequence: 5},
		{FromDay: "2026-11-18", ToDay: "2026-11-19", Revision: 9, Sequence: 3}, // of another rule
	}
	periods := []Period{{"2026-11-18", "2026-11-18"}, {"2026-11-19", "2026-11-19"}, {"2026-11-20", "2026-11-20"}}
	all := s.Order(periods, made, publishing.Progress{Sequence: 6}, now)
	require.Equal(t, []string{"sales/2026-11-18/r1 #7", "sales/2026-11-19/r3 #5", "sales/2026-11-20/r1 #8"}, briefly(all))
	require.Equal(t, "2026-11-19-r3-005.csv", all[1].Name)
	require.True(t, all[0].DueAt.IsZero())
}

func TestParsePart_ReadsWhatPartWrites(t *testing.T) {
	t.Parallel()
	for _, period := range []Period{{"2026-11-20", "2026-11-20"}, {"2026-11-09", "2026-11-15"}} {
		want := publishing.Publication{Subscription: "sales", FromDay: period.From, ToDay: period.To, Revision: 12}
		got, err := parsePart(want.Part())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, part := range []string{"", "sales", "sales/2026-11-20", "sales/2026-11/r1", "sales/2026-11-20_x/r1",
		"sales/2026-11-20/r", "a/sales/2026-11-20/r1"} {
		_, err := parsePart(part)
		require.Error(t, err, part)
	}
}
