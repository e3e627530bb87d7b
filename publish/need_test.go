package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/publishing"
	"adsync/base/store/storetest"
)

// account adds an account of the platform that is bound to the game chess. parked is why nothing pulls it, or "".
func (r *rig) account(id int64, tier, parked string) {
	r.t.Helper()
	storetest.AddAccount(r.t, r.store, id, tier, parked)
	r.bind(id, "2026-01-01", "9999-12-31", "chess")
}

func (r *rig) bind(account int64, from, to day.Day, game string) {
	r.t.Helper()
	r.exec("INSERT INTO account_binding (account_id, from_day, to_day, game, os) VALUES (?, ?, ?, ?, 'ios')", account,
		string(from), string(to), game)
}

// needed returns what a file of a subscription and period waits for, one line for each group of accounts.
func (r *rig) needed(s *Subscription, period Period) (lines []string) {
	r.t.Helper()
	n := &needer{files: files{Deps: r.deps}}
	row, err := n.of(context.Background(), s, period, now)
	require.NoError(r.t, err)
	require.Equal(r.t, sum(row.Need), row.SHA256)
	var got need
	require.NoError(r.t, json.Unmarshal([]byte(row.Need), &got))
	for _, g := range got.Groups {
		require.Equal(r.t, "tulip Asia/Shanghai", g.Media+" "+g.Zone)
		var scopes []string
		for _, scope := range g.Scopes {
			scopes = append(scopes, scope.Level)
		}
		line := fmt.Sprintf("%s to %s: %v by %s", g.From[8:], g.To[8:], g.Accounts, strings.Join(scopes, ", "))
		if g.Parked {
			line += ", parked"
		}
		lines = append(lines, line)
	}
	return lines
}

// whole is the completeness of files that wait.
const whole = `{"when": "complete"}`

func TestNeed_HasTheDaysOnWhichAccountsAreBound(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for id := range int64(9) {
		storetest.AddAccount(t, r.store, id+1, "active", "")
	}
	const last = "9999-12-31"
	r.bind(1, "2026-01-01", last, "chess")
	r.bind(2, "2026-11-18", last, "chess")
	r.bind(3, "2026-01-01", "2026-11-17", "chess")
	r.bind(4, "2026-01-01", "2026-11-15", "chess") // There is a gap.
	r.bind(4, "2026-11-18", last, "chess")
	r.bind(5, "2026-01-01", "2026-11-16", "chess") // There is none.
	r.bind(5, "2026-11-17", last, "go")
	r.bind(6, "2026-01-01", "2026-11-14", "chess")
	r.bind(6, "2026-11-22", last, "chess")
	// Account 7 is not bound.
	r.bind(8, "2026-11-15", "2026-11-20", "chess") // They overlap.
	r.bind(8, "2026-11-16", "2026-11-18", "go")
	r.bind(9, "2026-11-21", "2026-11-21", "go")
	week := Period{"2026-11-15", "2026-11-21"}
	s := checked(t, func(s *publishing.Subscription) { s.Completeness = whole })
	require.Equal(t, []string{
		"15 to 15: [4] by account", "15 to 17: [3] by account", "15 to 20: [8] by account", "15 to 21: [1 5] by account",
		"18 to 21: [2 4] by account", "21 to 21: [9] by account",
	}, r.needed(s, week))
	s = checked(t, func(s *publishing.Subscription) {
		s.Completeness, s.Scope = whole, `{"games": ["go"]}`
		s.Source = strings.ReplaceAll(s.Source, "report_daily_account", "wide_daily_account")
	})
	require.Equal(t, []string{"16 to 18: [8] by account", "17 to 21: [5] by account", "21 to 21: [9] by account"},
		r.needed(s, week))
}

func TestNeed_HasWhatTasksPullForAccounts(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.account(11, "active", "")
	r.account(12, "inactive", "")
	r.account(13, "active", "auth")
	r.account(14, "invalid", "")
	period := Period{"2026-11-20", "2026-11-20"}
	needed := func(completeness string, change func(*publishing.Subscription)) []string {
		return r.needed(checked(t, func(s *publishing.Subscription) {
			s.Completeness = completeness
			if change != nil {
				change(s)
			}
		}), period)
	}
	require.Equal(t, []string{"20 to 20: [11 13] by account"}, needed(whole, nil))
	require.Equal(t, []string{"20 to 20: [11] by account", "20 to 20: [13] by account, parked"},
		needed(`{"when": "complete", "parked": "name"}`, nil))
	require.Equal(t, []string{"20 to 20: [11] by account"}, needed(`{"when": "complete", "parked": "ignore"}`, nil))
	require.Equal(t, []string{"20 to 20: [13] by account"},
		needed(whole, func(s *publishing.Subscription) { s.Scope = `{"accounts": [12, 13, 14]}` }))
	require.Empty(t, needed(whole, func(s *publishing.Subscription) { s.Scope = `{"media": ["orchid"]}` }))
	require.Equal(t, []string{"20 to 20: [11 13] by account"},
		needed(whole, func(s *publishing.Subscription) { s.Scope = `{"media": ["orchid", "tulip"]}` }))

	all := func(s *publishing.Subscription) {
		s.Source = strings.ReplaceAll(s.Source, "report_daily_account", "report_daily")
	}
	require.Equal(t, []string{"20 to 20: [11 13] by account"}, needed(whole, all), "no task pulls the other levels")
	r.exec("INSERT INTO cron_task (name, media, handler, cron, scope, params) VALUES ('adgroups', 'tulip', "+
		"'tulip.report_daily', '@daily', 'active,inactive', ?)", `{"level":"adgroup","days":7}`)
	require.Equal(t, []string{"20 to 20: [11 13] by account, adgroup", "20 to 20: [12] by adgroup"}, needed(whole, all))
	r.exec("UPDATE cron_task SET enabled = 0 WHERE name = 'daily'")
	require.Equal(t, []string{"20 to 20: [11 12 13] by adgroup"}, needed(whole, all))
}

func TestNeed_IsFixedWhenAFileIsPlanned(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *publishing.Subscription) { s.Completeness = whole })
	r.account(7, "active", "")
	r.plan()
	before := r.file(1).Need
	require.NotEmpty(t, before)
	r.account(8, "active", "")
	r.plan()
	require.Equal(t, before, r.file(1).Need)
	text, err := r.store.FileNeed(t.Context(), before)
	require.NoError(t, err)
	require.Contains(t, text, `"accounts":[7]`)
}
