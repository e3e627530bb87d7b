package summaries_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/overview"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
)

// looseTable creates a partner's table whose columns accept unusable values, as a view may return them. It is valid in
// both dialects.
const looseTable = `CREATE TABLE business (id BIGINT NULL, updated_at DATETIME NULL, deleted VARCHAR(100),
	day VARCHAR(100), game VARCHAR(100), os VARCHAR(100), media VARCHAR(100), account VARCHAR(100),
	level VARCHAR(100), object_id VARCHAR(100), new_users VARCHAR(100), returning_users DECIMAL(30, 3),
	pay_amount_d1 DOUBLE, pay_amount_d3 VARBINARY(100), pay_amount_d7 VARCHAR(100), pay_amount_d14 VARCHAR(100),
	pay_amount_d30 VARCHAR(100))`

// setupLoose is setupPartner with looseTable.
func setupLoose(t *testing.T) (*store.Store, *summaries.PartnerSource) {
	t.Helper()
	return setupPartner(t, looseTable)
}

// setupPartner returns a store, and a source that reads the table business in the same database. table is the statement
// that creates the table.
func setupPartner(t *testing.T, table string) (*store.Store, *summaries.PartnerSource) {
	t.Helper()
	cfg := storetest.Config(t)
	s := storetest.Open(t, cfg)
	require.NoError(t, s.MigrateUp(t.Context()))
	require.NoError(t, s.Data.Writer(t.Context()).Exec(table).Error)
	return s, openPartner(t, cfg.Data.Driver, cfg.Data.Writer)
}

// putLoose inserts a row into the partner's table. Its columns have usable values, except those that other sets.
func putLoose(t *testing.T, s *store.Store, id, updatedAt any, other map[string]any) {
	t.Helper()
	row := map[string]any{
		"id": id, "updated_at": updatedAt, "day": "2026-11-21", "game": "chess", "os": "ios", "media": "test",
		"account": "900", "level": "creative", "object_id": "c1", "new_users": "5",
	}
	maps.Copy(row, other)
	require.NoError(t, s.Data.Writer(t.Context()).Table("business").Create(row).Error)
}

// loadLoose loads the whole table into partner_daily and partner_unusable.
func loadLoose(t *testing.T, s *store.Store, p *summaries.PartnerSource) {
	t.Helper()
	run := beginPartner(t, s)
	batch, _, err := p.Changed(t.Context(), summaries.PartnerCursor{}, 1000)
	require.NoError(t, err)
	_, err = s.PutPartnerRows(t.Context(), &run, batch, partnerAccounts, summaries.PartnerCursor{})
	require.NoError(t, err)
	unreadable, err := p.UnreadableRows(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.PutUnreadablePartnerRows(t.Context(), &run, unreadable))
}

// unusablePartner returns the faults in partner_unusable by the id of their row, and the number of rows in
// partner_daily. A fault is "field kind;", with a "!" before the semicolon for each row beyond the first.
func unusablePartner(t *testing.T, s *store.Store) (faults map[int64]string, kept int) {
	t.Helper()
	var rows []struct {
		PartnerID int64
		Field     string
		Kind      string
		RowCount  int64
	}
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw(
			"SELECT partner_id, field, kind, row_count FROM partner_unusable ORDER BY partner_id, field").Scan(&rows).Error)
	faults = map[int64]string{}
	for _, r := range rows {
		faults[r.PartnerID] += strings.TrimSuffix(r.Field+" "+r.Kind+strings.Repeat("!", int(r.RowCount-1)), " ") + ";"
	}
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM partner_daily").Row().Scan(&kept))
	return faults, kept
}

// One unusable value, or a day that was not set, once failed the whole load.
func TestPartner_AnUnusableValueDoesNotFailTheLoad(t *testing.T) {
	t.Parallel()
	const emoji = "🎮"
	for _, c := range []struct {
		name   string
		other  map[string]any
		faults string
		row    map[string]any // of partner_daily; nil when the row is not kept
	}{
		{name: "a row without a fault", row: map[string]any{"new_users": int64(5), "game": "chess"}},
		{name: "a figure that is not a number", other: map[string]any{"new_users": "many"}, faults: "new_users figure;",
			row: map[string]any{"new_users": nil}},
		{name: "the platforms' texts for no value", other: map[string]any{"new_users": "-", "pay_amount_d7": ""},
			row: map[string]any{"new_users": nil, "pay_amount_d7": nil}},
		{name: "a figure beyond what a column holds", other: map[string]any{"pay_amount_d7": "9223372036854775808"},
			faults: "pay_amount_d7 figure;", row: map[string]any{"pay_amount_d7": nil, "new_users": int64(5)}},
		{name: "a figure above 1e16, whose sum with others may overflow",
			other: map[string]any{"pay_amount_d7": "9000000000000000000"}, faults: "pay_amount_d7 figure;",
			row: map[string]any{"pay_amount_d7": nil}},
		{name: "a figure of 1e400", other: map[string]any{"pay_amount_d14": "1e400"}, faults: "pay_amount_d14 figure;",
			row: map[string]any{"pay_amount_d14": nil}},
		{name: "NaN", other: map[string]any{"pay_amount_d14": "NaN"}, faults: "pay_amount_d14 figure;",
			row: map[string]any{"pay_amount_d14": nil}},
		{name: "a figure with the text true", other: map[string]any{"pay_amount_d30": "true"},
			faults: "pay_amount_d30 figure;", row: map[string]any{"pay_amount_d30": nil}},
		{name: "a decimal with a whole value", other: map[string]any{"returning_users": "12.000", "pay_amount_d1": 3.0},
			row: map[string]any{"returning_users": int64(12), "pay_amount_d1": int64(3)}},
		{name: "a decimal with a fraction", other: map[string]any{"returning_users": "12.5", "pay_amount_d1": 0.5},
			faults: "pay_amount_d1 figure;returning_users figure;",
			row:    map[string]any{"returning_users": nil, "pay_amount_d1": nil}},
		{name: "bytes that are not UTF-8", other: map[string]any{"pay_amount_d3": []byte{0xff, 0xfe}},
			faults: "pay_amount_d3 figure;", row: map[string]any{"pay_amount_d3": nil}},
		{name: "a negative figure, as for a refund", other: map[string]any{"pay_amount_d7": "-100"},
			row: map[string]any{"pay_amount_d7": int64(-100)}},
		{name: "a game's name with an emoji", other: map[string]any{"game": emoji}, row: map[string]any{"game": emoji}},
		{name: "an os longer than its column", other: map[string]any{"os": "an operating system"}, faults: "os attribute;",
			row: map[string]any{"os": "an operating sys"}},
		{name: "a game with a NUL byte", other: map[string]any{"game": "go\x00"}, faults: "game attribute;",
			row: map[string]any{"game": "go\uFFFD"}},
		{name: "a game and an os that are NULL", other: map[string]any{"game": nil, "os": nil},
			row: map[string]any{"game": "", "os": ""}},
		{name: "a day that is NULL", other: map[string]any{"day": nil}, faults: "day key;"},
		{name: "a day of zeros", other: map[string]any{"day": "0000-00-00"}, faults: "day key;"},
		{name: "a day after the end of its month", other: map[string]any{"day": "2026-11-31"}, faults: "day key;"},
		{name: "a day of the year 10000", other: map[string]any{"day": "10000-01-01"}, faults: "day key;"},
		{name: "a day with a time of day", other: map[string]any{"day": "2026-11-21 00:00:00"},
			row: map[string]any{"new_users": int64(5)}},
		{name: "an account with characters beyond ASCII", other: map[string]any{"account": emoji}, faults: "account key;"},
		{name: "an object with a space at its end, which the wide table would confuse with another",
			other: map[string]any{"object_id": "c1 "}, faults: "object_id key;"},
		{name: "an object longer than its column", other: map[string]any{"object_id": strings.Repeat("9", 65)},
			faults: "object_id key;"},
		{name: "an object with characters beyond ASCII", other: map[string]any{"object_id": "创意"},
			faults: "object_id key;"},
		{name: "a text in deleted that is neither true nor false", other: map[string]any{"deleted": "perhaps"},
			faults: "deleted key;"},
		{name: "a deleted row, whose other values are not read",
			other: map[string]any{"deleted": "1", "day": nil, "new_users": "many"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, p := setupLoose(t)
			putLoose(t, s, 1, "2026-11-21 10:00:00.000", nil)
			putLoose(t, s, 2, "2026-11-21 10:00:00.000", c.other)
			putLoose(t, s, 3, "2026-11-21 10:00:00.000", nil)
			loadLoose(t, s, p)
			faults, kept := unusablePartner(t, s)
			require.Equal(t, c.faults, faults[2])
			row := map[string]any{}
			require.NoError(t,
				s.Data.Writer(t.Context()).Raw("SELECT * FROM partner_daily WHERE partner_id = 2").Scan(&row).Error)
			if c.row == nil {
				require.Empty(t, row)
				require.Equal(t, 2, kept, "the others are kept")
				return
			}
			require.Equal(t, 3, kept)
			for name, want := range c.row {
				require.Equal(t, want, row[name], name)
			}
		})
	}
}

func TestPartner_ACorrectedValueIsNoLongerUnusable(t *testing.T) {
	t.Parallel()
	s, p := setupLoose(t)
	putLoose(t, s, 1, "2026-11-21 10:00:00.000", map[string]any{"new_users": "many", "pay_amount_d7": "much"})
	putLoose(t, s, 2, nil, nil)
	putLoose(t, s, nil, "2026-11-21 10:00:00.000", nil)
	putLoose(t, s, nil, "2026-11-21 10:00:00.000", nil)
	loadLoose(t, s, p)
	faults, kept := unusablePartner(t, s)
	require.Equal(t, map[int64]string{0: "id key!;updated_at key;", 1: "new_users figure;pay_amount_d7 figure;"}, faults,
		"rows without a usable id or updated_at are counted under the id 0")
	require.Equal(t, 1, kept)
	require.NoError(t, s.Glance(t.Context(), func(g *overview.Glance) error {
		fields, err := g.Unusable(10)
		require.NoError(t, err)
		var got []string
		for _, f := range fields {
			got = append(got, f.Media+" "+f.Report+"."+f.Field+" "+string(f.Kind))
		}
		require.Equal(t, []string{
			" partner_daily.id key", " partner_daily.updated_at key", "test partner_daily.new_users figure",
			"test partner_daily.pay_amount_d7 figure",
		}, got)
		return nil
	}))

	data := s.Data.Writer(t.Context())
	require.NoError(t, data.Exec("DELETE FROM business WHERE id IS NULL OR updated_at IS NULL").Error)
	require.NoError(t, data.Exec("UPDATE business SET new_users = '6', pay_amount_d7 = NULL").Error)
	loadLoose(t, s, p)
	faults, kept = unusablePartner(t, s)
	require.Empty(t, faults)
	require.Equal(t, 1, kept)
}

// A view or SQLite may have an id or an updated_at that no cursor can hold. Such a row once failed every load, or was
// read again by every load.
func TestPartner_RowsWithoutAUsableIDOrTimeAreCountedNotRead(t *testing.T) {
	t.Parallel()
	s, p := setupPartner(t, strings.Replace(looseTable, "id BIGINT NULL, updated_at DATETIME NULL",
		"id VARCHAR(64), updated_at VARBINARY(64)", 1))
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		s, p = setupPartner(t, strings.Replace(looseTable, "id BIGINT NULL, updated_at DATETIME NULL", "id, updated_at", 1))
		putLoose(t, s, 6.5, "2026-11-21 10:00:00.000", nil)
		putLoose(t, s, 1e18, "2026-11-21 10:00:00.000", nil)
		putLoose(t, s, 7, []byte("2026-11-21 10:00:00.000"), nil)
		putLoose(t, s, 8, 1.5, nil)
	} else {
		putLoose(t, s, "6.5", "2026-11-21 10:00:00.000", nil)
		putLoose(t, s, "1e18", "2026-11-21 10:00:00.000", nil)
		putLoose(t, s, 7, "", nil)
		putLoose(t, s, 8, "9", nil)
	}
	putLoose(t, s, 1, "2026-11-21 10:00:00.000", nil)
	putLoose(t, s, "abc", "2026-11-21 10:00:00.000", nil)
	putLoose(t, s, 2, "2026-11-21 10:00:00.000"+strings.Repeat(" ", 30), nil)
	putLoose(t, s, 3, "2026-11-21 10:00:00.000é", nil)
	putLoose(t, s, 4, "2026-11-21 11:00:00.000", nil)

	batch, next, err := p.Changed(t.Context(), summaries.PartnerCursor{}, 1000)
	require.NoError(t, err)
	require.Len(t, batch.Rows, 2)
	require.Equal(t, summaries.PartnerCursor{ChangedAt: "2026-11-21 11:00:00.000", ID: 4}, next)
	batch, _, err = p.Changed(t.Context(), next, 1000)
	require.NoError(t, err)
	require.Empty(t, batch.Rows)
	unreadable, err := p.UnreadableRows(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{4, 3}, []int64{unreadable[0].Rows, unreadable[1].Rows})
}
