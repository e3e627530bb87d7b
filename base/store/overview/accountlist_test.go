package overview_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/overview"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
)

func TestListAccounts_FindsThemByEachFilter(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	s.Reach.Rows, s.Reach.Runs = 2, 3
	db := s.Config.Writer(t.Context())
	for _, statement := range []string{
		`INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at,
  refresh_expires_at, state, state_reason) VALUES
  (1, 'tulip', 'app', 'one', '', '', '2026-11-21 10:00:00', '2026-12-21 10:00:00', 'ok', ''),
  (2, 'tulip', 'app', 'two', '', '', '2026-11-21 10:00:00', '2026-12-21 10:00:00', 'reauthorise', 'refused')`,
		`INSERT INTO media_login (token_id, name) VALUES (2, 'the second')`,
		`INSERT INTO media_account (id, media, external_id, token_id, tier, parked, bound) VALUES
  (1, 'tulip', 'a1', 1, 'active', '', 1), (2, 'tulip', 'a2', 2, 'active', 'gone', 1),
  (3, 'orchid', 'a3', 1, 'inactive', '', 1),
  (4, 'tulip', 'a4', 9, 'inactive', 'gone', 0), (5, 'tulip', 'a5', 1, 'active', '', 1),
  (6, 'orchid', 'a6', 1, 'active', '', 1)`,
		`INSERT INTO account_binding (account_id, from_day, to_day, game, os) VALUES
  (1, '2026-01-01', '2026-11-20', 'chess', 'ios'), (1, '2026-11-21', '9999-12-31', 'chess', 'android'),
  (2, '2026-01-01', '2026-11-01', 'chess', 'ios'),
  (3, '2026-01-01', '9999-12-31', 'go', 'ios'), (5, '2026-01-01', '9999-12-31', 'chess', 'ios'),
  (6, '2026-01-01', '9999-12-31', 'chess', 'ios')`,
	} {
		require.NoError(t, db.Exec(statement).Error)
	}
	list := func(f overview.AccountFilter, limit int) (ids []int64) {
		for after := int64(0); ; {
			page, next, err := s.ListAccounts(t.Context(), f, after, limit)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), limit)
			for i := range page {
				ids = append(ids, page[i].ID)
			}
			if next == 0 {
				return ids
			}
			require.Greater(t, next, after)
			after = next
		}
	}
	for _, c := range []struct {
		name   string
		filter overview.AccountFilter
		want   []int64
	}{
		{"all", overview.AccountFilter{}, []int64{1, 2, 3, 4, 5, 6}},
		{"of a media", overview.AccountFilter{Media: "orchid"}, []int64{3, 6}},
		{"of a tier", overview.AccountFilter{Tier: "inactive"}, []int64{3, 4}},
		{"of a media and tier", overview.AccountFilter{Media: "tulip", Tier: "active"}, []int64{1, 2, 5}},
		{"that are pulled", overview.AccountFilter{State: overview.AccountPulled}, []int64{1, 3, 5, 6}},
		{"that are parked", overview.AccountFilter{State: overview.AccountParked}, []int64{2}},
		{"that are not bound", overview.AccountFilter{State: overview.AccountUnbound}, []int64{4}},
		{"whose login works", overview.AccountFilter{LoginState: settings.TokenOK}, []int64{1, 3, 5, 6}},
		{"whose login is dead", overview.AccountFilter{LoginState: settings.TokenReauthorise}, []int64{2}},
		{"without a login", overview.AccountFilter{LoginState: overview.LoginNone}, []int64{4}},
		{"of a game", overview.AccountFilter{Game: "chess"}, []int64{1, 5, 6}},
		{"of a game and media", overview.AccountFilter{Game: "chess", Media: "orchid"}, []int64{6}},
		{"of no game, or of several within the days", overview.AccountFilter{Game: overview.Unassigned}, []int64{1, 2, 4}},
		{"of an unknown game", overview.AccountFilter{Game: "poker"}, nil},
		{"of a media, tier and state", overview.AccountFilter{Media: "tulip", Tier: "active", State: overview.AccountParked},
			[]int64{2}},
	} {
		c.filter.From, c.filter.To = "2026-11-20", "2026-11-22"
		for _, limit := range []int{1, 2, 50} {
			require.Equal(t, c.want, list(c.filter, limit), c.name)
		}
	}
	page, _, err := s.ListAccounts(t.Context(), overview.AccountFilter{}, 1, 1)
	require.NoError(t, err)
	require.Equal(t, "the second", page[0].LoginName)
	require.Equal(t, "refused", page[0].LoginReason)
	require.Equal(t, time.Date(2026, 12, 21, 10, 0, 0, 0, time.UTC), page[0].RefreshExpires)
	require.Equal(t, []summaries.Binding{{AccountID: 2, From: "2026-01-01", To: "2026-11-01", Game: "chess", OS: "ios"}},
		page[0].Bindings)
}

func TestFiguresCoverage_IsOfTheAccountLevelOnly(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	db := s.Data.Writer(t.Context())
	require.NoError(t, db.Exec(`INSERT INTO coverage (account_id, report, level, day, media, state) VALUES
  (1, 'report_daily', 'account', '2026-11-20', 'tulip', 'complete'),
  (1, 'report_daily', 'account', '2026-11-10', 'tulip', 'complete'),
  (1, 'report_daily', 'adgroup', '2026-11-20', 'tulip', 'suspect'),
  (2, 'report_daily', 'account', '2026-11-21', 'tulip', 'partial'),
  (3, 'report_daily', 'account', '2026-11-21', 'tulip', 'partial')`).Error)
	found, err := s.FiguresCoverage(t.Context(), []int64{1, 2}, day.Between("2026-11-15", "2026-11-21"))
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Len(t, found[1], 1)
	require.Equal(t, results.Complete, found[1][0].State)
	require.Equal(t, day.Day("2026-11-21"), found[2][0].Day)
}
