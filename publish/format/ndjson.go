package format

import "io"

// ndjsonEncoder writes a JSON object a line.
type ndjsonEncoder struct {
	lines
	columns []Column
	keys    []string // with what is before and after: {"a": or ,"b":
}

func newNDJSON(w io.Writer, columns []Column, o Options) *ndjsonEncoder {
	e := &ndjsonEncoder{lines: newLines(w, o.Gzip), columns: columns, keys: make([]string, len(columns))}
	for i, c := range columns {
		key := appendJSONString([]byte{','}, []byte(c.Name))
		if i == 0 {
			key[0] = '{'
		}
		e.keys[i] = string(append(key, ':'))
	}
	return e
}

func (e *ndjsonEncoder) encode(row [][]byte) error {
	for i, cell := range row {
		e.buf = append(e.buf, e.keys[i]...)
		if cell == nil {
			e.buf = append(e.buf, "null"...)
			continue
		}
		switch e.columns[i].Type {
		case Integer, Decimal, Float:
			e.buf = append(e.buf, cell...)
		case Bool:
			if cell[0] == '1' {
				e.buf = append(e.buf, "true"...)
			} else {
				e.buf = append(e.buf, "false"...)
			}
		case Text, Day, Time:
			e.buf = appendJSONString(e.buf, cell)
		}
	}
	e.buf = append(e.buf, "}\n"...)
	return e.endLine()
}

// appendJSONString appends a text in UTF-8 as a JSON string.
func appendJSONString(b, s []byte) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	begin := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[begin:i]...)
		begin = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	b = append(b, s[begin:]...)
	return append(b, '"')
}
