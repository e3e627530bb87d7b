package summaries_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/copies"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
)

// partnerRow is a row of 5 new users of a creative of account 900, which is our 7.
func partnerRow(id int64, on day.Day) summaries.PartnerRow {
	r := summaries.PartnerRow{ID: id, Day: on, Game: "chess", OS: "ios", Media: "test", Account: "900", Level: "creative",
		Object: "c1"}
	r.Values[0] = sql.NullInt64{Int64: 5, Valid: true}
	return r
}

var partnerAccounts = map[string]map[string]settings.Account{"test": {"900": {ID: 7, Media: "test", ExternalID: "900"}}}

// partnerCopy is a copy of the table business of the source games.
func partnerCopy() *copies.TableCopy {
	c := &copies.TableCopy{Name: "partner", Source: "games", SourceTable: "business", Into: copies.PartnerTable,
		OverlapSeconds: copies.OverlapDefault}
	c.Complete()
	return c
}

// beginPartner begins a run of the copy that is under way until the test ends.
func beginPartner(t *testing.T, s *store.Store) copies.State {
	t.Helper()
	begun, ended := make(chan copies.State), make(chan struct{})
	var runs sync.WaitGroup
	runs.Go(func() {
		_, _ = s.RunCopy(t.Context(), partnerCopy(), func(state *copies.State) (int, error) {
			begun <- *state
			<-ended
			return 0, copies.ErrOvertaken // so that no end is recorded
		})
		close(begun)
	})
	run, under := <-begun
	t.Cleanup(func() {
		close(ended)
		runs.Wait()
	})
	require.True(t, under)
	return run
}

// putPartner copies rows in a run of their own.
func putPartner(t *testing.T, s *store.Store, rows ...summaries.PartnerRow) summaries.PartnerResult {
	t.Helper()
	run := beginPartner(t, s)
	result, err := s.PutPartnerRows(t.Context(), &run, summaries.PartnerBatch{Rows: rows}, partnerAccounts,
		summaries.PartnerCursor{})
	require.NoError(t, err)
	return result
}

type partnerLine struct {
	PartnerID int64   `gorm:"column:partner_id"`
	Day       day.Day `gorm:"column:day"`
	AccountID *int64  `gorm:"column:account_id"`
	NewUsers  *int64  `gorm:"column:new_users"`
	D7        *int64  `gorm:"column:pay_amount_d7"`
	Note      string  `gorm:"column:note"`
	Version   int64   `gorm:"column:version"`
}

func partnerLines(t *testing.T, s *store.Store) []partnerLine {
	t.Helper()
	var lines []partnerLine
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw("SELECT * FROM partner_daily ORDER BY partner_id").Scan(&lines).Error)
	return lines
}

// wideMarks returns the marked days of a test's media, without their marks.
func wideMarks(t *testing.T, s *store.Store) []day.Day {
	t.Helper()
	marks, err := s.WideDays(t.Context(), "test", 1<<62, 100)
	require.NoError(t, err)
	var days []day.Day
	for _, m := range marks {
		require.EqualValues(t, 7, m.AccountID)
		days = append(days, m.Day)
	}
	return days
}

// clearWideMarks clears all marks, like rebuilds do.
func clearWideMarks(t *testing.T, s *store.Store) {
	t.Helper()
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE wide_day SET dirty = NULL").Error)
}

func TestPutPartnerRows_CopiesChangesAndMarksTheirDays(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	stranger := partnerRow(3, today)
	stranger.Account = "901"
	nameless := partnerRow(4, today)
	nameless.Object = ""
	require.Equal(t, summaries.PartnerResult{Written: 4},
		putPartner(t, s, partnerRow(1, today.Add(-1)), partnerRow(2, today), stranger, nameless))
	before := partnerLines(t, s)
	require.Len(t, before, 4)
	require.EqualValues(t, 7, *before[0].AccountID)
	require.EqualValues(t, 5, *before[0].NewUsers)
	require.Nil(t, before[0].D7, "a figure that the partner does not have is NULL")
	require.Nil(t, before[2].AccountID)
	require.Equal(t, []string{"", "", summaries.PartnerNoAccount, summaries.PartnerNoObject},
		[]string{before[0].Note, before[1].Note, before[2].Note, before[3].Note})
	require.Equal(t, []day.Day{today.Add(-1), today}, wideMarks(t, s))

	clearWideMarks(t, s)
	require.Zero(t, putPartner(t, s, partnerRow(1, today.Add(-1)), partnerRow(2, today)))
	require.Equal(t, before, partnerLines(t, s), "an unchanged row is left alone")
	require.Empty(t, wideMarks(t, s))

	moved := partnerRow(2, today.Add(-3))
	require.Equal(t, summaries.PartnerResult{Written: 1}, putPartner(t, s, moved))
	require.Equal(t, []day.Day{today.Add(-3), today}, wideMarks(t, s), "its former day is marked too")
	require.Greater(t, partnerLines(t, s)[1].Version, before[1].Version)

	clearWideMarks(t, s)
	gone := partnerRow(1, today.Add(-1))
	gone.Deleted = true
	require.Equal(t, summaries.PartnerResult{Deleted: 1}, putPartner(t, s, gone))
	require.Len(t, partnerLines(t, s), 3)
	require.Equal(t, []day.Day{today.Add(-1)}, wideMarks(t, s))
	var id, version int64
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw(
			"SELECT partner_id, version FROM report_tombstone WHERE table_name = 'partner_daily'").Row().Scan(&id, &version))
	require.EqualValues(t, 1, id)
	require.Greater(t, version, before[0].Version)
	require.Zero(t, putPartner(t, s, gone), "it is deleted once")
}

func TestPutPartnerRows_OfAnOvertakenLoadWriteNothing(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	first := beginPartner(t, s)
	require.Empty(t, first.CursorValue)
	at := summaries.PartnerCursor{ChangedAt: "2026-11-21 10:00:00.000", ID: 4}
	_, err := s.PutPartnerRows(t.Context(), &first,
		summaries.PartnerBatch{Rows: []summaries.PartnerRow{partnerRow(1, today)}}, partnerAccounts, at)
	require.NoError(t, err)
	second := beginPartner(t, s)
	require.Equal(t, at, summaries.ParsePartnerCursor(second.CursorValue), "it continues where the one before ended")
	_, err = s.PutPartnerRows(t.Context(), &first,
		summaries.PartnerBatch{Rows: []summaries.PartnerRow{partnerRow(2, today)}}, partnerAccounts,
		summaries.PartnerCursor{})
	require.ErrorIs(t, err, copies.ErrOvertaken)
	_, err = s.AssignPartnerRows(t.Context(), &first, partnerAccounts["test"]["900"])
	require.ErrorIs(t, err, copies.ErrOvertaken)
	require.Len(t, partnerLines(t, s), 1)
	require.ErrorIs(t, s.PutUnreadablePartnerRows(t.Context(), &first, nil), copies.ErrOvertaken)
}

func TestPartnerCursor_IsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []summaries.PartnerCursor{{}, {ChangedAt: "2026-11-21 10:00:00.000"},
		{ChangedAt: "2026/11/21 10:00", ID: 9223372036854775807}, {ChangedAt: "2026-11-21 10:00:00", ID: -3}} {
		require.Equal(t, c, summaries.ParsePartnerCursor(c.String()), c)
	}
	for _, text := range []string{"", "2026-11-21 10:00:00", "2026-11-21 10:00:00/x", "/"} {
		require.Zero(t, summaries.ParsePartnerCursor(text), "the copy begins again")
	}
}

func TestAssignPartnerRows_WhenTheAccountBecomesKnown(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	stranger := partnerRow(1, today)
	stranger.Account = "901"
	nameless := stranger
	nameless.ID, nameless.Level = 2, "keyword"
	putPartner(t, s, stranger, nameless)
	unknown, err := s.UnknownPartnerAccounts(t.Context())
	require.NoError(t, err)
	require.Equal(t, []summaries.PartnerAccount{{Media: "test", Account: "901", Rows: 2}}, unknown)
	before := partnerLines(t, s)

	run := beginPartner(t, s)
	n, err := s.AssignPartnerRows(t.Context(), &run, settings.Account{ID: 7, Media: "test", ExternalID: "901"})
	require.NoError(t, err)
	require.Equal(t, 2, n)
	after := partnerLines(t, s)
	require.EqualValues(t, 7, *after[0].AccountID)
	require.Equal(t, []string{"", summaries.PartnerNoObject}, []string{after[0].Note, after[1].Note})
	require.Greater(t, after[0].Version, before[0].Version)
	require.Equal(t, []day.Day{today}, wideMarks(t, s))
	unknown, err = s.UnknownPartnerAccounts(t.Context())
	require.NoError(t, err)
	require.Empty(t, unknown)
}

// openPartner returns a reader of the table business of a database.
func openPartner(t *testing.T, driver string, dsn secret.Text) *summaries.PartnerSource {
	t.Helper()
	sources, err := copies.OpenSources(copies.SourcesConfig{"games": {Driver: driver, DSN: dsn}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sources.Close()) })
	c := partnerCopy()
	if driver == sqldb.SQLite {
		c.SourceTable = "main.business" // with its schema
	}
	p, err := summaries.OpenPartner(c, sources)
	require.NoError(t, err)
	return p
}

// partnerDatabase creates a partner's database and returns its file and a connection that may write.
func partnerDatabase(t *testing.T) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "partner.db")
	db, err := sql.Open("sqlite", sqldb.SQLiteFile(path, nil))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(),
		`CREATE TABLE business (id INTEGER PRIMARY KEY, updated_at DATETIME NOT NULL, deleted INTEGER NOT NULL,
  day DATE NOT NULL,
		game TEXT NOT NULL, os TEXT NOT NULL, media TEXT NOT NULL, account TEXT NOT NULL, level TEXT NOT NULL,
  object_id TEXT NULL, new_users INTEGER, returning_users INTEGER,
		pay_amount_d1 INTEGER, pay_amount_d3 INTEGER, pay_amount_d7 INTEGER, pay_amount_d14 INTEGER, pay_amount_d30 INTEGER)`)
	require.NoError(t, err)
	return path, db
}

func addPartnerRow(t *testing.T, db *sql.DB, id int64, at string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(),
		`INSERT INTO business (id, updated_at, deleted, day, game, os, media, account, level, object_id, new_users)
		VALUES (?, ?, 0, '2026-11-21', 'chess', 'ios', 'test', '900', 'account', NULL, 5)`, id, at)
	require.NoError(t, err)
}

func TestPartnerSource_ReadsByMomentAndID(t *testing.T) {
	t.Parallel()
	path, db := partnerDatabase(t)
	for id, at := range map[int64]string{9: "2026-11-21 10:00:00.000", 3: "2026-11-21 10:00:00.500",
		4: "2026-11-21 10:00:00.500", 5: "2026-11-21 10:00:00.500", 1: "2026-11-21 10:00:00.501"} {
		addPartnerRow(t, db, id, at)
	}
	p := openPartner(t, sqldb.SQLite, secret.NewText(path))
	require.NoError(t, p.Check(t.Context()))
	var ids []int64
	var at summaries.PartnerCursor
	for {
		batch, next, err := p.Changed(t.Context(), at, 2)
		require.NoError(t, err)
		require.Empty(t, batch.Faults)
		if len(batch.Rows) == 0 {
			break
		}
		for _, r := range batch.Rows {
			ids = append(ids, r.ID)
			require.Equal(t, summaries.PartnerRow{ID: r.ID, Day: today, Game: "chess", OS: "ios", Media: "test", Account: "900",
				Level: "account", Values: partnerRow(1, today).Values}, r)
		}
		at = next
	}
	require.Equal(t, []int64{9, 3, 4, 5, 1}, ids)
	require.Equal(t, summaries.PartnerCursor{ChangedAt: "2026-11-21 10:00:00.501", ID: 1}, at)
	require.Equal(t, at, at.NotBeyond("2026-11-21 10:00:00.502"))
	require.Equal(t, summaries.PartnerCursor{ChangedAt: "2026-11-21 10:00:00.400"},
		at.NotBeyond("2026-11-21 10:00:00.400"), "later changes may become visible later")

	settled, err := p.Settled(t.Context())
	require.NoError(t, err)
	moment, err := time.Parse("2006-01-02 15:04:05.000", settled)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(-copies.OverlapDefault*time.Second), moment, time.Minute)
}

func TestOpenPartner_TouchesNothing(t *testing.T) {
	t.Parallel()
	_, err := summaries.OpenPartner(partnerCopy(), nil)
	require.EqualError(t, err, "source: the settings of this process have no sources.games: add it to those of all "+
		"producers and consumers")
	_, err = summaries.OpenPartner(&copies.TableCopy{Name: "partner", Into: copies.PartnerTable}, nil)
	require.ErrorContains(t, err, "source_table", "a row that was edited in the table")

	path := filepath.Join(t.TempDir(), "missing.db")
	p := openPartner(t, sqldb.SQLite, secret.NewText(path))
	require.ErrorContains(t, p.Check(t.Context()), "source_table: main.business cannot be read: ")
	_, err = os.Stat(path)
	require.ErrorIs(t, err, os.ErrNotExist)
}
