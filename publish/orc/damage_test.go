package orc

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"math"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
)

// readBuilt returns the values of the column of a file, with NULL for a null.
func readBuilt(t *testing.T, b builder) ([]string, error) {
	t.Helper()
	data := b.file()
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	values := []string{}
	err = f.Read(t.Context(), nil, func(row [][]byte) error {
		if row[0] == nil {
			values = append(values, "NULL")
		} else {
			values = append(values, string(row[0]))
		}
		return nil
	})
	return values, err
}

// seven is a stripe whose three values are 7.
func seven() []builtStripe {
	return []builtStripe{stripeOf(3, encodingOf(direct, 0), chunkOf(streamData, 0x00, 0x00, 0x0e))}
}

func TestBuiltFiles(t *testing.T) {
	t.Parallel()
	one := encodingOf(direct, 0)
	for _, test := range []struct {
		name string
		file builder
		want []string
	}{
		{name: "the builder's file", file: builder{kind: kindLong, stripes: seven()}, want: []string{"7", "7", "7"}},
		{name: "a postscript without the magic", file: builder{
			kind: kindLong, stripes: seven(), postscript: message(nil, 8000, ""),
		}, want: []string{"7", "7", "7"}},
		{name: "unknown fields and other types of fields", file: builder{
			kind: kindLong, stripes: seven(),
			footer: append(message(message(nil, 12, "1.2"), 77, "?"), 77<<3&0x7f|5|0x80, 4, 1, 2, 3, 4),
		}, want: []string{"7", "7", "7"}},
		{name: "an index, and streams of kinds that are not known", file: builder{kind: kindLong, stripes: []builtStripe{
			stripeOf(1, one, chunkOf(6, 1, 2, 3), chunkOf(streamData, 0xff, 0x01), chunkOf(99, 4, 5)),
		}}, want: []string{"-1"}},
		{name: "stripes with different encodings, and one without rows", file: builder{
			kind: kindLong, stripes: append([]builtStripe{
				stripeOf(3, encodingOf(directV2, 0), chunkOf(streamData, 0x00, 0x01)), {},
			}, seven()...),
		}, want: []string{"-1", "-1", "-1", "7", "7", "7"}},
		{name: "only nulls and no values", file: builder{kind: kindLong, stripes: []builtStripe{
			stripeOf(2, one, chunkOf(streamPresent, 0xff, 0x00)),
		}}, want: []string{"NULL", "NULL"}},
		{name: "rows that could be null and are not", file: builder{kind: kindLong, stripes: []builtStripe{
			stripeOf(1, one, builtStream{kind: streamPresent, data: []byte{0xff, 0x80}}, chunkOf(streamData, 0xff, 0x02)),
		}}, want: []string{"1"}},
		{name: "empty texts of an empty dictionary", file: builder{kind: kindString, stripes: []builtStripe{
			stripeOf(4, encodingOf(dictionary, 1), chunkOf(streamData, 0x00, 0x00, 0x00),
				chunkOf(streamLength, 0xff, 0x00), chunkOf(streamPresent, 0xff, 0xe0)),
		}}, want: []string{"", "", "", "NULL"}},
		{name: "empty texts without data", file: builder{kind: kindString, stripes: []builtStripe{
			stripeOf(3, one, chunkOf(streamLength, 0x00, 0x00, 0x00)),
		}}, want: []string{"", "", ""}},
		{name: "decimals of other scales than the column's", file: builder{
			kind: kindDecimal, precision: 10, scale: 2, stripes: []builtStripe{
				// 5, -1.5, 12.3400, 0.000, 700 (as 7 with the scale -2), -0.07
				stripeOf(6, one, chunkOf(streamData, 0x0a, 0x1d, 0x90, 0x88, 0x0f, 0x00, 0x0e, 0x0d),
					chunkOf(streamSecondary, 0xfa, 0, 2, 8, 6, 3, 4)),
			},
		}, want: []string{"5.00", "-1.50", "12.34", "0.00", "700.00", "-0.07"}},
		{
			name: "a time without a zone of the writer is UTC", file: timesFile("", 0x00),
			want: []string{"2015-01-01 00:00:00"},
		},
		{name: "a zone that Java names", file: timesFile("GMT+08:00", 0x00), want: []string{"2015-01-01 00:00:00"}},
		{
			// It is 03:00:00.5 in UTC, so that the writer did not round the seconds.
			name: "a time that is before 1970 only in the writer's zone",
			file: timesAt("America/New_York", 3*60*60-1420088400, 0x2f), want: []string{"1969-12-31 22:00:00.5"},
		},
		{
			name: "a time before 1970, whose seconds the writer rounded up",
			file: timesAt("America/New_York", -1-1420088400, 0x2f), want: []string{"1969-12-31 18:59:58.5"},
		},
		{
			name: "a time before 1970 with less than a millisecond, whose seconds are not rounded",
			file: timesAt("UTC", -2-1420070400, 0x2b), want: []string{"1969-12-31 23:59:58.00005"},
		},
		{name: "trailing zeros", file: timesFile("UTC", 0x0a), want: []string{"2015-01-01 00:00:00.000001"}},
		{name: "Java's days since 1582-10-15", file: daysFile(writerJava, 0, -141427), want: []string{"1582-10-15"}},
		{name: "Java's days of the new calendar", file: daysFile(writerJava, 2, -141428), want: []string{"1582-10-14"}},
		{name: "the days of other writers", file: daysFile(1, 0, -719162), want: []string{"0001-01-01"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := readBuilt(t, test.file)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

// timesFile returns a file with the moment at which the year 2015 began in the writer's zone, and its nanoseconds.
func timesFile(zone string, nanos byte) builder { return timesAt(zone, 0, nanos) }

// timesAt returns a file with a moment: its seconds since the year 2015 began, and its nanoseconds as they are stored.
func timesAt(zone string, seconds int64, nanos byte) builder {
	s := stripeOf(1, encodingOf(direct, 0), chunkOf(streamData, append([]byte{0xff}, signedVarint(seconds)...)...),
		chunkOf(streamSecondary, 0xff, nanos))
	s.zone = zone
	return builder{kind: kindTimestamp, stripes: []builtStripe{s}}
}

func daysFile(writer, calendar uint64, day int64) builder {
	return builder{kind: kindDate, writer: writer, calendar: calendar, stripes: []builtStripe{
		stripeOf(1, encodingOf(direct, 0), chunkOf(streamData, append([]byte{0xff}, signedVarint(day)...)...)),
	}}
}

func signedVarint(v int64) []byte { return binary.AppendVarint(nil, v) }

func TestBuiltFiles_Refused(t *testing.T) {
	t.Parallel()
	one := encodingOf(direct, 0)
	integers := func(streams ...builtStream) builder {
		return builder{kind: kindLong, stripes: []builtStripe{stripeOf(1, one, streams...)}}
	}
	with := func(footer []byte) builder {
		s := seven()
		s[0].footer = footer
		return builder{kind: kindLong, stripes: s}
	}
	of := func(kind typeKind, encoding []byte, streams ...builtStream) builder {
		return builder{kind: kind, precision: 5, scale: 2, stripes: []builtStripe{stripeOf(1, encoding, streams...)}}
	}
	for _, test := range []struct {
		name string
		file builder
		want string
	}{
		{
			name: "encryption", file: builder{kind: kindLong, footer: message(nil, 10, "")},
			want: "want a file without encryption",
		},
		{name: "version", file: builder{kind: kindLong, version: []byte{1, 0}}, want: "format is [1 0]: want 0.11 or 0.12"},
		{name: "lzo", file: builder{kind: kindLong, compressed: lzoKind}, want: "compression lzo: want none, zlib, snappy"},
		{name: "compression", file: builder{kind: kindLong, compressed: 9}, want: "compression number 9: want 0 (none)"},
		{name: "no block", file: builder{kind: kindLong, compressed: zlibKind}, want: "has 0 bytes: want 1 to"},
		{
			name: "large block", file: builder{kind: kindLong, compressed: zlibKind, block: 1<<23 + 1},
			want: "has 8388609 bytes: want 1 to 8388608",
		},
		{
			name: "footer", file: builder{kind: kindLong, postscript: numbers(1, 1<<40)},
			want: "the tail has 1099511627776 bytes of footer",
		},
		{
			name: "metadata", file: builder{kind: kindLong, postscript: numbers(5, math.MaxUint64)},
			want: "18446744073709551615 of metadata",
		},
		{name: "statistics", file: builder{kind: kindLong, postscript: numbers(8, 1<<30)}, want: "of statistics"},
		{
			name: "rows", file: builder{kind: kindLong, footer: numbers(6, 8)},
			want: "the stripes have 0 rows, and the footer has 8",
		},
		{
			name: "rows of stripes", file: builder{kind: kindLong, stripes: []builtStripe{{rows: 1 << 62}, {rows: 1 << 62}}},
			want: "the stripe 2 has 4611686018427387904 rows",
		},
		{
			name: "place of a stripe", file: builder{kind: kindLong, footer: message(nil, 3, numbers(1, 3, 3, 1<<50))},
			want: "the stripe 1 has 0, 1125899906842624 and 0 bytes at 3",
		},
		{name: "kind", file: builder{kind: 33}, want: `column "x" is a type of the kind 33: want a number`},
		{name: "Hive's old decimal", file: builder{kind: kindDecimal}, want: "decimal(0, 0): want 1 to 38 digits"},
		{
			name: "encodings", file: with(message(nil, 2, "")),
			want: "begin the stripe 1 of the ORC file: parse its footer: more than 2 encodings of columns",
		},
		{
			name: "no encoding", file: builder{kind: kindLong, stripes: seven(), footer: message(nil, 4, numbers(1, 4))},
			want: "its footer has 2 encodings of columns: want 3",
		},
		{name: "damaged encoding", file: of(kindLong, []byte{0x08}), want: "parse an encoding: read the field 1: "},
		{name: "damaged stream", file: with(message(nil, 1, "\xff")), want: "parse a stream: read the tag of a field: "},
		{
			name: "long stream", file: with(message(nil, 1, numbers(1, 1, 2, 9, 3, 1))),
			want: "stream 1 of column 9 has 1 bytes, and there are 0",
		},
		{
			name: "damaged stripe", file: builder{kind: kindLong, stripes: seven(), footer: message(nil, 3, "\x08")},
			want: "parse the footer: parse the stripe 2: read the field 1: ",
		},
		{
			name: "damaged type", file: builder{kind: kindLong, footer: message(nil, 4, "\x08")},
			want: "parse the footer: parse the type 2: read the field 1: ",
		},
		{
			name: "types", file: builder{kind: kindLong, footer: bytes.Repeat(message(nil, 4, ""), typesMax)},
			want: "more than 16384 types",
		},
		{
			name: "stripes", file: builder{kind: kindLong, footer: bytes.Repeat(message(nil, 3, ""), stripesMax+1)},
			want: "more than 131072 stripes",
		},
		{
			name: "size of the footer", file: builder{kind: kindLong, footer: message(nil, 12, make([]byte, footerMax))},
			want: "read the footer: it has more than 16777216 bytes",
		},
		{name: "damaged postscript", file: builder{kind: kindLong, postscript: []byte{0x80}}, want: "parse the postscript: "},
		{
			name: "other magic", file: builder{kind: kindLong, postscript: message(nil, 8000, "CRO")},
			want: `the postscript ends with "CRO": want "ORC"`,
		},
		{
			name: "second stream", file: integers(chunkOf(streamData), chunkOf(streamData)),
			want: "stream 1 of column 1 is there twice",
		},
		{
			name: "null row", file: integers(builtStream{data: []byte{0xff, 0x00}}),
			want: "the row 1 of the ORC file: the whole row is null",
		},
		{
			name: "no values", file: integers(),
			want: `read the column "x" of the row 1 of the ORC file: the stream ends too early`,
		},
		{name: "no nulls", file: integers(chunkOf(streamPresent)), want: "the stream ends too early"},
		{
			name: "encoding of an integer", file: of(kindLong, encodingOf(dictionaryV2, 0)),
			want: "the encoding of a bigint is 3: want 0",
		},
		{
			name: "encoding of a float", file: of(kindFloat, encodingOf(directV2, 0)),
			want: "the encoding of a float is 2: want 0",
		},
		{
			name: "encoding of a text", file: of(kindString, encodingOf(4, 0)),
			want: "the encoding of a string is 4: want 0 to 3",
		},
		{
			name: "text", file: of(kindString, one, chunkOf(streamLength, 0xff, 0x01), chunkOf(streamData, 0xff)),
			want: `read the column "x" of the row 1 of the ORC file: the text is not UTF-8`,
		},
		{
			name: "text of a dictionary",
			file: of(kindVarchar, encodingOf(dictionary, 1), chunkOf(streamLength, 0xff, 0x01), chunkOf(streamDictionary, 0xff),
				chunkOf(streamData, 0xff, 0)),
			want: "the text is not UTF-8",
		},
		{
			name: "length of a text", file: of(kindString, one, chunkOf(streamLength, 0xff, 0x7f), chunkOf(streamData, 'a')),
			want: "the stream ends too early",
		},
		{
			name: "entry of a dictionary",
			file: of(kindChar, encodingOf(dictionary, 1), chunkOf(streamLength, 0xff, 0x01), chunkOf(streamDictionary, 'a'),
				chunkOf(streamData, 0xff, 1)),
			want: "it is the entry 1 of a dictionary of 1",
		},
		{
			name: "lengths of a dictionary", file: of(kindString, encodingOf(dictionary, 1<<31)),
			want: "begin the stripe 1 of the ORC file: column \"x\": read the lengths of its dictionary: the stream ends",
		},
		{
			name: "size of a dictionary",
			file: of(kindString, encodingOf(dictionaryV2, 512),
				chunkOf(streamLength, 0xc0|0x01, 0xff, 0x80, 0x80, 0x80, 0x08, 0x00)), // 512 times 16 MiB
			want: ErrMemory.Error(),
		},
		{
			name: "digits after the point",
			file: of(kindDecimal, one, chunkOf(streamData, 0x02), chunkOf(streamSecondary, 0xff, 6)),
			want: "it has 3 digits after the point: want 2, as the column has",
		},
		{
			name: "scale", file: of(kindDecimal, one, chunkOf(streamData, 0x02), chunkOf(streamSecondary, 0xff, 78)),
			want: "it has 39 digits after the point: want at most 38",
		},
		{
			name: "large decimal", file: of(kindDecimal, one, chunkOf(streamData, append(bytes.Repeat([]byte{0xff}, 18), 4)...)),
			want: "more than 128 bits",
		},
		{
			name: "zone", file: timesFile("Mars/Olympus", 0),
			want: `the writer's time zone is "Mars/Olympus": want a name`,
		},
		{name: "zone of the machine", file: timesFile("Local", 0), want: `is "Local": want a name`},
		{name: "path as a zone", file: timesFile("../UTC", 0), want: `is "../UTC": want a name`},
		{name: "nanoseconds", file: timesFile("UTC", 0x08), want: "it has 1 nanoseconds: want whole microseconds"},
		{
			name: "a second of nanoseconds", file: timesFile("UTC", 0x5f),
			want: "it has 1100000000 nanoseconds: want less than a second",
		},
		{
			name: "seconds", file: of(kindTimestamp, one, chunkOf(streamData, append([]byte{0xff}, signedVarint(1<<41)...)...),
				chunkOf(streamSecondary, 0xff, 0)),
			want: "it is 2199023255552 seconds after 2015-01-01: want a year from 1 to 9999",
		},
		{
			name: "year", file: of(kindTimestamp, one, chunkOf(streamData, append([]byte{0xff}, signedVarint(1<<39)...)...),
				chunkOf(streamSecondary, 0xff, 0)),
			want: "days after 1970-01-01: want a year from 1 to 9999",
		},
		{name: "Java's old days", file: daysFile(writerJava, 0, -141428), want: "it is before 1582-10-15 in a file that"},
		{name: "day", file: daysFile(1, 0, -719163), want: "it is -719163 days after 1970-01-01: want a year"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := readBuilt(t, test.file)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// compressors have the name of a compression and the function that compresses a chunk.
var compressors = map[compression]func([]byte) []byte{
	zlibKind: func(data []byte) []byte {
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, flate.BestCompression)
		_, _ = w.Write(data)
		_ = w.Close()
		return b.Bytes()
	},
	snappyKind: func(data []byte) []byte { return snappy.Encode(nil, data) },
	lz4Kind: func(data []byte) []byte {
		b := make([]byte, lz4.CompressBlockBound(len(data)))
		n, _ := lz4.CompressBlock(data, b, nil)
		return b[:n]
	},
	zstdKind: func(data []byte) []byte {
		w, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		return w.EncodeAll(data, nil)
	},
}

func TestChunks(t *testing.T) {
	t.Parallel()
	const block = 1000
	for kind, compress := range compressors {
		read := func(chunks ...[]byte) ([]string, error) {
			return readBuilt(t, builder{kind: kindLong, compressed: kind, block: block, stripes: []builtStripe{
				stripeOf(3, encodingOf(direct, 0), chunkOf(streamData, bytes.Join(chunks, nil)...)),
			}})
		}
		run := []byte{0x00, 0x00, 0x0e}
		sevens := []string{"7", "7", "7"}

		got, err := read(chunk(compress(run), false))
		require.NoError(t, err)
		require.Equal(t, sevens, got)
		got, err = read(chunk(run[:1], true), chunk(nil, true), chunk(compress(run[1:]), false))
		require.NoError(t, err)
		require.Equal(t, sevens, got, "a run may be in several chunks")
		got, err = read(chunk(compress(append(run, make([]byte, block-len(run))...)), false))
		require.NoError(t, err)
		require.Equal(t, sevens, got)

		_, err = read(chunk(compress(make([]byte, block+1)), false))
		require.ErrorIs(t, err, errChunk, kind)
		_, err = read(chunk(compress(make([]byte, 1<<20)), false))
		require.ErrorIs(t, err, errChunk, kind)
		_, err = read(chunk(make([]byte, block+1), true))
		require.ErrorIs(t, err, errChunk, kind)
		_, err = read(chunk(compress(make([]byte, block))[:5], false))
		require.ErrorContains(t, err, "decompress the chunk at 3: ", kind)
		_, err = read(chunk(run, true)[:5])
		require.ErrorContains(t, err, "the chunk at 3 is cut off", kind)
		_, err = read(chunk(run, true)[:2])
		require.ErrorContains(t, err, "the chunk at 3 is cut off", kind)
	}
}
