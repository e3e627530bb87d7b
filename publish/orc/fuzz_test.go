package orc

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"adsync/publish/format"
)

var errEnough = errors.New("enough rows were read")

// FuzzRead reads files of any bytes.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.orc")
	require.NoError(f, err)
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
	}
	for _, kind := range []typeKind{kindByte, kindInt, kindDouble, kindString, kindDecimal, kindDate, kindTimestamp} {
		f.Add(builder{kind: kind, precision: 9, scale: 3, stripes: seven()}.file())
	}
	f.Fuzz(readHostile)
}

// FuzzValues reads a column of any kind and encoding from any streams.
func FuzzValues(f *testing.F) {
	run := []byte{0x00, 0x00, 0x0e, 0x0a, 0x27, 0x10}
	for kind := range kindInstant + 1 {
		for encoding := range byte(4) {
			f.Add(byte(kind), encoding, byte(none), []byte{0xfe, 0xaa, 0x55}, run, run, []byte("California"))
			f.Add(byte(kind), encoding, byte(none), []byte(nil), []byte("\xc6\x09\x02\x02\x22\x42\x42\x46"), run, run)
		}
	}
	for kind, compress := range compressors {
		f.Add(byte(kindString), byte(0), byte(kind), []byte(nil), chunk(compress([]byte("Florida and Nevada")), false),
			chunk(compress(run), false), []byte(nil))
	}
	f.Fuzz(func(t *testing.T, kind, encoding, compressed byte, present, data, lengths, dictionary []byte) {
		streams := []builtStream{
			chunkOf(streamData, data...), chunkOf(streamLength, lengths...), chunkOf(streamSecondary, lengths...),
			chunkOf(streamDictionary, dictionary...),
		}
		if len(present) > 0 {
			streams = append(streams, chunkOf(streamPresent, present...))
		}
		b := builder{kind: typeKind(kind), precision: 9, scale: 3, compressed: compression(compressed), block: 1 << 12}
		b.stripes = []builtStripe{stripeOf(1000, numbers(1, uint64(encoding), 2, uint64(len(dictionary))), streams...)}
		readHostile(t, b.file())
	})
}

// readHostile reads a file of any bytes. A file that opens gives rows of its columns, or an error.
func readHostile(t *testing.T, data []byte) {
	t.Helper()
	// A small bound finds what is allocated without being counted.
	const memory = 1 << 20
	file, err := open(bytes.NewReader(data), int64(len(data)), memory)
	if err != nil {
		require.Nil(t, file)
		return
	}
	columns := file.Columns()
	var n int64
	err = file.Read(t.Context(), nil, func(row [][]byte) error {
		require.Len(t, row, len(columns))
		for i, value := range row {
			require.True(t, utf8.Valid(value) && (value == nil || canonical[columns[i].Type].Match(value)),
				"%s is not a %v", value, columns[i])
		}
		if n++; n == 10_000 {
			return errEnough
		}
		return nil
	})
	if err == nil {
		require.Equal(t, file.Rows(), n)
	}
}

// canonical are the texts of the types.
var canonical = map[format.Type]*regexp.Regexp{
	format.Text:    regexp.MustCompile(`(?s)^.*$`),
	format.Integer: regexp.MustCompile(`^(0|-?[1-9]\d{0,18})$`),
	format.Decimal: regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d{1,30})?$`),
	format.Float:   regexp.MustCompile(`^-?\d+(\.\d+)?(e[+-]\d{2,3})?$`),
	format.Bool:    regexp.MustCompile(`^[01]$`),
	format.Day:     regexp.MustCompile(`^\d{4}-\d\d-\d\d$`),
	format.Time:    regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{0,5}[1-9])?$`),
}
