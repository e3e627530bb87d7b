package pull

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"adsync/base/plural"
	"adsync/media"
)

// byteOrderMark may begin a file in UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// badFileError reports a file that is not what was requested: a retry may bring another one.
type badFileError struct{ why string }

func (e *badFileError) Error() string { return "the file is not what was requested: " + e.why }

func badFile(format string, args ...any) error {
	return &badFileError{why: fmt.Sprintf(format, args...)}
}

// counter counts the bytes that are read.
type counter struct {
	io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// readFile reads a file line by line and adds its rows to a page. It compares the file with what was requested and
// what the platform says of it: its size, columns, account and number of rows. It returns *overCapError for a file of
// more rows than a pull holds, *badFileError for a file that is not what was requested, or the reader's error.
func readFile(file io.Reader, files *media.Files, q media.ReportQuery, account string, job media.Job) (page media.Page,
	err error) {
	counted := &counter{Reader: file}
	buffered := bufio.NewReader(counted)
	if mark, _ := buffered.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
		_, _ = buffered.Discard(len(byteOrderMark)) // They are in the buffer.
	}
	lines := csv.NewReader(buffered)
	lines.ReuseRecord = true
	columns, err := readColumns(lines, files.Columns(q))
	if err != nil {
		return page, err
	}
	accountAt := slices.Index(columns, files.Account)
	if files.Account != "" && accountAt < 0 {
		return page, badFile("it lacks the column %s", files.Account)
	}
	for n := int64(0); ; n++ {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			if job.Rows >= 0 && n != job.Rows {
				return page, badFile("it has %s, and %d are announced", plural.Count(n, "row", "rows"), job.Rows)
			}
			break
		}
		if err != nil {
			return page, lineError(err)
		}
		if n == rowsHeld {
			return page, &overCapError{total: rowsHeld + 1, rowsMax: rowsHeld}
		}
		if accountAt >= 0 && line[accountAt] != account {
			return page, badFile("it has a row of the account %.40q", line[accountAt])
		}
		files.Read(&page, asObject(columns, line))
	}
	if job.Size >= 0 && counted.n != job.Size {
		return page, badFile("it has %s, and %d are announced", plural.Count(counted.n, "byte", "bytes"), job.Size)
	}
	page.Total = len(page.Rows)
	return page, nil
}

// readColumns reads the line of the columns' names.
func readColumns(lines *csv.Reader, want []string) ([]string, error) {
	columns, err := lines.Read()
	if errors.Is(err, io.EOF) {
		return nil, badFile("it is empty")
	}
	if err != nil {
		return nil, lineError(err)
	}
	for i, name := range columns {
		if slices.Contains(columns[:i], name) {
			return nil, badFile("it has the column %.40q twice", name)
		}
	}
	for _, name := range want {
		if !slices.Contains(columns, name) {
			return nil, badFile("it lacks the column %s", name)
		}
	}
	return slices.Clone(columns), nil
}

// lineError returns the error of a line that is not CSV, or of the reader.
func lineError(err error) error {
	if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
		return badFile("line %d: %s", wrong.Line, wrong.Err)
	}
	return err
}

// asObject returns a line as a JSON object of texts.
func asObject(columns, line []string) json.RawMessage {
	object := make(map[string]string, len(columns))
	for i, name := range columns {
		object[name] = line[i]
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // Texts always have a JSON form.
	}
	return text
}
