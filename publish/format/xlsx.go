package format

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/klauspost/compress/flate"
)

// xlsxLimits bound an XLSX file.
type xlsxLimits struct {
	fileBytes  int64
	sheetBytes int64 // of a sheet's XML before compression
	sheetRows  int   // with the header
}

// xlsxMax are the limits of Excel. From 2^32-1 bytes on, files and sheets would need ZIP64, which Excel refuses in
// files that are written as a stream.
var xlsxMax = xlsxLimits{fileBytes: 1<<32 - 2, sheetBytes: 1<<32 - 2, sheetRows: 1_048_576}

const (
	xlsxColumnsMax   = 16_384
	xlsxTextMax      = 32_767 // in UTF-16 code units, as Excel counts
	xlsxIntegerMax   = 15     // significant digits that Excel keeps of a number
	xlsxFirstDay     = -25508 // 1900-03-01, in days from 1970-01-01: before it, Excel has a 1900-02-29
	xlsxDaysFrom1900 = 25569  // the serial number of 1970-01-01
)

// xlsxEncoder writes an XLSX file as a stream: its memory does not grow with the rows.
type xlsxEncoder struct {
	columns []Column
	limits  xlsxLimits
	zip     *zip.Writer
	cells   []string // for each column: the XML of a cell up to the number of its row
	head    []byte   // of each sheet, with the row of the header

	sheets     int
	sheet      io.Writer
	sheetRows  int
	sheetBytes int64  // written, without buf
	buf        []byte // not written yet
}

func newXLSX(w io.Writer, columns []Column, limits xlsxLimits) (*xlsxEncoder, error) {
	if len(columns) > xlsxColumnsMax {
		return nil, fmt.Errorf("%d columns: want at most %d", len(columns), xlsxColumnsMax)
	}
	e := &xlsxEncoder{
		columns: columns, limits: limits, zip: zip.NewWriter(&limitedWriter{w: w, left: limits.fileBytes}),
		cells: make([]string, len(columns)), buf: make([]byte, 0, flushSize+flushSize/2),
	}
	e.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestSpeed)
	})
	for i := range columns {
		e.cells[i] = `<c r="` + columnLetters(i)
	}
	e.head = append(appendSheetBegin(nil, columns), `<row r="1">`...)
	for i, c := range columns {
		if length := utf16Length([]byte(c.Name)); length > xlsxTextMax {
			return nil, fmt.Errorf("the name of column %d has %d characters: want at most %d", i+1, length, xlsxTextMax)
		}
		e.head = append(e.head, e.cells[i]...)
		e.head = append(e.head, `1" s="`...)
		e.head = strconv.AppendInt(e.head, styleHeader, 10)
		e.head = appendInlineString(append(e.head, '"'), []byte(c.Name))
	}
	e.head = append(e.head, `</row>`...)
	for _, p := range []struct{ name, text string }{
		{"_rels/.rels", xlsxRelations},
		{"xl/styles.xml", xlsxStyles()},
	} {
		if err := e.part(p.name, p.text); err != nil {
			return nil, err
		}
	}
	return e, e.beginSheet()
}

// part writes a whole part of the file.
func (e *xlsxEncoder) part(name, text string) error {
	w, err := e.create(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// create begins a part of the file. Its time is always the same, so that the same rows give the same bytes.
func (e *xlsxEncoder) create(name string) (io.Writer, error) {
	return e.zip.CreateHeader(&zip.FileHeader{
		Name:     name,
		Method:   zip.Deflate,
		Modified: time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC),
	})
}

func (e *xlsxEncoder) beginSheet() error {
	sheet, err := e.create(sheetPart(e.sheets + 1))
	if err != nil {
		return err
	}
	e.sheets++
	e.sheet, e.sheetRows, e.sheetBytes = sheet, 1, 0
	e.buf = append(e.buf, e.head...)
	return nil
}

func (e *xlsxEncoder) endSheet() error {
	e.buf = append(e.buf, xlsxSheetEnd...)
	return e.flush()
}

func (e *xlsxEncoder) flush() error {
	n, err := e.sheet.Write(e.buf)
	e.sheetBytes += int64(n)
	e.buf = e.buf[:0]
	return err
}

func (e *xlsxEncoder) encode(row [][]byte) error {
	begin := len(e.buf)
	full := e.sheetRows == e.limits.sheetRows
	if !full {
		if err := e.appendRow(row); err != nil {
			return err
		}
		full = e.sheetRows > 2 && e.sheetBytes+int64(len(e.buf)+len(xlsxSheetEnd)) > e.limits.sheetBytes
	}
	if full {
		e.buf = e.buf[:begin]
		if err := e.endSheet(); err != nil {
			return err
		}
		if err := e.beginSheet(); err != nil {
			return err
		}
		if err := e.appendRow(row); err != nil {
			return err
		}
	}
	if len(e.buf) >= flushSize {
		return e.flush()
	}
	return nil
}

func (e *xlsxEncoder) appendRow(row [][]byte) error {
	e.sheetRows++
	var space [20]byte
	number := strconv.AppendInt(space[:0], int64(e.sheetRows), 10)
	e.buf = append(e.buf, `<row r="`...)
	e.buf = append(e.buf, number...)
	e.buf = append(e.buf, `">`...)
	for i, cell := range row {
		if cell == nil {
			continue
		}
		if len(cell) > xlsxTextMax {
			if length := utf16Length(cell); length > xlsxTextMax {
				return &cellError{
					column: i, what: fmt.Sprintf("a text of %d characters", length),
					want: fmt.Sprintf("at most %d in an XLSX file", xlsxTextMax),
				}
			}
		}
		e.buf = append(e.buf, e.cells[i]...)
		e.buf = append(e.buf, number...)
		e.buf = appendCell(append(e.buf, '"'), e.columns[i], cell)
	}
	e.buf = append(e.buf, `</row>`...)
	return nil
}

// appendCell appends a cell after its reference.
func appendCell(b []byte, c Column, cell []byte) []byte {
	switch c.Type {
	case Integer, Decimal:
		if significantDigits(cell) <= xlsxIntegerMax {
			b = append(appendStyle(b, numberStyle(c)), cell...)
			return append(b, `</v></c>`...)
		}
	case Float:
		b = append(append(b, `><v>`...), cell...)
		return append(b, `</v></c>`...)
	case Bool:
		b = append(append(b, ` t="b"><v>`...), cell...)
		return append(b, `</v></c>`...)
	case Day:
		if days, ok := dayOf(cell); ok && days >= xlsxFirstDay {
			b = strconv.AppendInt(appendStyle(b, styleDay), int64(days+xlsxDaysFrom1900), 10)
			return append(b, `</v></c>`...)
		}
	case Time:
		if micros, ok := microsOf(cell); ok && micros >= xlsxFirstDay*microsPerDay {
			micros += xlsxDaysFrom1900 * microsPerDay
			// The sum is rounded once. All microseconds in one double would be rounded before it.
			serial := float64(micros/microsPerDay) + float64(micros%microsPerDay)/microsPerDay
			b = strconv.AppendFloat(appendStyle(b, styleTime), serial, 'f', -1, 64)
			return append(b, `</v></c>`...)
		}
	case Text:
	}
	return appendInlineString(b, cell)
}

func appendStyle(b []byte, style int64) []byte {
	b = strconv.AppendInt(append(b, ` s="`...), style, 10)
	return append(b, `"><v>`...)
}

func (e *xlsxEncoder) close() error {
	if err := e.endSheet(); err != nil {
		return err
	}
	for _, p := range []struct{ name, text string }{
		{"xl/workbook.xml", xlsxWorkbook(e.sheets)},
		{"xl/_rels/workbook.xml.rels", xlsxWorkbookRelations(e.sheets)},
		{"[Content_Types].xml", xlsxContentTypes(e.sheets)},
	} {
		if err := e.part(p.name, p.text); err != nil {
			return err
		}
	}
	return e.zip.Close()
}

// errXLSXSize means that a file would need ZIP64.
var errXLSXSize = errors.New("the XLSX file would be larger than 4 GiB, which Excel does not read: " +
	"want fewer rows, or the format csv or parquet")

// limitedWriter fails before it has written more than a number of bytes.
type limitedWriter struct {
	w    io.Writer
	left int64
}

func (l *limitedWriter) Write(b []byte) (int, error) {
	if int64(len(b)) > l.left {
		return 0, errXLSXSize
	}
	n, err := l.w.Write(b)
	l.left -= int64(n)
	return n, err
}
