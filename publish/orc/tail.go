package orc

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// The limits of a file's metadata.
const (
	postscriptMax = 255      // bytes, which the format gives
	footerMax     = 16 << 20 // bytes of a footer after decompression
	blockMax      = 1 << 23  // bytes of a compression block, which the format gives
	typesMax      = 1 << 14
	stripesMax    = 1 << 17
)

const magic = "ORC"

// Numbers of the format for the writer and the calendar of a file.
const (
	writerJava        = 0
	calendarProleptic = 2
)

// postscript is the end of a file. It has the sizes of what is before it.
type postscript struct {
	size        int64 // its own, with the byte that has its length
	footer      uint64
	compression compression
	block       uint64
	version     []uint64
	metadata    uint64
	statistics  uint64
	magic       string
}

// stripe is a part of the file with some of its rows.
type stripe struct {
	offset int64
	index  int64 // bytes of the index, which comes first
	data   int64 // bytes of the values
	footer int64
	rows   int64
}

// footer describes the whole file.
type footer struct {
	rows      uint64
	stripes   []rawStripe
	types     []schemaType
	root      root
	writer    uint64
	calendar  uint64
	encrypted bool
}

// rawStripe is a stripe whose numbers have not been checked.
type rawStripe struct{ offset, index, data, footer, rows uint64 }

func open(r io.ReaderAt, size int64, memory int) (*File, error) {
	p, err := readPostscript(r, size)
	if err != nil {
		return nil, err
	}
	body, err := p.check(size)
	if err != nil {
		return nil, err
	}
	f := &File{r: r, kind: p.compression, memory: memory}
	if f.kind != none {
		f.block = int(p.block) //nolint:gosec // check bounds it.
	}
	src, err := newSource(r, f.kind, f.block, memory)
	if err != nil {
		return nil, err
	}
	end := size - p.size
	tail := stream{src: src, at: end - int64(p.footer), end: end} //nolint:gosec // check bounds it.
	message, err := tail.all(footerMax)
	if err != nil {
		return nil, fmt.Errorf("read the footer: %w", err)
	}
	parsed, err := parseFooter(message)
	if err != nil {
		return nil, fmt.Errorf("parse the footer: %w", err)
	}
	if parsed.encrypted {
		return nil, errors.New("the file has encrypted columns: want a file without encryption")
	}
	f.types = len(parsed.types)
	f.hybrid = parsed.writer == writerJava && parsed.calendar != calendarProleptic
	if f.columns, err = columnsOf(parsed); err != nil {
		return nil, err
	}
	if f.stripes, f.rows, err = checkStripes(parsed, body); err != nil {
		return nil, err
	}
	return f, nil
}

func readPostscript(r io.ReaderAt, size int64) (postscript, error) {
	if size < 2*int64(len(magic)) {
		return postscript{}, fmt.Errorf("it has %d bytes: want an ORC file", size)
	}
	head := make([]byte, len(magic))
	if err := readAt(r, head, 0); err != nil {
		return postscript{}, fmt.Errorf("read the head: %w", err)
	}
	if string(head) != magic {
		return postscript{}, fmt.Errorf("it begins with %q: want an ORC file, which begins with %q", head, magic)
	}
	tail := make([]byte, min(size, postscriptMax+1))
	if err := readAt(r, tail, size-int64(len(tail))); err != nil {
		return postscript{}, fmt.Errorf("read the postscript: %w", err)
	}
	last := len(tail) - 1
	length := int(tail[last])
	if length > last {
		return postscript{}, fmt.Errorf("the postscript has %d bytes, and the file has %d", length, size)
	}
	p := postscript{size: int64(length) + 1}
	err := eachField(tail[last-length:last], func(v field) (err error) {
		switch v.id {
		case 1:
			p.footer = v.number
		case 2:
			p.compression = compression(v.number)
		case 3:
			p.block = v.number
		case 4:
			p.version, err = appendNumbers(p.version, v)
		case 5:
			p.metadata = v.number
		case 8:
			p.statistics = v.number
		case 8000:
			p.magic = string(v.bytes)
		}
		return err
	})
	if err != nil {
		return postscript{}, fmt.Errorf("parse the postscript: %w", err)
	}
	return p, nil
}

// check returns an error if the file cannot be read, and otherwise the number of bytes before the file's metadata.
func (p postscript) check(size int64) (body int64, err error) {
	if p.magic != "" && p.magic != magic { // Hive 0.11 writes none.
		return 0, fmt.Errorf("the postscript ends with %q: want %q", p.magic, magic)
	}
	if len(p.version) > 0 && p.version[0] != 0 {
		return 0, fmt.Errorf("the version of the format is %v: want 0.11 or 0.12", p.version)
	}
	if err := p.compression.check(); err != nil {
		return 0, err
	}
	if p.compression != none && (p.block == 0 || p.block > blockMax) {
		return 0, fmt.Errorf("the compression block has %d bytes: want 1 to %d", p.block, blockMax)
	}
	body = size - p.size
	for _, n := range []uint64{p.footer, p.metadata, p.statistics} {
		if n > math.MaxInt64 || int64(n) > body {
			return 0, fmt.Errorf("the tail has %d bytes of footer, %d of metadata and %d of statistics, and the file has %d",
				p.footer, p.metadata, p.statistics, size)
		}
		body -= int64(n)
	}
	return body, nil
}

func parseFooter(message []byte) (footer, error) {
	var f footer
	err := eachField(message, func(v field) error {
		switch v.id {
		case 3:
			if len(f.stripes) == stripesMax {
				return fmt.Errorf("more than %d stripes", stripesMax)
			}
			s, err := parseStripe(v.bytes)
			if err != nil {
				return fmt.Errorf("parse the stripe %d: %w", len(f.stripes)+1, err)
			}
			f.stripes = append(f.stripes, s)
		case 4:
			if len(f.types) == typesMax {
				return fmt.Errorf("more than %d types", typesMax)
			}
			var names *root
			if len(f.types) == 0 {
				names = &f.root
			}
			t, err := parseType(v.bytes, names)
			if err != nil {
				return fmt.Errorf("parse the type %d: %w", len(f.types), err)
			}
			f.types = append(f.types, t)
		case 6:
			f.rows = v.number
		case 9:
			f.writer = v.number
		case 10:
			f.encrypted = true
		case 11:
			f.calendar = v.number
		}
		return nil
	})
	return f, err
}

func parseStripe(message []byte) (s rawStripe, err error) {
	err = eachField(message, func(v field) error {
		switch v.id {
		case 1:
			s.offset = v.number
		case 2:
			s.index = v.number
		case 3:
			s.data = v.number
		case 4:
			s.footer = v.number
		case 5:
			s.rows = v.number
		}
		return nil
	})
	return s, err
}

// checkStripes returns the stripes and the number of rows of a file that has body bytes before its metadata.
func checkStripes(f footer, body int64) ([]stripe, int64, error) {
	stripes := make([]stripe, len(f.stripes))
	var rows int64
	for i, raw := range f.stripes {
		free := body
		for _, n := range []uint64{raw.offset, raw.index, raw.data, raw.footer} {
			if n > math.MaxInt64 || int64(n) > free {
				return nil, 0, fmt.Errorf("the stripe %d has %d, %d and %d bytes at %d, and ends after %d", i+1,
					raw.index, raw.data, raw.footer, raw.offset, body)
			}
			free -= int64(n)
		}
		if raw.rows > math.MaxInt64 || int64(raw.rows) > math.MaxInt64-rows {
			return nil, 0, fmt.Errorf("the stripe %d has %d rows, and there are %d before it", i+1, raw.rows, rows)
		}
		//nolint:gosec // They are at most body and the largest int64.
		stripes[i] = stripe{
			offset: int64(raw.offset), index: int64(raw.index), data: int64(raw.data),
			footer: int64(raw.footer), rows: int64(raw.rows),
		}
		rows += stripes[i].rows
	}
	if f.rows > math.MaxInt64 || int64(f.rows) != rows {
		return nil, 0, fmt.Errorf("the stripes have %d rows, and the footer has %d", rows, f.rows)
	}
	return stripes, rows, nil
}
