package producer

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/lease"
	"adsync/base/store/summaries"
)

// bindingsAtOnce is the most accounts whose bindings change in one transaction. It takes some statements for each span
// of days, and holds the row of the lease, which cannot be renewed before its end.
const bindingsAtOnce = 50

// bindings is the loop that applies the operators' bindings of accounts to games.
type bindings struct {
	passes   passes
	store    bindingStore
	lease    lease.Lease
	interval time.Duration
	logger   *slog.Logger

	readAt time.Time           // by this process's clock
	wrong  []summaries.Binding // the rows that were invalid at the last read
}

// bindingStore is bindings as written and as applied.
type bindingStore interface {
	Bindings(ctx context.Context) ([]summaries.Binding, error)
	AppliedBindings(ctx context.Context) ([]summaries.Binding, error)
	ApplyBindings(ctx context.Context, l lease.Lease, changes []summaries.BindingChange) error
}

// Run applies bindings until ctx ends.
func (b *bindings) Run(ctx context.Context) error {
	return b.passes.run(ctx, b.keepBindings, every(upkeepInterval))
}

// keepBindings updates the applied bindings, with which summaries are built, to those that operators wrote.
func (b *bindings) keepBindings(ctx context.Context) error {
	if !b.readAt.IsZero() && clock.Since(b.readAt) < b.interval {
		return nil
	}
	begun := clock.Mark()
	wanted, err := b.store.Bindings(ctx)
	if err != nil {
		return err
	}
	applied, err := b.store.AppliedBindings(ctx)
	if err != nil {
		return err
	}
	changes, wrong := bindingChanges(wanted, applied)
	if !slices.Equal(wrong, b.wrong) {
		for _, row := range wrong {
			b.logger.Warn("a row of account_binding is invalid", "account_id", row.AccountID, "game", row.Game, "err",
				row.DaysFault())
		}
		b.wrong = wrong
	}
	for some := range slices.Chunk(changes, bindingsAtOnce) {
		if err := b.store.ApplyBindings(ctx, b.lease, some); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		b.logger.Info("bindings applied", "accounts", len(changes))
	}
	b.readAt = begun
	return nil
}

// bindingChanges returns the changes that make the applied bindings equal to the wanted ones. Both are sorted by
// account and first day. An account with a row of impossible days keeps its applied bindings; such rows are returned.
func bindingChanges(wanted, applied []summaries.Binding) (changes []summaries.BindingChange,
	wrong []summaries.Binding) {
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
		var w, a []summaries.Binding
		w, wanted = ofAccount(wanted, id)
		a, applied = ofAccount(applied, id)
		bad := slices.DeleteFunc(slices.Clone(w), func(b summaries.Binding) bool { return b.DaysFault() == "" })
		if len(bad) > 0 {
			wrong = append(wrong, bad...)
			continue
		}
		w = summaries.WithoutOverlaps(w)
		if slices.Equal(w, a) {
			continue
		}
		changes = append(changes, summaries.BindingChange{AccountID: id, Bindings: w,
			Touched: summaries.BindingDifferences(w, a)})
	}
	return changes, wrong
}

// ofAccount splits off the leading bindings of an account.
func ofAccount(all []summaries.Binding, id int64) (own, rest []summaries.Binding) {
	n := 0
	for n < len(all) && all[n].AccountID == id {
		n++
	}
	return all[:n], all[n:]
}
