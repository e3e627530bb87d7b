package broker

import "sort"

// Watermark tracks which offset of one partition may be committed while messages finish out of order: the lowest one
// that is not finished. It is not safe for concurrent use.
type Watermark struct {
	next    int64 // the offset after the highest that was begun
	span    int
	pending []mark // begun offsets in rising order, from the lowest unfinished one on
}

type mark struct {
	offset int64
	done   bool
}

// NewWatermark returns a watermark that starts at the offset that is read next. Span caps how many offsets may be
// begun from the lowest unfinished one on. This bounds both the memory and what is read again after a crash. Less
// than 1 counts as 1.
func NewWatermark(next int64, span int) *Watermark {
	return &Watermark{next: next, span: max(span, 1)}
}

// Full reports whether the span is used up: nothing may begin until the lowest unfinished offset is done.
func (w *Watermark) Full() bool { return len(w.pending) >= w.span }

// Begin records that the message at offset is being worked on, and reports whether it was accepted. It refuses an
// offset below one that was begun earlier (a repeated message) and any offset while the watermark is Full. Skipped
// offsets count as finished: a log may have holes.
func (w *Watermark) Begin(offset int64) bool {
	if offset < w.next || w.Full() {
		return false
	}
	w.pending = append(w.pending, mark{offset: offset})
	w.next = offset + 1
	return true
}

// Done records that the message at offset is finished. Offsets that are not begun, or already done, change nothing.
func (w *Watermark) Done(offset int64) {
	i := sort.Search(len(w.pending), func(i int) bool { return w.pending[i].offset >= offset })
	if i == len(w.pending) || w.pending[i].offset != offset {
		return
	}
	w.pending[i].done = true
	finished := 0
	for finished < len(w.pending) && w.pending[finished].done {
		finished++
	}
	w.pending = w.pending[finished:]
}

// Next returns the offset to commit, which is the first to read after a restart: the lowest unfinished one, or the
// one after the last begun if all are finished.
func (w *Watermark) Next() int64 {
	if len(w.pending) > 0 {
		return w.pending[0].offset
	}
	return w.next
}

// Position returns the offset after the highest that was begun.
func (w *Watermark) Position() int64 { return w.next }
