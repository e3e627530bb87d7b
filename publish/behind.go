package publish

import (
	"fmt"
	"runtime/debug"
)

// behind uses rows in a goroutine, in batches, so that the next rows are read while those before them are encoded,
// hashed and written. It is not safe for concurrent use. Close ends its goroutine.
type behind struct {
	use   func(row [][]byte) error
	batch *rowBatch
	full  chan *rowBatch
	free  chan used
}

// used is a batch that can be filled again, the first error of use, and what it panicked with.
type used struct {
	batch    *rowBatch
	err      error
	panicked any
}

const (
	// batchSize is from how many bytes on a batch is passed to the goroutine.
	batchSize = 256 << 10
	// batches is how many there are. With two of them each side often waited for the other one.
	batches = 4
)

// useBehind returns a behind whose goroutine calls use with each row, in their order, until it returns an error.
func useBehind(use func(row [][]byte) error, size int) *behind {
	b := &behind{use: use, batch: newRowBatch(size), full: make(chan *rowBatch, batches-1),
		free: make(chan used, batches)}
	for range batches - 1 {
		b.free <- used{batch: newRowBatch(size)}
	}
	go b.run()
	return b
}

func (b *behind) run() {
	defer close(b.free)
	var last used
	for last.batch = range b.full {
		if last.err == nil && last.panicked == nil {
			b.useAll(&last)
		}
		last.batch.clear()
		b.free <- last
	}
}

// useAll uses the rows of a batch. It keeps a panic, which belongs to the goroutine that adds the rows.
func (b *behind) useAll(u *used) {
	defer func() {
		if r := recover(); r != nil {
			u.panicked = fmt.Sprintf("%v\n%s", r, debug.Stack())
		}
	}()
	u.err = u.batch.each(b.use)
}

// add adds a row, which it copies. Its error is one of an earlier row.
func (b *behind) add(row [][]byte) error {
	b.batch.add(row)
	if !b.batch.isFull() {
		return nil
	}
	b.full <- b.batch
	u := <-b.free
	b.batch = u.batch
	return u.result()
}

func (u *used) result() error {
	if u.panicked != nil {
		panic(u.panicked)
	}
	return u.err
}

// close uses the last rows, and returns the first error. Call it once.
func (b *behind) close() error {
	b.full <- b.batch
	close(b.full)
	var last used
	for u := range b.free {
		last = u
	}
	return last.result()
}

// rowBatch is rows. Their cells stand one after the other in bytes.
type rowBatch struct {
	size  int
	bytes []byte // never nil: an empty cell is not null
	ends  []int  // the index behind each cell; nullCell if it is null
	rows  []int  // the index behind each row's cells in ends
}

const nullCell = -1

func newRowBatch(size int) *rowBatch { return &rowBatch{size: size, bytes: make([]byte, 0, size)} }

func (b *rowBatch) isFull() bool { return len(b.bytes)+len(b.ends) >= b.size }

func (b *rowBatch) clear() { b.bytes, b.ends, b.rows = b.bytes[:0], b.ends[:0], b.rows[:0] }

func (b *rowBatch) add(row [][]byte) {
	for _, cell := range row {
		b.bytes = append(b.bytes, cell...)
		end := len(b.bytes)
		if cell == nil {
			end = nullCell
		}
		b.ends = append(b.ends, end)
	}
	b.rows = append(b.rows, len(b.ends))
}

// each calls use with each row, which is valid until use returns.
func (b *rowBatch) each(use func(row [][]byte) error) error {
	var row [][]byte
	from, cell := 0, 0
	for _, end := range b.rows {
		row = row[:0]
		for ; cell < end; cell++ {
			to := b.ends[cell]
			if to == nullCell {
				row = append(row, nil)
				continue
			}
			row = append(row, b.bytes[from:to:to])
			from = to
		}
		if err := use(row); err != nil {
			return err
		}
	}
	return nil
}
