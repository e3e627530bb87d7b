package copies_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/copies"
	"adsync/base/store/storetest"
)

// Values are copied as they are: the digits of DATETIME and DECIMAL too, without a change of zone.
func TestCopyTable_KeepsValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	columns := "(id BIGINT NOT NULL, code VARBINARY(8) NOT NULL, price DECIMAL(30,10) NULL, at DATETIME(6) NULL, " +
		"stamp TIMESTAMP(3) NULL, note TEXT NULL, data BLOB NULL, big BIGINT UNSIGNED NULL, ratio DOUBLE NULL, " +
		"part FLOAT NULL, flag BOOLEAN NULL, clock TIME NULL, plain DATETIME NULL, PRIMARY KEY (id, code))"
	price, binary := "12345678901234567890.0123456789", []byte{0, 255, '\'', '\\', '`', 1}
	big := any("18446744073709551615")
	if os.Getenv(storetest.ServerEnv) == "" {
		// SQLite's columns of numbers hold neither.
		columns = strings.NewReplacer("DECIMAL(30,10)", "TEXT", "BIGINT UNSIGNED", "TEXT").Replace(columns)
	}
	b.in(b.from, "CREATE TABLE vals "+columns)
	b.in(b.store, "CREATE TABLE copy_vals "+columns)
	b.in(b.from, "INSERT INTO vals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", int64(-1)<<63, binary, price,
		"2026-03-29 02:30:00.123456", "2026-11-21 10:00:00.500", "好 \x00'\"\\`?@x\U0001f600", binary, big, 0.1, 0.1, true,
		"10:11:12", "2026-11-21 09:08:07")
	b.in(b.from, "INSERT INTO vals (id, code) VALUES (5, '')")
	c := copies.TableCopy{Name: "vals", Source: "erp", SourceTable: "vals", KeyColumns: "id,code"}
	require.Equal(t, 2, b.copied(c))
	const query = "SELECT id, HEX(code), CAST(price AS CHAR), CAST(at AS CHAR), CAST(stamp AS CHAR), " +
		"CASE WHEN note IS NOT NULL THEN HEX(note) END, CASE WHEN data IS NOT NULL THEN HEX(data) END, " +
		"CAST(big AS CHAR), ratio, part, flag, CAST(clock AS CHAR), CAST(plain AS CHAR) FROM "
	want := b.fromTexts(query + "vals ORDER BY id")
	require.Equal(t, want, b.texts(query+"copy_vals ORDER BY id"))
	require.Contains(t, want[0], price+" 2026-03-29 02:30:00.123456 2026-11-21 10:00:00.500 ")
	require.Contains(t, want[0], " 18446744073709551615 0.1 0.1 1 10:11:12 2026-11-21 09:08:07")
	require.Equal(t, "5 "+strings.Repeat(" NULL", 11), want[1])
	require.Equal(t, 2, b.copied(c), "the keys are equal as texts: nothing is deleted")
	b.in(b.from, "DELETE FROM vals WHERE id < 0")
	require.Equal(t, 2, b.copied(c))
	require.Len(t, b.texts(query+"copy_vals"), 1)
}

// fromTexts is texts for the source.
func (b *bench) fromTexts(query string) []string {
	other := *b
	other.store = b.from
	return other.texts(query)
}

// A moment in a key has one text in both databases, whatever the drivers make of it.
func TestCopyTable_MomentsAsKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const columns = "(day DATE NOT NULL, at DATETIME(3) NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (at, day))"
	b.in(b.from, "CREATE TABLE hours "+columns)
	b.in(b.store, "CREATE TABLE copy_hours "+columns)
	b.in(b.from, "INSERT INTO hours VALUES ('2026-11-21', '2026-11-21 10:00:00.000', 1), "+
		"('2026-11-21', '2026-11-21 11:00:00.500', 2)")
	c := copies.TableCopy{Name: "hours", Source: "erp", SourceTable: "hours", KeyColumns: "day,at"}
	require.Equal(t, 2, b.copied(c))
	b.in(b.from, "DELETE FROM hours WHERE n = 1")
	require.Equal(t, 2, b.copied(c))
	require.Equal(t, []string{"2"}, b.texts("SELECT n FROM copy_hours"))
}

func TestCopyTable_AValueThatDoesNotFitNamesItsColumn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in(b.from, "CREATE TABLE names (id INTEGER NOT NULL PRIMARY KEY, title VARCHAR(20) NULL)")
	b.in(b.store, "CREATE TABLE copy_names (id INTEGER NOT NULL PRIMARY KEY, title VARCHAR(20) NOT NULL)")
	b.in(b.from, "INSERT INTO names VALUES (1, NULL)")
	why := b.refused(copies.TableCopy{Name: "names", Source: "erp", SourceTable: "names", KeyColumns: "id"})
	require.Contains(t, why, "copy names: write copy_names: ")
	require.Contains(t, why, "title")
	require.Contains(t, why, "give the column a type that holds the source's values")
}

func TestCopyTable_ANullInTheKeyIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in(b.from, "CREATE TABLE parts (code VARCHAR(20) NULL)")
	b.in(b.store, "CREATE TABLE copy_parts (code VARCHAR(20) NULL, UNIQUE (code))")
	b.in(b.from, "INSERT INTO parts VALUES (NULL)")
	c := copies.TableCopy{Name: "parts", Source: "erp", SourceTable: "parts", KeyColumns: "code"}
	require.Contains(t, b.refused(c), "copy parts: parts has a row with NULL in the key column code: give it a "+
		"value, or choose other key_columns")
}
