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
}

// WriteTogether writes reports in one shared transaction.
func WriteTogether(ctx context.Context, s Results, writes ...ReportWrite) []Together {
	waiting := make([]*gathered[reportEnd], len(writes))
	for i, w := range writes {
		waiting[i] = &gathered[reportEnd]{ctx: ctx, of: w.Scope, value: reportEnd{w: w}}
	}
	s.writeTogether(context.WithoutCancel(ctx), waiting)
	ends := make([]Together, len(writes))
	for i, p := range waiting {
		ends[i] = Together{Result: p.value.result, Err: p.err, Alone: p.alone}
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
