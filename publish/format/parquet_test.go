package format

import (
	"bytes"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func openParquet(t require.TestingT, file []byte) *parquet.File {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	return f
}

// readParquet returns the rows of a file, in canonical text.
func readParquet(t require.TestingT, file []byte, columns []Column) (all [][][]byte) {
	for _, group := range openParquet(t, file).RowGroups() {
		rows := group.Rows()
		buf := make([]parquet.Row, 16)
		for {
			n, err := rows.ReadRows(buf)
			for _, r := range buf[:n] {
				require.Len(t, r, len(columns))
				cells := make([][]byte, len(r))
				for i, v := range r {
					require.Equal(t, i, v.Column())
					cells[i] = canonical(v, columns[i])
				}
				all = append(all, cells)
			}
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
		}
		require.NoError(t, rows.Close())
	}
	return all
}

// canonical returns the text of a value, or nil for a null.
func canonical(v parquet.Value, c Column) []byte {
	if v.IsNull() {
		return nil
	}
	switch c.Type {
	case Integer:
		return strconv.AppendInt(nil, v.Int64(), 10)
	case Decimal:
		n := new(big.Int).SetBytes(v.ByteArray())
		if n.Bit(8*decimalBytes-1) == 1 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 8*decimalBytes))
		}
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Scale)), nil)
		return []byte(new(big.Rat).SetFrac(n, scale).FloatString(c.Scale))
	case Float:
		return strconv.AppendFloat(nil, v.Double(), 'g', -1, 64)
	case Bool:
		if v.Boolean() {
			return []byte("1")
		}
		return []byte("0")
	case Day:
		return time.Unix(0, 0).UTC().AddDate(0, 0, int(v.Int32())).AppendFormat(nil, time.DateOnly)
	case Time:
		return time.UnixMicro(v.Int64()).UTC().AppendFormat(nil, "2006-01-02 15:04:05.999999")
	case Text:
	}
	return append([]byte{}, v.ByteArray()...)
}

func TestParquet_ReadsBackTheSample(t *testing.T) {
	t.Parallel()
	require.Equal(t, sampleRows, readParquet(t, sampleFiles(t)[".parquet"], allTypes))
	require.Empty(t, readParquet(t, write(t, allTypes, Options{Format: "parquet"}), allTypes))
}

func TestParquet_ReadsBackEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(drawRow), 1, 20).Draw(t, "rows")
		got := readParquet(t, write(t, allTypes, Options{Format: "parquet"}, rows...), allTypes)
		for _, r := range rows { // Parquet's integers have no negative zero.
			for _, i := range []int{1, 2} {
				if text := string(r[i]); strings.HasPrefix(text, "-") && strings.Trim(text, "-0.") == "" {
					r[i] = r[i][1:]
				}
			}
		}
		require.Equal(t, rows, got)
	})
}

func TestParquet_Decimals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.IntRange(0, scaleMax).Draw(t, "scale")
		text := drawDecimal(t, scale)
		cut := strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		if scale == 0 || strings.Trim(text, "-0.") == "" {
			cut = text
		}
		columns := []Column{{Name: "a", Type: Decimal, Scale: scale}}
		got := readParquet(t, write(t, columns, Options{Format: "parquet"}, row(text), row(cut)), columns)
		want, ok := new(big.Rat).SetString(text)
		require.True(t, ok)
		require.Equal(t, [][][]byte{row(want.FloatString(scale)), row(want.FloatString(scale))}, got)
	})
}

func TestParquet_Schema(t *testing.T) {
	t.Parallel()
	require.Equal(t, `message report {
	optional binary campaign (STRING);
	optional int64 clicks (INT(64,true));
	optional fixed_len_byte_array(16) cost (DECIMAL(38,2));
	optional double rate;
	optional boolean active;
	optional int32 day (DATE);
	optional int64 seen (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
}`, openParquet(t, write(t, allTypes, Options{Format: "parquet"})).Schema().String())
}

func TestParquet_TheNamesOfColumnsAreFree(t *testing.T) {
	t.Parallel()
	columns := []Column{{Name: "z"}, {Name: "a,b.c \"d\""}, {Name: "日"}, {Name: "Z", Type: Decimal}}
	file := write(t, columns, Options{Format: "parquet"}, row("1", "2", "3", "4"))
	var names []string
	for _, path := range openParquet(t, file).Metadata().Schema[1:] {
		names = append(names, path.Name)
	}
	require.Equal(t, []string{"z", `a,b.c "d"`, "日", "Z"}, names)
	require.Equal(t, [][][]byte{row("1", "2", "3", "4")}, readParquet(t, file, columns))
}

func TestParquet_RefusesWhatItsTypesDoNotHold(t *testing.T) {
	t.Parallel()
	columns := []Column{{Name: "n", Type: Integer}, {Name: "d", Type: Decimal, Scale: 8}, {Name: "f", Type: Float}}
	digits := strings.Repeat("9", 30)
	good := row("9223372036854775807", "-"+digits+".99999999", "1e308")
	for _, c := range []struct {
		bad  [][]byte
		want string
	}{
		{row("9223372036854775808", "0", "0"),
			`column "n": "9223372036854775808" is refused: want an int64, as Parquet's integers are`},
		{row("0", "1"+digits, "0"), `column "d": "1` + digits +
			`" is refused: want at most 38 digits, of which a Parquet column keeps 8 after the point`},
		{row("0", "0", "1e309"), `column "f": "1e309" is refused: want a number that a double holds`},
	} {
		w, err := New(io.Discard, columns, Options{Format: "parquet"})
		require.NoError(t, err)
		require.NoError(t, w.Write(good))
		require.EqualError(t, w.Write(c.bad), "row 2, "+c.want)
	}
	require.Equal(t, [][][]byte{good[:2]},
		readParquet(t, write(t, columns[:2], Options{Format: "parquet"}, good[:2]), columns[:2]))
}

// The library's bounds of negative decimals are wrong, so there must be none that a reader could skip rows by.
func TestParquet_DecimalsHaveNoWrongBounds(t *testing.T) {
	t.Parallel()
	columns := []Column{{Name: "d", Type: Decimal, Scale: 2}, {Name: "n", Type: Integer}}
	file := openParquet(t, write(t, columns, Options{Format: "parquet"},
		row("-1.00", "-1"), row("2.00", "2"), row(null, null)))
	chunks := file.Metadata().RowGroups[0].Columns
	require.Empty(t, chunks[0].MetaData.Statistics.MinValue)
	require.Empty(t, chunks[0].MetaData.Statistics.MaxValue)
	require.EqualValues(t, 1, chunks[0].MetaData.Statistics.NullCount)
	require.NotEmpty(t, chunks[1].MetaData.Statistics.MinValue)
	index := file.ColumnIndexes()[0]
	require.Equal(t, []bool{false}, []bool(index.NullPages))
	require.Equal(t, []int64{1}, []int64(index.NullCounts))
	nines := strings.Repeat("9", decimalDigits)
	for text, bound := range map[string][]byte{"-" + nines: index.MinValues[0], nines: index.MaxValues[0]} {
		require.Equal(t, text, string(canonical(parquet.FixedLenByteArrayValue(bound), Column{Type: Decimal})))
	}
	file = openParquet(t, write(t, columns, Options{Format: "parquet"}, row(null, "1")))
	index = file.ColumnIndexes()[0]
	require.Equal(t, []bool{true}, []bool(index.NullPages))
	require.Equal(t, [][]byte{{}}, [][]byte(index.MinValues), "a page of nulls has no bounds")
	require.Equal(t, [][]byte{{}}, [][]byte(index.MaxValues))
}

func TestParquet_RowGroupsAreBounded(t *testing.T) {
	t.Parallel()
	columns := []Column{{Name: "a"}, {Name: "n", Type: Integer}}
	var want [][][]byte
	for i := range 9 {
		want = append(want, row(strings.Repeat(strconv.Itoa(i), groupBytesMax/4), strconv.Itoa(i)))
	}
	file := write(t, columns, Options{Format: "parquet"}, want...)
	var sizes []int64
	for _, group := range openParquet(t, file).RowGroups() {
		sizes = append(sizes, group.NumRows())
	}
	require.Equal(t, []int64{4, 4, 1}, sizes)
	for i, r := range readParquet(t, file, columns) {
		require.True(t, bytes.Equal(want[i][0], r[0]), "row %d", i+1)
	}
}

func TestParquet_IsMadeByTheSameName(t *testing.T) {
	t.Parallel()
	metadata := openParquet(t, sampleFiles(t)[".parquet"]).Metadata()
	require.Equal(t, "adsync version 1.0.0(build 1)", metadata.CreatedBy)
	for _, column := range metadata.RowGroups[0].Columns {
		require.Equal(t, "ZSTD", fmt.Sprint(column.MetaData.Codec))
	}
}
