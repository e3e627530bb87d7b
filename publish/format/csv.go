package format

import (
	"bytes"
	"io"
	"slices"
)

// csvEncoder writes CSV as RFC 4180 describes it.
type csvEncoder struct {
	lines
	columns   []Column
	delimiter byte
	null      []byte
	emptyNull bool // whether a null needs quotes, because its line would be empty
	eol       string
	quoteAll  bool
	escape    bool // whether texts that begin like a formula get an apostrophe
}

func newCSV(w io.Writer, columns []Column, o Options) *csvEncoder {
	e := &csvEncoder{
		lines:     newLines(w, o.Gzip),
		columns:   columns,
		delimiter: o.delimiter()[0],
		null:      []byte(o.Null),
		emptyNull: o.Null == "" && len(columns) == 1,
		eol:       "\n",
		quoteAll:  o.QuoteAll,
		escape:    o.Formulas == formulasEscape,
	}
	if o.CRLF {
		e.eol = "\r\n"
	}
	if o.BOM {
		e.buf = append(e.buf, "\uFEFF"...)
	}
	if !o.NoHeader {
		for i, c := range columns {
			if i > 0 {
				e.buf = append(e.buf, e.delimiter)
			}
			e.appendText([]byte(c.Name), false)
		}
		e.buf = append(e.buf, e.eol...)
	}
	return e
}

func (e *csvEncoder) encode(row [][]byte) error {
	for i, cell := range row {
		if i > 0 {
			e.buf = append(e.buf, e.delimiter)
		}
		switch {
		case cell == nil && e.emptyNull:
			e.buf = append(e.buf, `""`...)
		case cell == nil:
			e.buf = append(e.buf, e.null...)
		case e.columns[i].Type == Text:
			e.appendText(cell, e.escape)
		case e.quoteAll || bytes.Equal(cell, e.null):
			e.appendQuoted(cell, false)
		default:
			e.buf = append(e.buf, cell...)
		}
	}
	e.buf = append(e.buf, e.eol...)
	return e.endLine()
}

func (e *csvEncoder) appendText(s []byte, escape bool) {
	switch escape = escape && isFormula(s); {
	case escape || e.quoteAll || e.needsQuotes(s):
		e.appendQuoted(s, escape)
	default:
		e.buf = append(e.buf, s...)
	}
}

func (e *csvEncoder) needsQuotes(s []byte) bool {
	if bytes.Equal(s, e.null) || len(s) == 0 && len(e.columns) == 1 {
		return true
	}
	return bytes.IndexByte(s, e.delimiter) >= 0 || bytes.IndexByte(s, '"') >= 0 ||
		bytes.IndexByte(s, '\n') >= 0 || bytes.IndexByte(s, '\r') >= 0
}

func (e *csvEncoder) appendQuoted(s []byte, apostrophe bool) {
	e.buf = append(slices.Grow(e.buf, len(s)+3), '"')
	if apostrophe {
		e.buf = append(e.buf, '\'')
	}
	for {
		i := bytes.IndexByte(s, '"')
		if i < 0 {
			break
		}
		e.buf = append(e.buf, s[:i]...)
		e.buf = append(e.buf, `""`...)
		s = s[i+1:]
	}
	e.buf = append(e.buf, s...)
	e.buf = append(e.buf, '"')
}

// isFormula reports whether a spreadsheet program may take a text for a formula.
func isFormula(s []byte) bool {
	if len(s) == 0 {
		return false
	}
	switch s[0] {
	case '=', '+', '-', '@', '\t', '\r':
		return true
	}
	return false
}
