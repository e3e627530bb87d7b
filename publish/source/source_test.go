package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish/format"
)

// rowsOf are rows that were read, as copies. A null is nil.
type rowsOf [][]*string

// reading reads files as one table.
type reading struct {
	*Rows
	columns []format.Column
	begun   int
	rows    rowsOf
}

func newReading(columns ...Column) *reading { return &reading{Rows: NewRows(columns)} }

func (r *reading) file(ctx context.Context, name string, data []byte) error {
	return r.Read(ctx, name, bytes.NewReader(data), int64(len(data)),
		func(columns []format.Column) error {
			r.columns = columns
			r.begun++
			return nil
		},
		func(row [][]byte) error {
			kept := make([]*string, len(row))
			for i, v := range row {
				if v != nil {
					kept[i] = new(string(v))
				}
			}
			r.rows = append(r.rows, kept)
			return nil
		})
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", path))
	require.NoError(t, err)
	return data
}

// written returns a Parquet file, as package format writes it.
func written(t *testing.T, columns []format.Column, rows ...[]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := format.New(&b, columns, format.Options{Format: "parquet"})
	require.NoError(t, err)
	for _, row := range rows {
		cells := make([][]byte, len(row))
		for i, v := range row {
			if v != "null" {
				cells[i] = []byte(v)
			}
		}
		require.NoError(t, w.Write(cells))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// texts returns the rows with "null" for a null.
func (r rowsOf) texts() (all [][]string) {
	for _, row := range r {
		texts := make([]string, len(row))
		for i, v := range row {
			if texts[i] = "null"; v != nil {
				texts[i] = *v
			}
		}
		all = append(all, texts)
	}
	return all
}

var typeNames = map[string]format.Type{
	"text": format.Text, "integer": format.Integer, "decimal": format.Decimal, "float": format.Float,
	"bool": format.Bool, "day": format.Day, "time": format.Time,
}

// expected reads a .json file of columns and rows.
func expected(t *testing.T, path string) (columns []format.Column, rows rowsOf) {
	t.Helper()
	var want struct {
		Columns []struct {
			Name, Type string
			Scale      int
		}
		Rows rowsOf
	}
	require.NoError(t, json.Unmarshal(readFile(t, path), &want))
	for _, c := range want.Columns {
		columns = append(columns, format.Column{Name: c.Name, Type: typeNames[c.Type], Scale: c.Scale})
	}
	return columns, want.Rows
}

func TestRead_TheTypesOfParquet(t *testing.T) {
	t.Parallel()
	columns, rows := expected(t, "types.json")
	files, err := filepath.Glob("testdata/types.*.parquet")
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, path := range files {
		r := newReading()
		require.NoError(t, r.file(t.Context(), path, readFile(t, filepath.Base(path))))
		require.Equal(t, columns, r.columns, path)
		require.Equal(t, rows.texts(), r.rows.texts(), path)
	}
}

func TestRead_Int96(t *testing.T) {
	t.Parallel()
	r := newReading()
	require.NoError(t, r.file(t.Context(), "a", readFile(t, "int96.parquet")))
	require.Equal(t, []format.Column{{Name: "at", Type: format.Time}}, r.columns)
	require.Equal(t, [][]string{{"2026-11-29 02:03:04"}, {"null"}, {"1960-02-29 23:59:59.999999"}}, r.rows.texts())
}

func TestRead_RowGroupsAndPages(t *testing.T) {
	t.Parallel()
	r := newReading(Column{Name: "text"}, Column{Name: "none"}, Column{Name: "word"}, Column{Name: "n"})
	require.NoError(t, r.file(t.Context(), "a", readFile(t, "pages.parquet")))
	require.Len(t, r.rows, 1000)
	for n, row := range r.rows.texts() {
		word := "word " + strconv.Itoa(n%7)
		if n%5 == 0 {
			word = "null"
		}
		require.Equal(t, []string{"text " + strconv.Itoa(n), "null", word, strconv.Itoa(n)}, row)
	}
	r = newReading()
	require.NoError(t, r.file(t.Context(), "a", readFile(t, "empty.parquet")))
	require.Len(t, r.columns, 4)
	require.Empty(t, r.rows)
}

// sampleColumns has a column of each type.
var sampleColumns = []format.Column{
	{Name: "text"}, {Name: "n", Type: format.Integer}, {Name: "cost", Type: format.Decimal, Scale: 8},
	{Name: "rate", Type: format.Float}, {Name: "on", Type: format.Bool}, {Name: "day", Type: format.Day},
	{Name: "at", Type: format.Time},
}

var sampleRows = [][]string{
	{"a", "-9223372036854775808", "-123456789012345678901234567890.12345678", "1.5e-07", "1", "1899-12-31",
		"0001-01-01 23:59:59.999999"},
	{"null", "null", "null", "null", "null", "null", "null"},
	{"", "0", "0.00000000", "0", "0", "9999-12-31", "1969-12-31 23:59:59.5"},
}

func TestRead_WhatPackageFormatWrites(t *testing.T) {
	t.Parallel()
	r := newReading()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, r.file(t.Context(), name, written(t, sampleColumns, sampleRows...)))
	}
	require.Equal(t, sampleColumns, r.columns)
	require.Equal(t, 1, r.begun)
	require.Equal(t, append(sampleRows[:3:3], sampleRows...), r.rows.texts())
}

func TestRead_ORCWithSelectedAndRenamedColumns(t *testing.T) {
	t.Parallel()
	const path = "../../orc/testdata/types"
	columns, rows := expected(t, path+".json")
	all := newReading()
	require.NoError(t, all.file(t.Context(), "a", readFile(t, path+".zlib.orc")))
	require.Equal(t, columns, all.columns)
	require.Equal(t, rows.texts(), all.rows.texts())

	r := newReading(Column{Name: columns[7].Name, As: "eighth"}, Column{Name: columns[0].Name},
		Column{Name: columns[7].Name})
	require.NoError(t, r.file(t.Context(), "a", readFile(t, path+".snappy.orc")))
	renamed := columns[7]
	renamed.Name = "eighth"
	require.Equal(t, []format.Column{renamed, columns[0], columns[7]}, r.columns)
	for i, row := range rows.texts() {
		require.Equal(t, []string{row[7], row[0], row[7]}, r.rows.texts()[i])
	}
}

func TestRead_FilesOfBothFormatsAndOtherOrdersOfColumns(t *testing.T) {
	t.Parallel()
	r := newReading(Column{Name: "i", As: "n"})
	for _, columns := range [][]format.Column{
		{{Name: "i", Type: format.Integer}, {Name: "s"}},
		{{Name: "s"}, {Name: "i", Type: format.Integer}},
	} {
		row := []string{"5", "5"}
		require.NoError(t, r.file(t.Context(), "a", written(t, columns, row)))
	}
	require.Equal(t, []format.Column{{Name: "n", Type: format.Integer}}, r.columns)
	require.Equal(t, [][]string{{"5"}, {"5"}}, r.rows.texts())

	const orcPath = "../../orc/testdata/days.orc"
	one := newReading()
	require.NoError(t, one.file(t.Context(), "a", readFile(t, orcPath)))
	two := newReading()
	require.NoError(t, two.file(t.Context(), "a", written(t, one.columns, one.rows.texts()...)))
	require.NoError(t, two.file(t.Context(), "b", readFile(t, orcPath)))
	require.Equal(t, append(one.rows.texts(), one.rows.texts()...), two.rows.texts())
}

func TestRead_RefusesColumnsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	number, text := format.Column{Name: "n", Type: format.Integer}, format.Column{Name: "s"}
	cost := func(scale int) format.Column { return format.Column{Name: "cost", Type: format.Decimal, Scale: scale} }
	of := func(columns ...format.Column) []byte { return written(t, columns) }
	refused := readFile(t, "refused.parquet")
	for _, c := range []struct {
		want    string
		columns []Column
		files   [][]byte
	}{
		{`the file a has no column "x": it has "n", "s"`, []Column{{Name: "x"}}, [][]byte{of(number, text)}},
		{`the file b has no column "s": it has "n"`, []Column{{Name: "s"}}, [][]byte{of(number, text), of(number)}},
		{`the file b has no column "s": it has "n", "cost"`, nil, [][]byte{of(number, text), of(number, cost(2))}},
		{`the file b has 2 columns, and the file a has 1`, nil, [][]byte{of(number), of(number, text)}},
		{`the file b has the column "n" as a text, and the file a has it as an integer: want one type`, nil,
			[][]byte{of(number), of(format.Column{Name: "n"})}},
		{`the file b has the column "cost" as a decimal with 4 digits after the point, and the file a has it as a decimal ` +
			`with 2 digits after the point`, []Column{{Name: "cost"}}, [][]byte{of(cost(2)), of(cost(4), text)}},
		{`the file a has the column "list" as a group of columns, a list or a map: want a number`, nil, [][]byte{refused}},
		{`"struct" as a group`, []Column{{Name: "struct"}}, [][]byte{refused}},
		{`"map" as a group`, []Column{{Name: "id"}, {Name: "map"}}, [][]byte{refused}},
		{`"binary" as BYTE_ARRAY without the type`, []Column{{Name: "binary"}}, [][]byte{refused}},
		{`"time" as TIME(`, []Column{{Name: "time"}}, [][]byte{refused}},
		{`"long" as a decimal(50, 0)`, []Column{{Name: "long"}}, [][]byte{refused}},
	} {
		r := newReading(c.columns...)
		var err error
		for i, file := range c.files {
			require.NoError(t, err)
			err = r.file(t.Context(), string(rune('a'+i)), file)
		}
		var refusal *RefusalError
		require.ErrorAs(t, err, &refusal)
		require.ErrorContains(t, err, c.want)
	}
	r := newReading(Column{Name: "last"}, Column{Name: "id"})
	require.NoError(t, r.file(t.Context(), "a", refused), "columns that are not selected may have any type")
	require.Equal(t, [][]string{{"end", "7"}}, r.rows.texts())
}

func TestRead_RefusesValues(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"nan": "want a finite number", "nanos": "want whole microseconds", "far": "want a year from 1 to 9999",
		"far_day": "want a year from 1 to 9999", "latin1": "the text is not UTF-8",
	} {
		r := newReading(Column{Name: name})
		err := r.file(t.Context(), "part-7", readFile(t, "values.parquet"))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `the file part-7: read the column "`+name+`" of the row 2`)
		require.Len(t, r.rows, 1)
	}
}

func TestRead_EndsWithTheCallerOrItsContext(t *testing.T) {
	t.Parallel()
	wrong := errors.New("no space")
	data := readFile(t, "pages.parquet")
	rows := 0
	err := NewRows(nil).Read(t.Context(), "a", bytes.NewReader(data), int64(len(data)),
		func([]format.Column) error { return nil },
		func([][]byte) error {
			if rows++; rows == 400 {
				return wrong
			}
			return nil
		})
	require.ErrorIs(t, err, wrong)
	require.Equal(t, 400, rows)
	require.ErrorIs(t, NewRows(nil).Read(t.Context(), "a", bytes.NewReader(data), int64(len(data)),
		func([]format.Column) error { return wrong }, nil), wrong)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, newReading().file(ctx, "a", data), context.Canceled)
}

func TestRead_RefusesPagesThatNeedTooMuchMemory(t *testing.T) {
	t.Parallel()
	data := readFile(t, "pages.parquet")
	p, err := openParquet(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	most, err := p.largest(&p.file.Metadata().RowGroups[0].Columns[2].MetaData)
	require.NoError(t, err)
	require.Greater(t, most, int64(256))
	require.Less(t, most, int64(40_000), "one page of 300 short texts and a dictionary")
	p.most = most
	require.NoError(t, p.fits(0, []int{2}))
	require.ErrorIs(t, p.fits(0, []int{2, 0}), errPages)
	p.most--
	require.ErrorIs(t, p.fits(0, []int{2}), errPages)
	require.ErrorContains(t, p.read(t.Context(), []int{2}, nil), "row group 1")
}

func TestRead_DamagedFilesAreErrors(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "P", "PAR1", "PAR1PAR1PAR1", "PAR1\xff\xff\xff\x7fPAR1", "ORC", "a,b\n1,2\n"} {
		err := newReading().file(t.Context(), "a", []byte(data))
		require.ErrorContains(t, err, "the file a: ", data)
	}
	require.ErrorContains(t, newReading().file(t.Context(), "a", []byte("a,b\n")),
		`it begins with "a,b\n": want a Parquet or an ORC file`)
	whole := readFile(t, "types.zstd.v2.parquet")
	require.ErrorContains(t, newReading().file(t.Context(), "a", whole[:len(whole)-10]), "a file that is not complete")
	columns, rows := expected(t, "types.json")
	for at := 4; at < len(whole)-8; at += 13 {
		data := bytes.Clone(whole)
		data[at] ^= 0x55
		r := newReading()
		// Some changes are not noticed, because the file has no checksums. None may end the program.
		if err := r.file(t.Context(), "a", data); err == nil && len(r.columns) == len(columns) {
			require.LessOrEqual(t, len(r.rows), len(rows))
		} else if err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
	}
}
