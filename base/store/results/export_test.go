package results

import (
	"context"
	"fmt"
)

// Together is the end of a pull in a shared transaction.
type Together struct {
	Result ReportResult
	Err    error
	Alone  bool // it left the transaction
	// Compared is set if it was among the pulls that are compared with other reports.
	Compared bool
}

// WriteTogether writes reports in shared transactions: one of the pulls that are compared with other reports, which
// have different accounts, and one of the others.
func WriteTogether(ctx context.Context, s Results, writes ...ReportWrite) []Together {
	var apart [2][]*gathered[reportEnd]
	all := make([]*gathered[reportEnd], len(writes))
	for i, w := range writes {
		all[i] = &gathered[reportEnd]{ctx: ctx, of: w.Scope, value: reportEnd{w: w}}
		kind := 0
		if w.isCompared() {
			all[i].compared, kind = true, 1
		}
		apart[kind] = append(apart[kind], all[i])
	}
	if len(apart[0]) > 0 {
		s.writeTogether(context.WithoutCancel(ctx), apart[0])
	}
	for _, v := range apart[0] {
		if v.value.compares {
			v.compared, v.alone = true, false
			apart[1] = append(apart[1], v)
		}
	}
	if len(apart[1]) > 0 {
		s.writeTogether(context.WithoutCancel(ctx), apart[1])
	}
	ends := make([]Together, len(writes))
	for i, v := range all {
		ends[i] = Together{Result: v.value.result, Err: v.err, Alone: v.alone, Compared: v.compared}
	}
	return ends
}

// Plain reports whether a report may share a transaction.
func (w *ReportWrite) Plain() bool { return w.plain() }

// BeginTogether claims scopes in one statement. Of those that are left to their callers, alone is true.
func BeginTogether(ctx context.Context, s Results, scopes ...Scope) (known []string, alone []bool) {
	waiting := make([]*gathered[knownScope], len(scopes))
	for i, scope := range scopes {
		waiting[i] = &gathered[knownScope]{ctx: ctx, of: scope}
	}
	s.readKnown(ctx, waiting)
	for _, v := range waiting {
		k := v.value
		known = append(known, fmt.Sprint(k.Claimed, k.HighWater, k.Whole, k.Days, k.ReadAt.IsZero(), k.read.IsZero()))
		alone = append(alone, v.alone)
	}
	return known, alone
}
