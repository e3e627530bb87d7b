package query

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish/format"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	decimal := format.Column{Type: format.Decimal, Scale: 2}
	for _, test := range []struct {
		column      format.Column
		value, want string // want begins with ! if it is a part of the error
	}{
		{format.Column{Type: format.Text}, "", ""},
		{format.Column{Type: format.Text}, "a\x00é", "a\x00é"},
		{format.Column{Type: format.Text}, "a\xff", "!is no UTF-8"},
		{format.Column{Type: format.Integer}, "-9223372036854775808", "-9223372036854775808"},
		{format.Column{Type: format.Integer}, "18446744073709551615", "18446744073709551615"},
		{format.Column{Type: format.Integer}, "1.5", "!want a whole number"},
		{format.Column{Type: format.Integer}, "", "!want a whole number"},
		{format.Column{Type: format.Integer}, "-", "!want a whole number"},
		{format.Column{Type: format.Integer}, "123456789012345678901", "!want a whole number"},
		{decimal, "-12.50", "-12.50"},
		{decimal, "-0.5", "-0.50"},
		{decimal, "7", "7.00"},
		{decimal, "1e+06", "1000000.00"},
		{decimal, "1e-01", "0.10"},
		{decimal, "1.005", "!at most 2 digits"},
		{decimal, "1e-03", "!at most 2 digits"},
		{decimal, "e", "!a decimal number"},
		{decimal, ".5", "!a decimal number"},
		{decimal, "--1", "!a decimal number"},
		{decimal, "1.2.3", "!a decimal number"},
		{decimal, "", "!a decimal number"},
		{format.Column{Type: format.Decimal}, "12", "12"},
		{format.Column{Type: format.Decimal}, "12.5", "!at most 0 digits"},
		{format.Column{Type: format.Float}, "0.00000015", "1.5e-07"},
		{format.Column{Type: format.Float}, "1.5", "1.5"},
		{format.Column{Type: format.Float}, "3", "3"},
		{format.Column{Type: format.Float}, "NaN", "!a finite number"},
		{format.Column{Type: format.Float}, "-Inf", "!a finite number"},
		{format.Column{Type: format.Float}, "1e999", "!a finite number"},
		{format.Column{Type: format.Float}, "x", "!a finite number"},
		{format.Column{Type: format.Bool}, "0", "0"},
		{format.Column{Type: format.Bool}, "true", "1"},
		{format.Column{Type: format.Bool}, "false", "0"},
		{format.Column{Type: format.Bool}, "2", "!0 or 1"},
		{format.Column{Type: format.Day}, "2026-02-28", "2026-02-28"},
		{format.Column{Type: format.Day}, "2026-01-02T00:00:00Z", "2026-01-02"},
		{format.Column{Type: format.Day}, "2026-01-02T10:00:00Z", "!a day without a time"},
		{format.Column{Type: format.Day}, "2026-02-30", "!a day"},
		{format.Column{Type: format.Day}, "0000-00-00", "!a day"},
		{format.Column{Type: format.Day}, "", "!a day"},
		{format.Column{Type: format.Time}, "2026-01-02 10:11:12", "2026-01-02 10:11:12"},
		{format.Column{Type: format.Time}, "2026-01-02T10:11:12.345678Z", "2026-01-02 10:11:12.345678"},
		{format.Column{Type: format.Time}, "2026-01-02 10:11:12.5+00:00", "2026-01-02 10:11:12.5"},
		{format.Column{Type: format.Time}, "2026-01-02", "2026-01-02 00:00:00"},
		{format.Column{Type: format.Time}, "2026-01-02T10:11:12+08:00", "!at most six digits of a second, in UTC"},
		{format.Column{Type: format.Time}, "2026-01-02 10:11:12.1234567", "!at most six digits"},
		{format.Column{Type: format.Time}, "2026-01-02 10:11:12.", "!at most six digits"},
		{format.Column{Type: format.Time}, "2026-01-02x10:11:12", "!a time"},
		{format.Column{Type: format.Time}, "2026-01-02 25:11:12", "!a time"},
	} {
		got, err := canonical([]byte{}, []byte(test.value), test.column)
		if test.want != "" && test.want[0] == '!' {
			require.ErrorContains(t, err, test.want[1:], test.value)
			continue
		}
		require.NoError(t, err, test.value)
		require.NotNil(t, got, "an empty text is not null")
		require.Equal(t, test.want, string(got))
	}
}

// A value's text may be in a buffer that database/sql reads the next columns from.
func TestCanonical_LeavesTheValueAndWhatFollowsIt(t *testing.T) {
	t.Parallel()
	buffer := []byte("2026-01-02|next")
	got, err := canonical(nil, buffer[:10], format.Column{Type: format.Day})
	require.NoError(t, err)
	require.Equal(t, "2026-01-02", string(got))
	require.Equal(t, "2026-01-02|next", string(buffer))
}

func FuzzCanonical(f *testing.F) {
	for _, value := range []string{"", "-1", "1e5", "2026-01-02", "2026-01-02T10:11:12.5Z", "true", "1.50"} {
		for kind := range int(format.Time) + 1 {
			f.Add(value, kind, 2)
		}
	}
	f.Fuzz(func(t *testing.T, value string, kind, scale int) {
		c := format.Column{Type: format.Type(kind % 7), Scale: scale & 15}
		once, err := canonical(nil, []byte(value), c)
		if err != nil {
			return
		}
		again, err := canonical(nil, once, c)
		require.NoError(t, err, "a canonical text is a value of its type")
		require.Equal(t, string(once), string(again))
	})
}

func TestTypes(t *testing.T) {
	t.Parallel()
	for declared, want := range map[string]format.Type{
		"TINYINT": format.Integer, "UNSIGNED BIGINT": format.Integer, "YEAR": format.Integer, "DECIMAL": format.Decimal,
		"FLOAT": format.Float, "DOUBLE": format.Float, "DATE": format.Day, "DATETIME": format.Time, "TIMESTAMP": format.Time,
		"VARCHAR": format.Text, "LONGTEXT": format.Text, "JSON": format.Text, "TIME": format.Text, "NULL": format.Text,
		"VARBINARY": format.Text, "ENUM": format.Text, "BIT": -1, "GEOMETRY": -1,
	} {
		require.Equal(t, want, mysqlType(declared), declared)
	}
	for declared, want := range map[string]format.Type{
		"INTEGER": format.Integer, "BIGINT": format.Integer, "TEXT": format.Text, "VARCHAR(20)": format.Text,
		"REAL": format.Float, "DOUBLE": format.Float, "BOOLEAN": format.Bool, "DATE": format.Day, "DATETIME": format.Time,
		"TIMESTAMP": format.Time, "DECIMAL(20, 4)": format.Decimal, "NUMERIC(9,2)": format.Decimal, "": format.Text,
		"BLOB": format.Text,
	} {
		kind, scale := sqliteType(declared, nil)
		require.Equal(t, want, kind, declared)
		require.Equal(t, map[string]int{"DECIMAL(20, 4)": 4, "NUMERIC(9,2)": 2}[declared], scale)
	}
}
