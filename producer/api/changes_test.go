package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
)

func (b *bench) addChange(account int64, seen time.Time, object, field, before, after string) {
	b.t.Helper()
	err := b.store.Data.Writer(b.t.Context()).Exec(
		"INSERT INTO config_change (account_id, version, level, object_id, field, before_value, after_value, seen_at)"+
			" VALUES (?, ?, 'adgroup', ?, ?, ?, ?, ?)", account, seen.UnixMicro(), object, field, before, after,
		sqldb.At(seen)).Error
	require.NoError(b.t, err)
}

type change struct {
	SeenAt               string `json:"seen_at"`
	Level, Object, Field string
	Before, After        string
	ChangedAt            string `json:"changed_at"`
	ChangedBy            string `json:"changed_by"`
}

func (b *bench) changes(path string) (rows []change, next string) {
	b.t.Helper()
	var got struct {
		Changes []change
		Next    string
	}
	decode(b.t, b.get(path), &got)
	return got.Changes, got.Next
}

func TestChanges_AreListedTheNewestFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	account := b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	const path = "/api/v1/accounts/tulip/9001/changes"
	b.addChange(account, now.Add(-time.Hour), "7", "daily_budget", "5000", "8000")
	b.addChange(account, now.Add(-time.Minute), "7", "@deleted", "false", "true")
	b.addChange(account, now.Add(-time.Minute), "8", "@created", "", `"new"`)
	b.addChange(account, now.AddDate(0, 0, -30), "7", "daily_budget", "1", "5000") // outside
	b.addChange(account+1, now, "7", "daily_budget", "1", "2")                     // another's

	all := []change{
		{SeenAt: "2026-11-21T10:29:00Z", Level: "adgroup", Object: "8", Field: "@created", After: `"new"`},
		{SeenAt: "2026-11-21T10:29:00Z", Level: "adgroup", Object: "7", Field: "@deleted", Before: "false", After: "true"},
		{SeenAt: "2026-11-21T09:30:00Z", Level: "adgroup", Object: "7", Field: "daily_budget", Before: "5000", After: "8000"},
	}
	rows, next := b.changes(path)
	require.Equal(t, all, rows)
	require.Empty(t, next)
	rows, _ = b.changes(path + "?object=7&level=adgroup")
	require.Equal(t, all[1:], rows)
	rows, _ = b.changes(path + "?field=daily_budget&from=2026-10-01")
	require.Len(t, rows, 2)
	rows, _ = b.changes(path + "?to=2026-11-20")
	require.Empty(t, rows, "days are the account's")

	var paged []change
	for after := ""; ; {
		rows, after = b.changes(path + "?limit=1&after=" + after)
		paged = append(paged, rows...)
		if after == "" {
			break
		}
	}
	require.Equal(t, all, paged)

	require.NoError(t, b.store.Data.Writer(t.Context()).Exec(
		"UPDATE config_change SET changed_at = ?, changed_by = 'Li' WHERE account_id = ? AND object_id = '8'",
		sqldb.At(now.Add(-time.Hour)), account).Error)
	rows, _ = b.changes(path + "?object=8")
	require.Equal(t, []change{{SeenAt: "2026-11-21T10:29:00Z", Level: "adgroup", Object: "8", Field: "@created",
		After: `"new"`, ChangedAt: "2026-11-21T09:30:00Z", ChangedBy: "Li"}}, rows, "from a log of operations")

	require.Equal(t, []fieldError{{Field: "after", Detail: `"x" is refused: want the value of next in the page before`}},
		b.refused(http.MethodGet, path+"?after=x", ""))
	require.Equal(t, []fieldError{{Field: "limit", Detail: `"1001" is refused: want 1 to 1000`}},
		b.refused(http.MethodGet, path+"?limit=1001", ""))
	require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, "/api/v1/accounts/tulip/9009/changes", "",
		viewerToken).Code)
}
