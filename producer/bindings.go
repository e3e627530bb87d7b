package producer

import (
	"context"
	"slices"

	"adsync/base/clock"
	"adsync/base/store"
)

// bindingsAtOnce is how many accounts' bindings change in one transaction.
const bindingsAtOnce = 200

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
	changes, wrong := bindingChanges(wanted, applied)
	if !slices.Equal(wrong, t.wrongBindings) {
		for _, b := range wrong {
			t.logger.Warn("a row of account_binding cannot be used", "account_id", b.AccountID, "game", b.Game, "err", b.Impossible())
		}
		t.wrongBindings = wrong
	}
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
// account and first day. An account one of whose rows names impossible days keeps what is applied; such rows are returned.
func bindingChanges(wanted, applied []store.Binding) (changes []store.BindingChange, wrong []store.Binding) {
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
		bad := slices.DeleteFunc(slices.Clone(w), func(b store.Binding) bool { return b.Impossible() == "" })
		if len(bad) > 0 {
			wrong = append(wrong, bad...)
			continue
		}
		w = store.WithoutOverlaps(w)
		if slices.Equal(w, a) {
			continue
		}
		changes = append(changes, store.BindingChange{AccountID: id, Bindings: w, Touched: store.BindingDifferences(w, a)})
	}
	return changes, wrong
}

// ofAccount splits off the leading bindings of an account.
func ofAccount(all []store.Binding, id int64) (own, rest []store.Binding) {
	n := 0
	for n < len(all) && all[n].AccountID == id {
		n++
	}
	return all[:n], all[n:]
}
