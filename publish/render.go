package publish

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/media"
	"adsync/publish/format"
	"adsync/publish/query"
)

// renderBuffer is how many bytes are written to a part file at a time.
const renderBuffer = 1 << 20

// render makes the part file, or opens the one that an earlier try has made on this machine.
func (d *delivery) render(ctx context.Context) error {
	made := d.p.State != publishing.Planned && d.p.State != publishing.Waiting
	if made && d.p.SHA256 != "" && d.p.ByteSize != nil {
		if d.part = d.Spool.open(d.p.ID, d.p.SHA256, *d.p.ByteSize); d.part != nil {
			return nil
		}
	}
	part, err := d.Spool.create(d.p.ID)
	if err != nil {
		return err
	}
	rows, columns, err := d.write(ctx, part)
	if err != nil {
		part.drop()
		return d.unwritten(ctx, err)
	}
	if rows == 0 && d.s.OnEmpty != emptySend {
		part.drop()
		return d.empty(ctx)
	}
	sum, err := part.complete()
	if err != nil {
		return err
	}
	if d.part = d.Spool.open(d.p.ID, sum, part.size); d.part == nil {
		return errors.New("the part file is gone that was just written")
	}
	d.p.RowCount, d.p.ColumnCount, d.p.ByteSize, d.p.SHA256 = &rows, &columns, &part.size, sum
	d.p.RenderedAt = d.Clock.Now()
	return d.step(ctx, publishing.Rendered)
}

// empty ends a file without rows that is not to be sent.
func (d *delivery) empty(ctx context.Context) error {
	if d.s.OnEmpty == emptyFail {
		return &media.Error{Class: media.Invalid, Message: "there are no rows, and the subscription's on_empty is fail"}
	}
	d.p.RowCount = new(int64)
	return d.step(ctx, publishing.Empty)
}

// errUnwhole means that figures are missing that the file waits for.
var errUnwhole = errors.New("figures of its period are not whole")

// errOutgrown means that the file is too large for the lane of its run.
var errOutgrown = errors.New("the file is too large for its lane")

// unwritten leaves a file to a later try that could not be made now, and returns other errors as they are.
func (d *delivery) unwritten(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errUnwhole):
		d.p.State = publishing.Waiting
	case errors.Is(err, errOutgrown):
		d.p.State, d.p.Lane = publishing.Planned, LargeLane
	case errors.Is(err, errAbsent):
		return &media.DeferError{After: sourceWait, Reason: d.s.held(d.p, d.Clock.Now()) + err.Error()}
	default:
		return err
	}
	if _, err := d.Store.LeaveFile(ctx, d.p, d.Clock.Now()); err != nil {
		return err
	}
	return errOvertaken
}

// writeQuery writes the rows of the query.
func (d *delivery) writeQuery(ctx context.Context, most int64, begin func([]format.Column) error,
	add func([][]byte) error) error {
	d.p.Incomplete, d.p.Missing = false, ""
	options := query.RunOptions{Dialect: d.Database.Dialect, MaxRows: int(most)}
	if d.s.waits() && d.p.Need != "" {
		needs, err := d.needOf(ctx, d.p) // not in the snapshot: it may use the only connection
		if err != nil {
			return err
		}
		options.Before = func(ctx context.Context, tx *sql.Tx) error { return d.whole(ctx, &needs, tx) }
	}
	return query.Run(ctx, d.Database.DB, d.s.Query, d.s.values(d.p), options, begin, add)
}

// whole reads in the snapshot of the rendering what is missing, and returns errUnwhole if the file must wait for it.
func (d *delivery) whole(ctx context.Context, needs *need, tx *sql.Tx) error {
	missing, err := needs.missing(ctx, tx, false)
	if err != nil || len(missing) == 0 {
		return err
	}
	if len(waitedFor(missing)) > 0 {
		if !d.s.allowsIncomplete(d.p, d.Clock.Now()) {
			return errUnwhole
		}
		d.p.Incomplete = true
	}
	text, err := json.Marshal(missing)
	d.p.Missing = string(text)
	return err
}

// write writes the rows of the query, or of the source's files.
func (d *delivery) write(ctx context.Context, part *partFile) (rows int64, columns int, err error) {
	buffer := bufio.NewWriterSize(part, renderBuffer)
	var out format.Writer
	begin := func(all []format.Column) (err error) {
		columns = len(all)
		out, err = format.New(buffer, all, d.s.Format)
		return err
	}
	most := cmp.Or(d.s.RowsMax, RowsMaxDefault)
	encoding := useBehind(func(row [][]byte) error {
		switch {
		case d.outgrows(part):
			return errOutgrown
		case rows == most:
			return query.ErrTooManyRows
		}
		rows++
		return out.Write(row)
	}, batchSize)
	if d.s.files != nil {
		err = d.writeFiles(ctx, begin, encoding.add)
	} else {
		err = d.writeQuery(ctx, most, begin, encoding.add)
	}
	err = sqldb.FirstError(err, encoding.close())
	switch {
	case errors.Is(err, query.ErrTooManyRows):
		return 0, 0, &media.Error{Class: media.Invalid, Message: fmt.Sprintf(
			"the source has more than %d rows: raise rows_max of the subscription, or narrow the query", most)}
	case errors.Is(err, errUnwhole), errors.Is(err, errOutgrown):
		return 0, 0, err
	case err != nil && d.s.files != nil:
		return 0, 0, err
	case err != nil:
		return 0, 0, fmt.Errorf("write the rows of the query: %w", err)
	}
	return rows, columns, errors.Join(out.Close(), buffer.Flush())
}

// outgrows reports whether a part file is too large for the lane on which it is made. The subscription may have chosen
// the lane.
func (d *delivery) outgrows(part *partFile) bool {
	return d.s.Lane == "" && d.p.Lane == Lane && part.size > d.LargeBytes
}
