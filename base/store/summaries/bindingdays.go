package summaries

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
)

// LastDay is the last day of a binding without an end, and FirstBoundDay the first day of one that covers all
// figures.
const (
	LastDay       day.Day = "9999-12-31"
	FirstBoundDay day.Day = "2000-01-01"
)

// DaysFault returns what is wrong with the days of a binding that was written by SQL, or "". Such a binding would
// move more days than anyone intends.
func (b Binding) DaysFault() string {
	from, err := day.Parse(b.From.String())
	if err != nil || (from < day.Earliest && from != FirstBoundDay) {
		return fmt.Sprintf("from_day is %s: want %s or later, or %s for all days", b.From, day.Earliest, FirstBoundDay)
	}
	if to, err := day.Parse(b.To.String()); err != nil || to < day.Earliest {
		return fmt.Sprintf("to_day is %s: want %s or later, or %s for no end", b.To, day.Earliest, LastDay)
	}
	return ""
}

// WithoutOverlaps assigns each day to the binding that begins last among those that cover it: a move is written as
// one more row, and a correction as a row with an end, after which the older one applies again. Rows that end before
// they begin cover nothing. All are of one account, by first day.
func WithoutOverlaps(bindings []Binding) []Binding {
	var out []Binding
	for _, span := range spans(bindings) {
		b, bound := BindingOn(bindings, span.From)
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

// BindingDifferences returns the spans of days whose binding differs between a and b.
func BindingDifferences(a, b []Binding) []Binding {
	var out []Binding
	for _, span := range spans(slices.Concat(a, b)) {
		x, inA := BindingOn(a, span.From)
		y, inB := BindingOn(b, span.From)
		if inA != inB || x.Game != y.Game || x.OS != y.OS {
			out = append(out, span)
		}
	}
	return out
}

// spans divides the days that the bindings cover into spans on which the set of bindings does not change.
func spans(bindings []Binding) []Binding {
	var cuts []day.Day // each begins a span
	for _, b := range bindings {
		if b.To < b.From {
			continue
		}
		cuts = append(cuts, b.From)
		if b.To < LastDay {
			cuts = append(cuts, b.To.Add(1))
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []Binding
	for i, from := range cuts {
		to := LastDay
		if i+1 < len(cuts) {
			to = cuts[i+1].Add(-1)
		}
		if _, covered := BindingOn(bindings, from); covered {
			out = append(out, Binding{From: from, To: to})
		}
	}
	return out
}

// BindingOn returns the binding that begins last among those that cover a day.
func BindingOn(bindings []Binding, d day.Day) (Binding, bool) {
	var found Binding
	ok := false
	for _, b := range bindings {
		if b.From <= d && d <= b.To && (!ok || b.From > found.From) {
			found, ok = b, true
		}
	}
	return found, ok
}

// rebound returns have with the days of want replaced by want, without overlaps. A want without a game leaves its
// days unbound.
func rebound(have []Binding, want Binding) []Binding {
	var out []Binding
	for _, b := range WithoutOverlaps(have) {
		if before := want.From.Add(-1); b.From <= before {
			out = append(out, Binding{AccountID: b.AccountID, From: b.From, To: min(b.To, before), Game: b.Game, OS: b.OS})
		}
		if want.To < LastDay && b.To > want.To {
			out = append(out, Binding{AccountID: b.AccountID, From: max(b.From, want.To.Add(1)), To: b.To, Game: b.Game,
				OS: b.OS})
		}
	}
	if want.Game != "" {
		out = append(out, want)
	}
	slices.SortFunc(out, func(a, b Binding) int { return slices.Compare([]day.Day{a.From}, []day.Day{b.From}) })
	return WithoutOverlaps(out)
}

// AccountBindings returns an account's bindings, by first day. They never overlap.
func (s GameBindings) AccountBindings(ctx context.Context, accountID int64) ([]Binding, error) {
	bindings, err := ReadBindings(s.Config.Writer(ctx).Where("account_id = ?", accountID))
	if err != nil {
		return nil, fmt.Errorf("read the bindings of account %d: %w", accountID, err)
	}
	return WithoutOverlaps(bindings), nil
}

// ChooseBinding gets an account's bindings, which do not overlap, and returns the new one for some days. Without a game
// those days become unbound.
type ChooseBinding func(have []Binding) (Binding, error)

// replan returns the bindings of an account without overlaps as they are, and as they are to be.
func replan(rows []Binding, accountID int64, choose ChooseBinding) (before, after []Binding, err error) {
	before = WithoutOverlaps(rows)
	want, err := choose(before)
	if err != nil {
		return nil, nil, err
	}
	if want.To < want.From {
		return nil, nil, fmt.Errorf("there are no days from %s to %s", want.From, want.To)
	}
	want.AccountID = accountID
	return before, rebound(rows, want), nil
}

// PlanRebind returns the bindings before and after a Rebind, and writes nothing.
func (s GameBindings) PlanRebind(
	ctx context.Context, accountID int64, choose ChooseBinding,
) (before, after []Binding, err error) {
	rows, err := ReadBindings(s.Config.Writer(ctx).Where("account_id = ?", accountID))
	if err == nil {
		before, after, err = replan(rows, accountID, choose)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("plan the bindings of account %d: %w", accountID, err)
	}
	return before, after, nil
}

// Rebind changes an account's bindings, and returns those before and after. The leader applies them to the summaries at
// its next reload.
func (s GameBindings) Rebind(ctx context.Context, actor string, accountID int64,
	choose ChooseBinding) (before, after []Binding, err error) {
	err = settings.Edit(ctx, s.Databases, settings.Editor{Actor: actor, Action: "account.rebind"}, "account_binding",
		[]int64{accountID}, func(tx *gorm.DB) error {
			// Of two changes at once the second waits.
			err := sqldb.One(tx.Clauses(sqldb.ForUpdate).Select("id").Where("id = ?", accountID), &settings.Account{})
			if err != nil {
				return err
			}
			rows, err := ReadBindings(tx.Clauses(sqldb.ForUpdate).Where("account_id = ?", accountID))
			if err != nil {
				return err
			}
			if before, after, err = replan(rows, accountID, choose); err != nil || slices.Equal(rows, after) {
				return err
			}
			if err := tx.Where("account_id = ?", accountID).Delete(&Binding{}).Error; err != nil {
				return err
			}
			values := make([][]any, len(after))
			for i, b := range after {
				values[i] = []any{b.AccountID, b.From, b.To, b.Game, b.OS}
			}
			return s.Config.Upsert(tx, sqldb.Table{Name: "account_binding", Key: []string{"account_id", "from_day"},
				Columns: []string{"to_day", "game", "os"}}, values)
		})
	if err != nil {
		return nil, nil, fmt.Errorf("bind account %d: %w", accountID, err)
	}
	return before, after, nil
}

// AddBindings writes the first bindings of accounts without any. audit_log records the actor.
func (s GameBindings) AddBindings(ctx context.Context, actor string, bindings []Binding) error {
	if len(bindings) == 0 {
		return nil
	}
	rows, accounts := make([][]any, len(bindings)), make([]int64, len(bindings))
	for i, b := range bindings {
		rows[i], accounts[i] = []any{b.AccountID, b.From, b.To, b.Game, b.OS}, b.AccountID
	}
	err := settings.Edit(ctx, s.Databases, settings.Editor{Actor: actor, Action: "account.rebind"}, "account_binding",
		accounts, func(tx *gorm.DB) error {
			return s.Config.Upsert(tx, sqldb.Table{Name: "account_binding", Key: []string{"account_id", "from_day"},
				Columns: []string{"to_day", "game", "os"}}, slices.Clone(rows))
		})
	if err != nil {
		return fmt.Errorf("bind %s: %w", plural.Count(len(bindings), "account", "accounts"), err)
	}
	return nil
}
