package summaries

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/lease"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/store/widemark"
)

// Binding is the game and os of an account on some days, both included. It is a row of account_binding or
// binding_applied.
type Binding struct {
	AccountID int64
	From      day.Day `gorm:"column:from_day"`
	To        day.Day `gorm:"column:to_day"`
	Game, OS  string
}

// TableName implements schema.Tabler.
func (Binding) TableName() string { return "account_binding" }

// Bindings returns the bindings that operators wrote, by account and first day. They may overlap.
func (s GameBindings) Bindings(ctx context.Context) ([]Binding, error) {
	all, err := ReadBindings(s.Config.Writer(ctx))
	for i := range all { // For a server 'chess' and 'chess ' are one key: one's sum would overwrite the other's.
		all[i].Game, all[i].OS = strings.TrimRight(all[i].Game, " "), strings.TrimRight(all[i].OS, " ")
	}
	return all, err
}

// AppliedBindings returns the bindings with which summaries are built, by account and first day. They never overlap.
func (s GameBindings) AppliedBindings(ctx context.Context) ([]Binding, error) {
	return ReadBindings(s.Data.Writer(ctx).Table("binding_applied"))
}

// ReadBindings returns the rows that a query chooses, in the order of the primary key.
func ReadBindings(query *gorm.DB) (all []Binding, err error) {
	if err := query.Order("account_id, from_day").Find(&all).Error; err != nil {
		return nil, fmt.Errorf("read bindings: %w", err)
	}
	return all, nil
}

// BindingChange is a change of one account's applied bindings.
type BindingChange struct {
	AccountID int64
	Bindings  []Binding // all that apply from now on; they must not overlap
	Touched   []Binding // the days whose game or os changes; Game and OS are not read
}

// span is days whose bindings change, both included, and the accounts on which they do.
type span struct {
	from, to   day.Day
	accountIDs []int64
}

// spansOf returns the touched days of all changes. Accounts with the same days share the statements about them: those
// that are bound for the first time have all their days.
func spansOf(changes []BindingChange) []span {
	var spans []span
	at := map[[2]day.Day]int{}
	for _, c := range changes {
		for _, t := range c.Touched {
			days := [2]day.Day{t.From, t.To}
			i, known := at[days]
			if !known {
				i = len(spans)
				at[days] = i
				spans = append(spans, span{from: t.From, to: t.To})
			}
			spans[i].accountIDs = append(spans[i].accountIDs, c.AccountID)
		}
	}
	return spans
}

// ApplyBindings replaces the applied bindings of accounts and marks the touched days for a new summary, in one
// transaction. It returns lease.ErrStaleLease when the lease does not hold.
func (s GameBindings) ApplyBindings(ctx context.Context, l lease.Lease, changes []BindingChange) error {
	// Rows of coverage for new days must wait: otherwise a rebuild could count such a day for the previous game, and
	// nothing would mark it again.
	err := leader.SerializableTx(ctx, s.Data, l, func(tx *gorm.DB) error {
		now, err := s.Data.NowTx(tx)
		if err != nil {
			return err
		}
		mark := now.UnixMicro()
		var ids []int64
		var rows [][]any
		for _, c := range changes {
			ids = append(ids, c.AccountID)
			for _, b := range c.Bindings {
				rows = append(rows, []any{c.AccountID, b.From, b.To, b.Game, b.OS, 1})
			}
		}
		slices.Sort(ids)
		spans := spansOf(changes)
		// Coverage first: pulls lock it for their whole transaction, and wait for none of our locks.
		for _, x := range spans {
			// The mark must change: a rebuild under way clears only the mark that it has read.
			err := tx.Exec("UPDATE coverage SET dirty = CASE WHEN dirty >= ? THEN dirty + 1 ELSE ? END"+
				" WHERE account_id IN ? AND report IN ('report_daily', 'report_hourly') AND level = 'account' AND day >= ?"+
				" AND day <= ?", mark, mark, x.accountIDs, x.from, x.to).Error
			if err != nil {
				return fmt.Errorf("mark days from %s to %s: %w", x.from, x.to, err)
			}
		}
		for _, x := range spans {
			if err := markRebound(s.Data, tx, x, mark); err != nil {
				return err
			}
		}
		if err := tx.Exec("DELETE FROM binding_applied WHERE account_id IN ?", ids).Error; err != nil {
			return err
		}
		err = s.Data.Upsert(tx, sqldb.Table{Name: "binding_applied", Key: []string{"account_id", "from_day"},
			Columns: []string{"to_day", "game", "os", "noted"}}, rows)
		if err != nil {
			return err
		}
		// Days that a report adds meanwhile cannot be marked here: the account's own mark reaches them later.
		if err := widemark.Span(tx, ids, day.Epoch, day.Epoch, mark); err != nil {
			return err
		}
		for _, x := range spans {
			if err := widemark.Span(tx, x.accountIDs, x.from, x.to, mark); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("apply the bindings of %s: %w", plural.Count(len(changes), "account", "accounts"), err)
	}
	return nil
}
