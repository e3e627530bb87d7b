package media

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// Files describes how a platform returns days of a report as files. A job is created, the platform makes its file, and
// the file is read. A file is CSV in UTF-8, with or without a byte order mark: a line of column names, then one line
// for each row.
type Files struct {
	// PageDays is how many days before today Report.Page still returns; older days come as files only.
	PageDays int
	// MaxDays is how many days one file may span.
	MaxDays int
	// Life is for how long after its creation a job can be used. A job that has no file by then has expired.
	Life time.Duration
	// Interval is the longest time between two looks at a job. A young job is looked at more often.
	Interval time.Duration
	// Create creates a job and returns the platform's id of it. name has at most 39 letters, digits and hyphens, and is
	// not used again. The error is ErrJobExists if a job of the account has this name already.
	Create func(ctx context.Context, api API, name string, q ReportQuery) (id string, err error)
	// Find returns the id of the account's job with a name; "" if there is none. nil if the platform does not list jobs
	// with their names.
	Find func(ctx context.Context, api API, name string) (id string, err error)
	// State returns the state of a job. The error is ErrJobGone if the platform does not know the job, or no longer.
	State func(ctx context.Context, api API, id string) (Job, error)
	// Open opens the file of a job in state JobDone. The caller closes it. The error is ErrJobGone if the file is no
	// longer there.
	Open func(ctx context.Context, api FileAPI, job Job) (io.ReadCloser, error)
	// Columns returns the columns that the file of a query must have. It may have others.
	Columns func(q ReportQuery) []string
	// Account is the column that holds the platform's id of the account; "" if there is none.
	Account string
	// Read adds a line of the file to the page. It gets the line as a JSON object of texts by column, which Report.Values
	// must be able to read.
	Read func(page *Page, line json.RawMessage)
	// Splits describe how a day is narrowed if the platform repeatedly fails to make its file: first by the objects of
	// the first Split, then, for a file of a single object, by those of the next.
	Splits []Split
}

// Job is the state of a job that makes a file.
type Job struct {
	ID    string
	State JobState
	// Reason is why a job has failed, in the platform's words.
	Reason string
	// Size is the file's size in bytes, and Rows the number of its rows; -1 if the platform does not return it.
	Size, Rows int64
	// Address is where the file is, if the platform names an address. Who has it can read the file: it is a secret.
	Address string
}

// JobState is how far a job is.
type JobState int

// The states.
const (
	JobMaking JobState = iota
	JobDone
	JobFailed
)

// ErrJobExists reports that a job with the same name exists.
var ErrJobExists = errors.New("a job of this name exists")

// ErrJobGone reports that a job or its file is no longer there.
var ErrJobGone = errors.New("the job or its file is no longer there")

// Download is the answer to a request for a file.
type Download struct {
	// Body is the file; nil if the platform answered in its own format. The caller closes it. A read fails after some
	// time without a byte.
	Body io.ReadCloser
	// Payload is the answer in the platform's own format, such as the file's address.
	Payload json.RawMessage
}
