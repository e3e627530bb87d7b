package backup

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
)

// errDamaged means that a file is no whole backup.
var errDamaged = errors.New("it is damaged or incomplete: fetch it from the destination again, or take an older one")

// reader reads the lines of a backup.
type reader struct {
	lines *bufio.Reader
	hash  hash.Hash
	rows  map[string]int64 // read so far, by table
	table *tableHeader     // whose rows follow
	Head  Head
}

// newReader reads the head.
func newReader(from io.Reader) (*reader, error) {
	zip, err := gzip.NewReader(from)
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("it is no backup: want a file adsync-….ndjson.gz of the task system.backup")
	}
	if err != nil {
		return nil, err
	}
	r := &reader{lines: bufio.NewReaderSize(zip, 1<<16), hash: sha256.New(), rows: map[string]int64{}}
	text, err := r.next()
	if err != nil {
		return nil, err
	}
	_, _ = r.hash.Write(text)
	var first line
	if json.Unmarshal(text, &first) != nil || first.Head == nil {
		return nil, errors.New("it is no backup: its first line has no head")
	}
	r.Head = *first.Head
	if r.Head.Format != formatVersion {
		return nil, fmt.Errorf("its format is %d, and this program reads %d: restore it with adsync %s", r.Head.Format,
			formatVersion, r.Head.Program)
	}
	return r, nil
}

// next returns the next line.
func (r *reader) next() ([]byte, error) {
	text, err := r.lines.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errDamaged, err)
	}
	return text, nil
}

// each calls row for each row, until the tail, which it checks. The row is JSON, and valid until the next call.
func (r *reader) each(row func(table *tableHeader, text []byte) error) error {
	for {
		text, err := r.next()
		if err != nil {
			return err
		}
		switch {
		case text[0] != '[':
			var l line
			if json.Unmarshal(text, &l) != nil || l.Table == nil && l.Tail == nil {
				return errDamaged
			}
			if l.Tail != nil {
				return r.end(*l.Tail)
			}
			r.table = l.Table
			r.rows[r.table.Name] += 0
		case r.table == nil:
			return errDamaged
		default:
			r.rows[r.table.Name]++
			if err := row(r.table, text); err != nil {
				return err
			}
		}
		_, _ = r.hash.Write(text)
	}
}

// end checks what was read with the tail.
func (r *reader) end(tail Tail) error {
	if tail.SHA256 != hex.EncodeToString(r.hash.Sum(nil)) || !maps.Equal(tail.Rows, r.rows) {
		return errDamaged
	}
	if _, err := r.lines.ReadByte(); !errors.Is(err, io.EOF) {
		return errDamaged // Something follows, or the sum of gzip is wrong.
	}
	return nil
}

// values decodes a row.
func values(text []byte, width int) ([]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var row []any
	if err := decoder.Decode(&row); err != nil || len(row) != width {
		return nil, errDamaged
	}
	for i, value := range row {
		number, ok := value.(json.Number)
		if !ok {
			continue
		}
		if n, err := number.Int64(); err == nil {
			row[i] = n
		} else if row[i], err = number.Float64(); err != nil {
			return nil, errDamaged
		}
	}
	return row, nil
}
