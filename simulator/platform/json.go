package platform

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"adsync/simulator/fault/trap"
)

// HexDigits are the digits of hexadecimal numbers.
const HexDigits = "0123456789abcdef"

// AppendJSONString appends a string as JSON without HTML escapes, as the platforms do, so that Chinese stays
// readable.
func AppendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', HexDigits[r>>4], HexDigits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// Writer writes an answer without reflection, and adds the commas.
type Writer struct {
	Bytes []byte
	comma bool
}

// Sep writes the comma before a value or key, if it needs one.
func (w *Writer) Sep() {
	if w.comma {
		w.Bytes = append(w.Bytes, ',')
	}
	w.comma = true
}

// Open begins an object or an array.
func (w *Writer) Open(bracket byte) {
	w.Sep()
	w.Bytes = append(w.Bytes, bracket)
	w.comma = false
}

// Close ends an object or an array.
func (w *Writer) Close(bracket byte) {
	w.Bytes = append(w.Bytes, bracket)
	w.comma = true
}

// Key writes the key of the value that follows.
func (w *Writer) Key(k string) {
	w.Sep()
	w.Bytes = append(w.Bytes, '"')
	w.Bytes = append(w.Bytes, k...)
	w.Bytes = append(w.Bytes, '"', ':')
	w.comma = false
}

// OpenObject begins an object under a key.
func (w *Writer) OpenObject(k string) { w.Key(k); w.Open('{') }

// OpenArray begins an array under a key.
func (w *Writer) OpenArray(k string) { w.Key(k); w.Open('[') }

// Text writes a string.
func (w *Writer) Text(s string) { w.Sep(); w.Bytes = AppendJSONString(w.Bytes, s) }

// Number writes a whole number.
func (w *Writer) Number(n int64) { w.Sep(); w.Bytes = strconv.AppendInt(w.Bytes, n, 10) }

// Raw writes JSON unchanged.
func (w *Writer) Raw(json string) { w.Sep(); w.Bytes = append(w.Bytes, json...) }

// Flag writes true or false.
func (w *Writer) Flag(v bool) { w.Sep(); w.Bytes = strconv.AppendBool(w.Bytes, v) }

// Hundredths writes n/100 as the shortest number.
func (w *Writer) Hundredths(n int64) { w.Sep(); w.Bytes = appendHundredths(w.Bytes, n) }

// Float writes a ratio rounded to four digits after the point.
func (w *Writer) Float(f float64) {
	w.Sep()
	w.Bytes = AppendRounded(w.Bytes, f)
}

// AppendRounded appends a ratio rounded to four digits after the point.
func AppendRounded(b []byte, f float64) []byte {
	return strconv.AppendFloat(b, float64(int64(f*10_000+0.5))/10_000, 'f', -1, 64)
}

// appendHundredths appends fen as yuan with as few digits as possible: 30050 is 300.5, 30000 is 300.
func appendHundredths(b []byte, n int64) []byte {
	b = strconv.AppendInt(b, n/100, 10)
	if rest := n % 100; rest != 0 {
		b = append(b, '.', byte('0'+rest/10))
		if rest%10 != 0 {
			b = append(b, byte('0'+rest%10))
		}
	}
	return b
}

// AppendFixed2 appends fen as yuan with two digits: 30050 is 300.50.
func AppendFixed2(b []byte, n int64) []byte {
	b = strconv.AppendInt(b, n/100, 10)
	rest := n % 100
	return append(b, '.', byte('0'+rest/10), byte('0'+rest%10))
}

// Value writes the value after a key, as a text if asText is set.
func (w *Writer) Value(asText bool, write func()) {
	at := len(w.Bytes)
	write()
	if asText {
		w.Bytes = append(slices.Insert(w.Bytes, at, '"'), '"')
	}
}

// TextField writes a key and a string.
func (w *Writer) TextField(k, v string) { w.Key(k); w.Text(v) }

// NumberField writes a key and a whole number.
func (w *Writer) NumberField(k string, v int64) { w.Key(k); w.Number(v) }

// PageInfo writes the page numbers of an answer, whose fields have the same names on all platforms.
func (w *Writer) PageInfo(page, size, total int) {
	w.OpenObject("page_info")
	w.NumberField("page", int64(page))
	w.NumberField("page_size", int64(size))
	w.NumberField("total_number", int64(total))
	w.NumberField("total_page", int64((total+size-1)/size))
	w.Close('}')
}

// PageOf returns the bounds of a page in a list of n.
func PageOf(page, size, n int) (from, to int) {
	from = min((page-1)*size, n)
	return from, min(from+size, n)
}

// AdName writes the name of an ad. A cut name ends with two of the three bytes of its last character, as in a
// database that counts bytes.
func (w *Writer) AdName(name string) {
	at := len(w.Bytes)
	w.Text(name)
	if strings.Contains(name, trap.CutCharacter) {
		w.Bytes = append(w.Bytes[:at], bytes.ReplaceAll(w.Bytes[at:], []byte(trap.CutCharacter), []byte("激")[:2])...)
	}
}

// Write writes a field of x as JSON.
type Write[T any] func(w *Writer, x T)

// Fixed returns a Write with the same JSON for every x.
func Fixed[T any](json string) Write[T] { return func(w *Writer, _ T) { w.Raw(json) } }
