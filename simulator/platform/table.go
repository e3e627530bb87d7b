package platform

import (
	"bytes"
	"encoding/csv"
)

// byteOrderMark begins some files.
const byteOrderMark = "\xEF\xBB\xBF"

// Table returns the file of lines with commas between their values. It begins with a byte order mark if marked is set,
// and its lines end with CR and LF if returns is set, otherwise with LF.
func Table(marked, returns bool, lines [][]string) []byte {
	var b bytes.Buffer
	if marked {
		b.WriteString(byteOrderMark)
	}
	w := csv.NewWriter(&b)
	w.UseCRLF = returns
	_ = w.WriteAll(lines) // a buffer takes all lines
	return b.Bytes()
}
