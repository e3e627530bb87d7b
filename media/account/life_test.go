package account_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/media"
	"adsync/media/account"
	"adsync/media/mediatest/invented"
)

// It is the evening of 2026-11-21 in China, and the afternoon in Los Angeles's 21st has not begun.
var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

const china = "Asia/Shanghai"

// life is a store with accounts of one login, and a clock that the test moves.
type life struct {
	t     testing.TB
	store *store.Store
	login int64
	at    time.Time
}

func newLife(t testing.TB) *life {
	t.Helper()
	l := &life{t: t, store: storetest.New(t), at: now}
	l.login = l.addLogin("one")
	return l
}

func (l *life) addLogin(name string) int64 {
	l.t.Helper()
	id, err := l.store.PutLogin(context.Background(), settings.Token{
		Media: invented.Tulip, AppID: "17", Login: name, AccessExpires: now.AddDate(0, 0, 1),
		RefreshExpires: now.AddDate(0, 1, 0),
	}, func(int64) (string, string, error) { return "a", "r", nil })
	require.NoError(l.t, err)
	return id
}

// clock returns a stopped clock at the test's time.
func (l *life) clock() clock.Clock { return clock.NewScaled(l.at, 1, true) }

func (l *life) exec(db *sqldb.DB, query string, args ...any) {
	l.t.Helper()
	require.NoError(l.t, db.Writer(context.Background()).Exec(query, args...).Error, query)
}

func (l *life) account(externalID, zone string) int64 {
	l.t.Helper()
	ids, err := l.store.PutAccounts(context.Background(), invented.Tulip, l.login,
		[]settings.Account{{ExternalID: externalID, Timezone: zone, Currency: "CNY"}})
	require.NoError(l.t, err)
	return ids[externalID]
}

// figures writes a day's figures of an account.
func (l *life) figures(id int64, d day.Day, cost, impressions any) {
	l.t.Helper()
	l.exec(l.store.Data,
		"INSERT INTO report_daily (day, account_id, level, object_id, media, currency, day_zone, cost, impressions, "+
			"version, updated_at)"+
			" VALUES (?, ?, 'account', '', 'tulip', 'CNY', 'Asia/Shanghai', ?, ?, 1, ?)", d, id, cost, impressions,
		sqldb.At(now))
}

// whole records in coverage that days of an account's figures were pulled whole.
func (l *life) whole(id int64, report, level string, days ...day.Day) {
	l.t.Helper()
	for _, d := range days {
		l.exec(l.store.Data,
			"INSERT INTO coverage (account_id, report, level, day, media, complete_version, state, claimed_by, note) VALUES "+
				"(?, ?, ?, ?, 'tulip', 1, 'complete', '', '')",
			id, report, level, d)
	}
}

// tier returns an account's tier and tier_reason.
func (l *life) tier(id int64) (tier, reason string) {
	l.t.Helper()
	err := l.store.Config.Writer(context.Background()).Raw("SELECT tier, tier_reason FROM media_account WHERE id = ?",
		id).Row().Scan(&tier, &reason)
	require.NoError(l.t, err)
	return tier, reason
}

func (l *life) activity(batch int) int {
	l.t.Helper()
	h := account.ActivityHandler(account.ActivityOptions{
		Platform: invented.New(), Store: l.store, Clock: l.clock(), Logger: slog.New(slog.DiscardHandler), Batch: batch,
	})
	return l.run(h, "")
}

func (l *life) run(h media.Handler, params string) int {
	l.t.Helper()
	if h.Check != nil {
		require.NoError(l.t, h.Check(json.RawMessage(params)))
	}
	parts, err := h.Parts(media.Plan{PlannedAt: l.at, Zone: time.UTC, Params: json.RawMessage(params)})
	require.NoError(l.t, err)
	require.Len(l.t, parts, 1)
	work := media.Work{PlannedAt: l.at, Params: json.RawMessage(params)}
	work.Part = parts[0]
	result, err := h.Run(context.Background(), work)
	require.NoError(l.t, err)
	return result.Rows
}

// week returns the seven days that count, the present one last.
func week() []day.Day { return day.Between("2026-11-15", "2026-11-21") }

func numbered(n int) string { return fmt.Sprintf("2000%04d", n) }
