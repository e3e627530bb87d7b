package simulator

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendJSONString writes a string as JSON without making HTML of it, as the platforms do: Chinese stays readable.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// jsonWriter writes an answer without reflection; commas are its business.
type jsonWriter struct {
	b     []byte
	comma bool
}

func (w *jsonWriter) sep() {
	if w.comma {
		w.b = append(w.b, ',')
	}
	w.comma = true
}

func (w *jsonWriter) open(bracket byte) {
	w.sep()
	w.b = append(w.b, bracket)
	w.comma = false
}

func (w *jsonWriter) close(bracket byte) {
	w.b = append(w.b, bracket)
	w.comma = true
}

func (w *jsonWriter) key(k string) {
	w.sep()
	w.b = append(w.b, '"')
	w.b = append(w.b, k...)
	w.b = append(w.b, '"', ':')
	w.comma = false
}

func (w *jsonWriter) openObject(k string) { w.key(k); w.open('{') }
func (w *jsonWriter) openArray(k string)  { w.key(k); w.open('[') }

func (w *jsonWriter) text(s string)   { w.sep(); w.b = appendJSONString(w.b, s) }
func (w *jsonWriter) number(n int64)  { w.sep(); w.b = strconv.AppendInt(w.b, n, 10) }
func (w *jsonWriter) raw(json string) { w.sep(); w.b = append(w.b, json...) }
func (w *jsonWriter) flag(v bool)     { w.sep(); w.b = strconv.AppendBool(w.b, v) }

// decimal writes n/100 as the shortest number.
func (w *jsonWriter) hundredths(n int64) { w.sep(); w.b = appendHundredths(w.b, n) }

// float writes a ratio rounded to four digits after the point.
func (w *jsonWriter) float(f float64) {
	w.sep()
	w.b = appendRounded(w.b, f)
}

func appendRounded(b []byte, f float64) []byte {
	return strconv.AppendFloat(b, float64(int64(f*10_000+0.5))/10_000, 'f', -1, 64)
}

// appendHundredths writes fen as yuan with no digit too many: 30050 is 300.5, 30000 is 300.
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

// appendFixed2 writes fen as yuan with two digits: 30050 is 300.50.
func appendFixed2(b []byte, n int64) []byte {
	b = strconv.AppendInt(b, n/100, 10)
	rest := n % 100
	return append(b, '.', byte('0'+rest/10), byte('0'+rest%10))
}

// value writes what follows a key, as a text of it if it should be one.
func (w *jsonWriter) value(asText bool, write func()) {
	at := len(w.b)
	write()
	if asText {
		w.b = append(slices.Insert(w.b, at, '"'), '"')
	}
}

func (w *jsonWriter) textField(k, v string)         { w.key(k); w.text(v) }
func (w *jsonWriter) numberField(k string, v int64) { w.key(k); w.number(v) }

// pageInfo writes the numbers of an answer in pages, which both platforms call the same.
func (w *jsonWriter) pageInfo(page, size, total int) {
	w.openObject("page_info")
	w.numberField("page", int64(page))
	w.numberField("page_size", int64(size))
	w.numberField("total_number", int64(total))
	w.numberField("total_page", int64((total+size-1)/size))
	w.close('}')
}

// pageOf is the bounds of a page in a list of n.
func pageOf(page, size, n int) (from, to int) {
	from = min((page-1)*size, n)
	return from, min(from+size, n)
}

// adName writes the name of an ad. One that was cut ends with two bytes of the three that its last character has, as from a database that counts bytes.
func (w *jsonWriter) adName(name string) {
	at := len(w.b)
	w.text(name)
	if strings.Contains(name, cutCharacter) {
		w.b = append(w.b[:at], bytes.ReplaceAll(w.b[at:], []byte(cutCharacter), []byte("激")[:2])...)
	}
}

// write turns a field's value of x into JSON.
type write[T any] func(w *jsonWriter, x T)

func fixed[T any](json string) write[T] { return func(w *jsonWriter, _ T) { w.raw(json) } }
