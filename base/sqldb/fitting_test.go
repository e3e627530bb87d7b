package sqldb

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each byte of a text may become two in the statement, and the server's limit applies to the whole statement.
func TestFitting_CutsStatementsByBytes(t *testing.T) {
	t.Parallel()
	d := &DB{server: &connector{}}
	rowsOf := func(bytes ...int) (rows [][]any) {
		for i, n := range bytes {
			rows = append(rows, []any{i, strings.Repeat(`"`, n)})
		}
		return rows
	}
	const large = 100_000
	for name, c := range map[string]struct {
		packet int64
		rows   [][]any
		most   int
		want   int
	}{
		"small rows go together":          {16 << 20, rowsOf(10, 10, 10), 250, 3},
		"no more than are wanted":         {16 << 20, rowsOf(10, 10, 10), 2, 2},
		"large rows by their bytes":       {1 << 20, rowsOf(large, large, large, large, large, large), 250, 4},
		"a larger packet takes more":      {2 << 20, rowsOf(large, large, large, large, large, large), 250, 6},
		"a row as large as half a packet": {1 << 20, rowsOf(600_000, 10), 250, 1},
		"the default before a connection": {0, rowsOf(large, large, large, large, large, large), 250, 4},
	} {
		d.server.packet.Store(c.packet)
		n, err := d.Fitting("t", 1, c.rows, c.most)
		require.NoError(t, err, name)
		require.Equal(t, c.want, n, name)
		statement := packetSpare
		for _, row := range c.rows[:n] {
			statement += 2 * len(row[1].(string))
		}
		if c.want > 1 {
			require.LessOrEqual(t, statement, d.packet(), name)
		}
	}

	d.server.packet.Store(1 << 20)
	_, err := d.Fitting("t", 1, rowsOf(1<<20), 250)
	require.EqualError(t, err, "the row 0 of t has 1114144 bytes, and the server's max_allowed_packet allows 1048576")

	require.Equal(t, 10, d.FittingOf(10, func(int) int { return 10 }))
	require.Equal(t, 1, d.FittingOf(10, func(int) int { return 1 << 20 }), "one row at least")
}

// A list of values is JSON, whose escapes are escaped again in the statement's text.
func TestFittingOf_LeavesRoomForDoubleEscapes(t *testing.T) {
	t.Parallel()
	d := &DB{server: &connector{}}
	d.server.packet.Store(1 << 20)
	for _, text := range []string{"a", `"`, `\`, "\x01", "<", "\xff", "é", "\u2028"} {
		row := strings.Repeat(text, 1024/len(text))
		n := d.FittingOf(5000, func(int) int { return len(row) })
		list := appendText(nil, row)
		escaped := len(list) + bytes.Count(list, []byte(`\`)) + bytes.Count(list, []byte(`"`)) // as the driver does
		require.Less(t, n*escaped, 1<<20, "%q", text)
		require.Greater(t, n*escaped, 1<<17-2*escaped, "%q: not far fewer than fit", text)
	}
}
