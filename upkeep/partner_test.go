package upkeep_test

import (
	"bytes"
	"database/sql"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/copies"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/upkeep"
)

// partner is a partner's database.
type partner struct {
	t  *testing.T
	db *sql.DB
}

// setupPartner returns a store with the account 900 of Tulip, the system's handlers, their log, and an empty database
// of a partner.
func setupPartner(t *testing.T) (*store.Store, *media.Registry, *bytes.Buffer, partner) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "partner.db")
	db, err := sql.Open("sqlite", sqldb.SQLiteFile(path, nil))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	p := partner{t: t, db: db}
	p.exec(
		`CREATE TABLE partner_daily (id INTEGER PRIMARY KEY, updated_at DATETIME NOT NULL,
		deleted INTEGER NOT NULL DEFAULT 0, day DATE NOT NULL DEFAULT '2026-11-20',
		game TEXT DEFAULT 'chess', os TEXT NOT NULL DEFAULT 'ios', media TEXT NOT NULL DEFAULT 'tulip',
		account TEXT NOT NULL DEFAULT '900',
		level TEXT NOT NULL DEFAULT 'account', object_id TEXT NOT NULL DEFAULT '', new_users INTEGER, returning_users INTEGER,
		pay_amount_d1 INTEGER, pay_amount_d3 INTEGER, pay_amount_d7 INTEGER, pay_amount_d14 INTEGER, pay_amount_d30 INTEGER)`)
	sources, err := copies.OpenSources(copies.SourcesConfig{"games": {Driver: sqldb.SQLite, DSN: secret.NewText(path)}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sources.Close()) })

	s := storetest.New(t)
	require.NoError(t, s.PutTableCopy(t.Context(), settings.Editor{}, "partner", func(c *copies.TableCopy) error {
		c.Source, c.SourceTable, c.Into = "games", "partner_daily", copies.PartnerTable
		c.Complete()
		return c.Validate()
	}))
	_, err = s.PutAccounts(t.Context(), "tulip", 1,
		[]settings.Account{{ExternalID: "900", Timezone: "Asia/Shanghai", Currency: "CNY"}})
	require.NoError(t, err)
	var log bytes.Buffer
	handlers := upkeep.Handlers(upkeep.Deps{
		Store: s, Marks: s.Data, Clock: clock.NewScaled(now, 1, true), Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Sources: sources, Platforms: []media.Platform{invented.New()},
	})
	return s, media.NewRegistry(handlers...), &log, p
}

func (p partner) exec(query string, args ...any) {
	p.t.Helper()
	_, err := p.db.ExecContext(p.t.Context(), query, args...)
	require.NoError(p.t, err)
}

// put writes a row that was changed ago before now.
func (p partner) put(id int64, ago time.Duration, users int64) {
	p.t.Helper()
	p.exec("INSERT OR REPLACE INTO partner_daily (id, updated_at, new_users) VALUES (?, ?, ?)", id,
		sqldb.At(time.Now().Add(-ago)), users)
}

// copied returns the ids and the new users of partner_daily.
func copied(t *testing.T, s *store.Store) map[int64]int64 {
	t.Helper()
	rows, err := s.Data.Writer(t.Context()).Raw("SELECT partner_id, new_users FROM partner_daily").Rows()
	require.NoError(t, err)
	defer rows.Close()
	all := map[int64]int64{}
	for rows.Next() {
		var id, users int64
		require.NoError(t, rows.Scan(&id, &users))
		all[id] = users
	}
	require.NoError(t, rows.Err())
	return all
}

func TestPartner_IsCopiedFromWhereTheLastLoadEnded(t *testing.T) {
	t.Parallel()
	s, r, _, p := setupPartner(t)
	p.put(1, 48*time.Hour, 10)
	p.put(2, 24*time.Hour, 20)
	p.put(3, time.Minute, 30)
	require.Equal(t, 3, run(t, r, upkeep.CopyName, "partner", "").Rows)
	require.Equal(t, map[int64]int64{1: 10, 2: 20, 3: 30}, copied(t, s))
	require.Zero(t, run(t, r, upkeep.CopyName, "partner", "").Rows)

	// A transaction that was long under way: its stamp is older than what has been read.
	p.put(4, 10*time.Minute, 40)
	// No row may come from before the overlap: a load does not read everything again.
	p.put(5, 20*time.Hour, 50)
	p.put(1, time.Second, 11)
	require.Equal(t, 2, run(t, r, upkeep.CopyName, "partner", "").Rows)
	require.Equal(t, map[int64]int64{1: 11, 2: 20, 3: 30, 4: 40}, copied(t, s))

	p.exec("UPDATE partner_daily SET deleted = 1, updated_at = ? WHERE id = 3", sqldb.At(time.Now()))
	require.Equal(t, 1, run(t, r, upkeep.CopyName, "partner", "").Rows)
	require.NotContains(t, copied(t, s), int64(3))
}

func TestPartner_ComesInBatches(t *testing.T) {
	t.Parallel()
	s, r, _, p := setupPartner(t)
	p.exec("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)"+
		" INSERT INTO partner_daily (id, updated_at, new_users) SELECT 10000 - i, ?, i FROM n", sqldb.At(time.Now()))
	require.Equal(t, 2500, run(t, r, upkeep.CopyName, "partner", "").Rows)
	require.Len(t, copied(t, s), 2500)
}

func TestPartner_KeepsRowsOfAccountsThatAreNotKnown(t *testing.T) {
	t.Parallel()
	s, r, log, p := setupPartner(t)
	p.put(1, time.Minute, 10)
	p.exec("UPDATE partner_daily SET account = '901', game = NULL")
	p.put(2, time.Minute, 20)
	p.exec("UPDATE partner_daily SET level = 'a level of no platform' WHERE id = 2")
	require.Equal(t, 1, run(t, r, upkeep.CopyName, "partner", "").Rows)
	require.Equal(t, map[int64]int64{1: 10}, copied(t, s))
	require.Contains(t, log.String(), "accounts that are not known\" media=tulip rows=1")
	require.Contains(t, log.String(), "id=2 field=level kind=key rows=1 why=\"has more than 16 characters\"")
	run(t, r, upkeep.CopyName, "partner", "")
	require.Equal(t, 1, strings.Count(log.String(), "accounts that are not known"), "it is not told at each load")

	ids, err := s.PutAccounts(t.Context(), "tulip", 1,
		[]settings.Account{{ExternalID: "901", Timezone: "Asia/Shanghai", Currency: "CNY"}})
	require.NoError(t, err)
	require.Equal(t, 1, run(t, r, upkeep.CopyName, "partner", "").Rows)
	marks, err := s.WideDays(t.Context(), "tulip", 1<<62, 10)
	require.NoError(t, err)
	require.Len(t, marks, 1)
	require.Equal(t, ids["901"], marks[0].AccountID)
}

// The copy's row has what its last run did, as that of any copy.
func TestPartner_ItsRunsAreRecorded(t *testing.T) {
	t.Parallel()
	s, r, _, p := setupPartner(t)
	p.put(1, time.Minute, 10)
	run(t, r, upkeep.CopyName, "partner", "")
	state := func() copies.State {
		t.Helper()
		states, err := s.CopyStates(t.Context())
		require.NoError(t, err)
		return states["into partner_daily"]
	}
	require.EqualValues(t, 1, state().RowCount)
	require.Empty(t, state().ErrorText)
	require.NotEmpty(t, state().CursorValue)

	p.exec("DROP TABLE partner_daily")
	h, _ := r.Get(upkeep.CopyName)
	_, err := h.Run(t.Context(), media.Work{Key: task.Key{Part: "partner"}})
	require.ErrorContains(t, err, "copy partner: read the partner's table partner_daily: ")
	require.Equal(t, err.Error(), state().ErrorText)
	require.NotEmpty(t, state().CursorValue, "it continues there")

	require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE table_copy SET key_columns = 'day', source = 'x'").Error)
	_, err = h.Run(t.Context(), media.Work{Key: task.Key{Part: "partner"}})
	require.ErrorContains(t, err, `copy partner: key_columns: "day"`)
}

// A figure that is not a number and a missing day each failed the whole load, which was retried until it was dead.
func TestPartner_AValueThatCannotBeUsedDoesNotCostTheLoad(t *testing.T) {
	t.Parallel()
	s, r, log, p := setupPartner(t)
	p.put(1, 2*time.Minute, 10)
	p.put(2, time.Minute, 20)
	p.exec("UPDATE partner_daily SET new_users = 'many', returning_users = 7 WHERE id = 1")
	p.exec("INSERT INTO partner_daily (id, updated_at, day, new_users) VALUES (3, ?, '0000-00-00', 30)",
		sqldb.At(time.Now().Add(-time.Minute)))
	p.exec("INSERT INTO partner_daily (id, updated_at, new_users) VALUES (4, '', 40)")
	require.Equal(t, 2, run(t, r, upkeep.CopyName, "partner", "").Rows)
	require.Contains(t, log.String(), "updated_at is unusable, as key")
	var strays int
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw(
			"SELECT row_count FROM partner_unusable WHERE partner_id = 0 AND field = 'updated_at'").Row().Scan(&strays))
	require.Equal(t, 1, strays, "rows that are never read are counted")
	var users, returning sql.NullInt64
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw(
			"SELECT new_users, returning_users FROM partner_daily WHERE partner_id = 1").Row().Scan(&users, &returning))
	require.False(t, users.Valid, "NULL, not 0")
	require.EqualValues(t, 7, returning.Int64)
	require.Contains(t, log.String(), "new_users is unusable, as figure")
	require.Contains(t, log.String(), "day is unusable, as key")

	p.exec("UPDATE partner_daily SET new_users = 11, updated_at = ? WHERE id = 1", sqldb.At(time.Now()))
	require.Equal(t, 1, run(t, r, upkeep.CopyName, "partner", "").Rows)
	require.EqualValues(t, 11, copied(t, s)[1])
}

// The copy's own overlap counts.
func TestPartner_IsReadAgainFromTheOverlapOn(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int]int{60: 0, 3600: 1} {
		s, r, _, p := setupPartner(t)
		require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE table_copy SET overlap_seconds = ?", seconds).Error)
		p.put(1, 0, 10)
		require.Equal(t, 1, run(t, r, upkeep.CopyName, "partner", "").Rows)
		p.put(2, 30*time.Minute, 20)
		require.Equal(t, want, run(t, r, upkeep.CopyName, "partner", "").Rows, seconds)
	}
}

// A change time in the future, of a row or of the cursor, does not stop the load.
func TestPartner_NoCursorLiesInTheFuture(t *testing.T) {
	t.Parallel()
	s, r, _, p := setupPartner(t)
	const future = "2100-01-01 00:00:00.000"
	p.exec("INSERT INTO partner_daily (id, updated_at, new_users) VALUES (1, ?, 10)", future)
	require.Equal(t, 1, run(t, r, upkeep.CopyName, "partner", "").Rows)
	p.put(2, 0, 20)
	run(t, r, upkeep.CopyName, "partner", "")
	require.Equal(t, map[int64]int64{1: 10, 2: 20}, copied(t, s))

	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE copy_cursor SET cursor_value = ?", future+"/0").Error)
	p.put(3, 0, 30)
	run(t, r, upkeep.CopyName, "partner", "")
	require.Equal(t, map[int64]int64{1: 10, 2: 20, 3: 30}, copied(t, s))
}
