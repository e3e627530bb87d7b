package orc

import "google.golang.org/protobuf/encoding/protowire"

// builder makes files that no writer makes. They have one column, "x".
type builder struct {
	kind       typeKind
	precision  uint64
	scale      uint64
	writer     uint64
	calendar   uint64
	version    []byte // 0.12 if nil
	footer     []byte // more fields of the footer
	postscript []byte // more fields of the postscript
	compressed compression
	block      uint64
	stripes    []builtStripe
}

type builtStripe struct {
	rows     uint64
	streams  []builtStream
	encoding []byte
	zone     string
	footer   []byte // more fields of its footer
}

type builtStream struct {
	kind, column uint64
	data         []byte
}

// stripeOf returns a stripe of the column "x".
func stripeOf(rows uint64, encoding []byte, streams ...builtStream) builtStripe {
	return builtStripe{rows: rows, streams: streams, encoding: encoding}
}

// chunkOf returns a stream of the column "x".
func chunkOf(kind uint64, data ...byte) builtStream {
	return builtStream{kind: kind, column: 1, data: data}
}

// encodingOf returns an encoding of the column "x".
func encodingOf(kind encoding, entries uint64) []byte { return numbers(1, uint64(kind), 2, entries) }

// numbers returns a message of integers: pairs of a field and its value.
func numbers(pairs ...uint64) []byte {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		b = protowire.AppendTag(b, protowire.Number(pairs[i]), protowire.VarintType)
		b = protowire.AppendVarint(b, pairs[i+1])
	}
	return b
}

// message appends a field with bytes.
func message[T []byte | string](b []byte, id protowire.Number, field T) []byte {
	b = protowire.AppendTag(b, id, protowire.BytesType)
	return protowire.AppendBytes(b, []byte(field))
}

// original returns the data as a chunk of a compressed file that is not compressed itself.
func (b builder) original(data []byte) []byte {
	if b.compressed == none || len(data) == 0 {
		return data
	}
	return chunk(data, true)
}

// chunk returns the bytes with the head of a chunk.
func chunk(data []byte, original bool) []byte {
	head := len(data) << 1
	if original {
		head |= 1
	}
	return append([]byte{byte(head), byte(head >> 8), byte(head >> 16)}, data...)
}

// file returns the file. The data of the streams is written as it is.
func (b builder) file() []byte {
	out := []byte(magic)
	var footer []byte
	var rows uint64
	for _, s := range b.stripes {
		var tail []byte
		start := uint64(len(out))
		for _, stream := range s.streams {
			out = append(out, stream.data...)
			tail = message(tail, 1, numbers(1, stream.kind, 2, stream.column, 3, uint64(len(stream.data))))
		}
		data := uint64(len(out)) - start
		tail = message(message(tail, 2, numbers(1, 0)), 2, s.encoding)
		if s.zone != "" {
			tail = message(tail, 3, s.zone)
		}
		tail = b.original(append(tail, s.footer...))
		out = append(out, tail...)
		footer = message(footer, 3, numbers(1, start, 3, data, 4, uint64(len(tail)), 5, s.rows))
		rows += s.rows
	}
	footer = message(footer, 4, message(message(numbers(1, uint64(kindStruct)), 2, []byte{1}), 3, "x"))
	footer = message(footer, 4, numbers(1, uint64(b.kind), 5, b.precision, 6, b.scale))
	footer = append(footer, numbers(6, rows, 9, b.writer, 11, b.calendar)...)
	footer = b.original(append(footer, b.footer...))
	out = append(out, footer...)
	tail := numbers(1, uint64(len(footer)), 2, uint64(b.compressed), 3, b.block)
	version := b.version
	if version == nil {
		version = []byte{0, 12}
	}
	tail = append(message(message(tail, 4, version), 8000, magic), b.postscript...)
	return append(append(out, tail...), byte(len(tail)))
}
