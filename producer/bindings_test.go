package producer

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/day"
	"adsync/base/store/summaries"
)

func drawBindings(t *rapid.T, label string) []summaries.Binding {
	first := day.Day("2026-01-01")
	seen := map[[2]int]bool{}
	var all []summaries.Binding
	for range rapid.IntRange(0, 6).Draw(t, label) {
		account, from := rapid.IntRange(1, 2).Draw(t, "account"), rapid.IntRange(0, 15).Draw(t, "from")
		if seen[[2]int{account, from}] {
			continue
		}
		seen[[2]int{account, from}] = true
		to := first.Add(from + rapid.IntRange(-2, 10).Draw(t, "length"))
		if rapid.Bool().Draw(t, "open") {
			to = summaries.LastDay
		}
		all = append(all, summaries.Binding{AccountID: int64(account), From: first.Add(from), To: to,
			Game: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "game"), OS: "ios"})
	}
	slices.SortFunc(all, func(a, b summaries.Binding) int {
		if a.AccountID != b.AccountID {
			return int(a.AccountID - b.AccountID)
		}
		return slices.Compare([]day.Day{a.From}, []day.Day{b.From})
	})
	return all
}

// Day by day: the applied bindings are the written ones, exactly the changed days are touched, and a second pass
// changes nothing.
func TestBindingChanges_DayByDay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := map[int64][]summaries.Binding{}
		first, _ := bindingChanges(drawBindings(t, "before"), nil)
		for _, c := range first {
			before[c.AccountID] = c.Bindings
		}
		wanted := drawBindings(t, "wanted")
		applied := slices.Concat(before[1], before[2])
		after := map[int64][]summaries.Binding{1: before[1], 2: before[2]}
		touched := map[int64][]summaries.Binding{}
		changes, wrong := bindingChanges(wanted, applied)
		require.Empty(t, wrong)
		for _, c := range changes {
			after[c.AccountID], touched[c.AccountID] = c.Bindings, c.Touched
		}
		for account := range int64(2) {
			account++
			own := slices.DeleteFunc(slices.Clone(wanted), func(b summaries.Binding) bool { return b.AccountID != account })
			for _, d := range append(day.Between("2025-12-30", "2026-02-10"), summaries.LastDay) {
				want, bound := summaries.BindingOn(own, d)
				got, has := summaries.BindingOn(after[account], d)
				require.Equal(t, bound, has, "account %d on %s", account, d)
				require.Equal(t, want.Game, got.Game, "account %d on %s", account, d)
				old, had := summaries.BindingOn(before[account], d)
				_, marked := summaries.BindingOn(touched[account], d)
				require.Equal(t, had != has || old.Game != got.Game, marked, "account %d on %s", account, d)
				covering := 0
				for _, b := range after[account] {
					if b.From <= d && d <= b.To {
						covering++
					}
				}
				require.LessOrEqual(t, covering, 1)
			}
		}
		changes, _ = bindingChanges(wanted, slices.Concat(after[1], after[2]))
		require.Empty(t, changes)
	})
}

func TestKeepBindings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.exec(b.store.Config,
		"INSERT INTO account_binding (account_id, from_day, game, os) VALUES (1, '2026-01-01', 'a', 'ios'), (1, "+
			"'2026-06-01', 'b', 'ios'), (2, '2026-01-01', 'a', 'pc')")
	tm := b.term()
	require.NoError(t, tm.keepBindings(ctx))
	applied, err := b.store.AppliedBindings(ctx)
	require.NoError(t, err)
	require.Len(t, applied, 3)
	require.Equal(t, day.Day("2026-05-31"), applied[0].To)

	b.exec(b.store.Config, "DELETE FROM account_binding WHERE account_id = 1")
	require.NoError(t, tm.keepBindings(ctx), "not before the next reload")
	tm.readAt = tm.readAt.Add(-tm.bindings.interval)
	require.NoError(t, tm.keepBindings(ctx))
	applied, err = b.store.AppliedBindings(ctx)
	require.NoError(t, err)
	require.Len(t, applied, 1)
}

// A row with days that no platform has would move the whole past: the account keeps its applied bindings until the row
// is corrected.
func TestKeepBindings_UsesNoImpossibleDays(t *testing.T) {
	t.Parallel()
	for _, days := range [][2]string{{"0001-01-01", "9999-12-31"}, {"1970-01-01", "9999-12-31"},
		{"2026-01-01", "1999-01-01"}} {
		t.Run(days[0]+" to "+days[1], func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			tm := b.term()
			keep := func() []summaries.Binding {
				t.Helper()
				tm.readAt = tm.readAt.Add(-tm.bindings.interval)
				require.NoError(t, tm.keepBindings(t.Context()))
				applied, err := b.store.AppliedBindings(t.Context())
				require.NoError(t, err)
				return applied
			}
			b.exec(b.store.Config, "INSERT INTO media_account (id, media, external_id, token_id) VALUES (1, 'tulip', 'one', 1)")
			b.exec(b.store.Config,
				"INSERT INTO account_binding (account_id, from_day, game, os) VALUES (1, '2000-01-01', 'a', 'ios'), (2, "+
					"'2026-01-01', 'a', 'pc')")
			before := keep()
			b.exec(b.store.Config,
				"INSERT INTO account_binding (account_id, from_day, to_day, game, os) VALUES (1, ?, ?, 'b', 'ios')", days[0],
				days[1])
			b.exec(b.store.Config, "UPDATE account_binding SET game = 'c' WHERE account_id = 2")
			after := keep()
			require.Equal(t, before[0], after[0])
			require.Equal(t, "c", after[1].Game, "other accounts continue")
			wrong, err := b.store.ImpossibleBindings(t.Context(), 10)
			require.NoError(t, err)
			require.Len(t, wrong, 1)
		})
	}
}
