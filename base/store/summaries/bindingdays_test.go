package summaries_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/day"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
)

func TestWithoutOverlaps(t *testing.T) {
	t.Parallel()
	bind := func(from, to day.Day, game string) summaries.Binding {
		return summaries.Binding{AccountID: 1, From: from, To: to, Game: game, OS: "ios"}
	}
	for _, tt := range []struct {
		name     string
		in, want []summaries.Binding
	}{
		{"one", []summaries.Binding{bind("2026-01-01", summaries.LastDay, "a")},
			[]summaries.Binding{bind("2026-01-01", summaries.LastDay, "a")}},
		{
			"a move is one more row",
			[]summaries.Binding{bind("2026-01-01", summaries.LastDay, "a"), bind("2026-06-01", summaries.LastDay, "b")},
			[]summaries.Binding{bind("2026-01-01", "2026-05-31", "a"), bind("2026-06-01", summaries.LastDay, "b")},
		},
		{
			"after a correction the older row applies again",
			[]summaries.Binding{bind("2026-01-01", summaries.LastDay, "a"), bind("2026-06-01", "2026-06-03", "b")},
			[]summaries.Binding{bind("2026-01-01", "2026-05-31", "a"), bind("2026-06-01", "2026-06-03", "b"),
				bind("2026-06-04", summaries.LastDay, "a")},
		},
		{
			"equal neighbours are one",
			[]summaries.Binding{bind("2026-01-01", "2026-01-31", "a"), bind("2026-02-01", summaries.LastDay, "a")},
			[]summaries.Binding{bind("2026-01-01", summaries.LastDay, "a")},
		},
		{"one that ends before it begins", []summaries.Binding{bind("2026-02-01", "2026-01-01", "a")}, nil},
		{"a gap stays a gap", []summaries.Binding{bind("2026-01-01", "2026-01-02", "a"),
			bind("2026-01-04", "2026-01-05", "a")}, []summaries.Binding{bind("2026-01-01", "2026-01-02", "a"),
			bind("2026-01-04", "2026-01-05", "a")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, summaries.WithoutOverlaps(tt.in))
		})
	}
}

// Whatever the rows are, a change sets exactly its days and leaves all others.
func TestRebind_ChangesExactlyItsDays(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	const account = 7
	storetest.AddAccount(t, s, account, "active", "")
	first := day.Day("2026-01-01")
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, s.Config.Writer(context.Background()).Exec("DELETE FROM account_binding").Error)
		draw := func(label string, games ...string) summaries.Binding {
			from := first.Add(rapid.IntRange(0, 12).Draw(t, label+" from"))
			to := from.Add(rapid.IntRange(0, 8).Draw(t, label+" length"))
			if rapid.Bool().Draw(t, label+" open") {
				to = summaries.LastDay
			}
			return summaries.Binding{AccountID: account, From: from, To: to,
				Game: rapid.SampledFrom(games).Draw(t, label+" game"), OS: "ios"}
		}
		seen := map[day.Day]bool{}
		var rows []summaries.Binding
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			b := draw("row", "a", "b")
			if seen[b.From] {
				continue
			}
			seen[b.From] = true
			rows = append(rows, b)
			err := s.Config.Writer(context.Background()).Exec(
				"INSERT INTO account_binding (account_id, from_day, to_day, game, os) VALUES (?, ?, ?, ?, ?)",
				b.AccountID, b.From, b.To, b.Game, b.OS).Error
			require.NoError(t, err)
		}
		slices.SortFunc(rows, func(x, y summaries.Binding) int {
			return slices.Compare([]day.Day{x.From},
				[]day.Day{y.From})
		})
		want := draw("change", "a", "c", "")
		if want.Game == "" {
			want.OS = ""
		}
		_, after, err := s.Rebind(context.Background(), "otto", account,
			func(have []summaries.Binding) (summaries.Binding, error) {
				require.Equal(t, summaries.WithoutOverlaps(rows), have)
				return want, nil
			})
		require.NoError(t, err)
		kept, err := s.AccountBindings(context.Background(), account)
		require.NoError(t, err)
		require.Len(t, kept, len(after))
		for _, d := range append(day.Between("2025-12-30", "2026-02-10"), summaries.LastDay) {
			expect, bound := summaries.BindingOn(rows, d)
			if want.From <= d && d <= want.To {
				expect, bound = want, want.Game != ""
			}
			got, has := summaries.BindingOn(kept, d)
			require.Equal(t, bound, has, d)
			require.Equal(t, expect.Game, got.Game, d)
			require.Equal(t, expect.OS, got.OS, d)
		}
	})
}

func TestRebind_RefusesAnEmptySpanAndAnUnknownAccount(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	backwards := func([]summaries.Binding) (summaries.Binding, error) {
		return summaries.Binding{From: "2026-01-02", To: "2026-01-01", Game: "a", OS: "ios"}, nil
	}
	storetest.AddAccount(t, s, 7, "active", "")
	_, _, err := s.Rebind(t.Context(), "otto", 7, backwards)
	require.ErrorContains(t, err, "there are no days from 2026-01-02 to 2026-01-01")
	_, _, err = s.Rebind(t.Context(), "otto", 999, backwards)
	require.ErrorIs(t, err, sql.ErrNoRows)
}
