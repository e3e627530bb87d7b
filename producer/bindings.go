package producer

import (
	"context"
	"slices"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/store"
)

// bindingsAtOnce is how many accounts' bindings change in one transaction.
const bindingsAtOnce = 200

// lastDay stands for no end.
const lastDay day.Day = "9999-12-31"

// keepBindings brings the bindings that summaries are built with up to those that operators wrote.
func (t *term) keepBindings(ctx context.Context) error {
	if !t.bindingsAt.IsZero() && clock.Since(t.bindingsAt) < t.cfg.ReloadInterval {
		return nil
	}
	begun := clock.Mark()
	wanted, err := t.store.Bindings(ctx)
	if err != nil {
		return err
	}
	applied, err := t.store.AppliedBindings(ctx)
	if err != nil {
		return err
	}
	changes := bindingChanges(wanted, applied)
	for some := range slices.Chunk(changes, bindingsAtOnce) {
		if err := t.store.ApplyBindings(ctx, t.lease, some); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		t.logger.Info("bindings applied", "accounts", len(changes))
	}
	t.bindingsAt = begun
	return nil
}

// bindingChanges returns what is to be done so that the applied bindings mean what the wanted ones do. Both are sorted by
// account and first day.
func bindingChanges(wanted, applied []store.Binding) []store.BindingChange {
	var changes []store.BindingChange
	for len(wanted)+len(applied) > 0 {
		var id int64
		switch {
		case len(wanted) == 0:
			id = applied[0].AccountID
		case len(applied) == 0:
			id = wanted[0].AccountID
		default:
			id = min(wanted[0].AccountID, applied[0].AccountID)
		}
		var w, a []store.Binding
		w, wanted = ofAccount(wanted, id)
		a, applied = ofAccount(applied, id)
		w = withoutOverlaps(w)
		if slices.Equal(w, a) {
			continue
		}
		changes = append(changes, store.BindingChange{AccountID: id, Bindings: w, Touched: differences(w, a)})
	}
	return changes
}

// ofAccount splits off the leading bindings of an account.
func ofAccount(all []store.Binding, id int64) (own, rest []store.Binding) {
	n := 0
	for n < len(all) && all[n].AccountID == id {
		n++
	}
	return all[:n], all[n:]
}

// withoutOverlaps gives each day to the binding that begins last among those that cover it: a move is written as one
// more row, a correction as a row with an end, after which the older one holds again. Rows that end before they begin
// cover nothing.
func withoutOverlaps(bindings []store.Binding) []store.Binding {
	var out []store.Binding
	for _, span := range spans(bindings) {
		b, bound := bindingOn(bindings, span.From)
		if !bound {
			continue
		}
		b.From, b.To = span.From, span.To
		if n := len(out); n > 0 && out[n-1].To.Add(1) == b.From && out[n-1].Game == b.Game && out[n-1].OS == b.OS {
			out[n-1].To = b.To
			continue
		}
		out = append(out, b)
	}
	return out
}

// differences returns the spans of days on which a and b bind otherwise.
func differences(a, b []store.Binding) []store.Binding {
	var out []store.Binding
	for _, span := range spans(slices.Concat(a, b)) {
		x, inA := bindingOn(a, span.From)
		y, inB := bindingOn(b, span.From)
		if inA != inB || x.Game != y.Game || x.OS != y.OS {
			out = append(out, span)
		}
	}
	return out
}

// spans cuts the days that the bindings cover into spans on which the set of bindings does not change.
func spans(bindings []store.Binding) []store.Binding {
	var cuts []day.Day // each begins a span
	for _, b := range bindings {
		if b.To < b.From {
			continue
		}
		cuts = append(cuts, b.From)
		if b.To < lastDay {
			cuts = append(cuts, b.To.Add(1))
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []store.Binding
	for i, from := range cuts {
		to := lastDay
		if i+1 < len(cuts) {
			to = cuts[i+1].Add(-1)
		}
		if _, covered := bindingOn(bindings, from); covered {
			out = append(out, store.Binding{From: from, To: to})
		}
	}
	return out
}

// bindingOn returns the binding that begins last among those that cover a day.
func bindingOn(bindings []store.Binding, d day.Day) (store.Binding, bool) {
	var found store.Binding
	ok := false
	for _, b := range bindings {
		if b.From <= d && d <= b.To && (!ok || b.From > found.From) {
			found, ok = b, true
		}
	}
	return found, ok
}
