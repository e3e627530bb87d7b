// Package binding changes to which game an account's days belong, and whether the account is pulled. The API and the
// commands that work on the tables share it. A change can be planned first: a plan has the days and the sums that
// would move, and writes nothing.
package binding

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"adsync/base/config"
	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/schedule"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/client"
)

// Store is what the package needs of the store.
type Store interface {
	Games(ctx context.Context) ([]string, error)
	PutGame(ctx context.Context, actor, code, name string) error
	AccountBindings(ctx context.Context, accountID int64) ([]summaries.Binding, error)
	PlanRebind(ctx context.Context, accountID int64, choose summaries.ChooseBinding) (before, after []summaries.Binding,
		err error)
	Rebind(ctx context.Context, actor string, accountID int64, choose summaries.ChooseBinding) (before,
		after []summaries.Binding, err error)
	SumDays(ctx context.Context, accountID int64, from, to day.Day) ([]summaries.DaySum, error)
	BindAccounts(ctx context.Context, actor string, ids []int64, bound bool) error
	AccountLogins(ctx context.Context, accountID int64) ([]settings.AccountLogin, error)
	ChooseLogin(ctx context.Context, accountID, tokenID int64) error
	AddAudit(ctx context.Context, a settings.Audit) (int64, error)
}

// Change is a change of one account's bindings.
type Change struct {
	Store   Store
	Actor   string // who makes it, for audit_log
	Account settings.Account
	Now     time.Time // by the database
	DryRun  bool      // nothing is written
}

// Bind carries out an order, which Check has passed. A name in it that is not known is refused with a
// *config.FieldError.
func (c Change) Bind(ctx context.Context, o Order) (client.Rebinding, error) {
	today, err := c.today()
	if err != nil {
		return client.Rebinding{}, err
	}
	newGame, err := o.IsNew(ctx, c.Store)
	if err != nil {
		return client.Rebinding{}, err
	}
	if o.Login != "" {
		if err := c.chooseLogin(ctx, o.Login); err != nil {
			return client.Rebinding{}, err
		}
	}
	if newGame && !c.DryRun {
		if err := c.Store.PutGame(ctx, c.Actor, o.Game, o.GameName); err != nil {
			return client.Rebinding{}, err
		}
	}
	answer, err := c.rebind(ctx, o.Game != "", func(have []summaries.Binding) (summaries.Binding,
		error) {
		return o.binding(have, today), nil
	})
	if err != nil {
		return client.Rebinding{}, err
	}
	answer.Login = o.Login
	answer.Pulled = c.Account.Bound || o.pulls(today)
	if answer.Pulled && !c.Account.Bound && !c.DryRun {
		err = c.Store.BindAccounts(ctx, c.Actor, []int64{c.Account.ID}, true)
	}
	return answer, err
}

// Unbind ends the pulling of the account, and leaves it without a game from a day on: from tomorrow if none is given,
// since what it spent today it spent for its game.
func (c Change) Unbind(ctx context.Context, from day.Day) (client.Rebinding, error) {
	if from == "" {
		today, err := c.today()
		if err != nil {
			return client.Rebinding{}, err
		}
		from = today.Add(1)
	}
	if !c.DryRun {
		// This comes first: what is pulled meanwhile should still have its game.
		if err := c.Store.BindAccounts(ctx, c.Actor, []int64{c.Account.ID}, false); err != nil {
			return client.Rebinding{}, err
		}
	}
	return c.rebind(ctx, true, func([]summaries.Binding) (summaries.Binding, error) {
		return summaries.Binding{From: from, To: summaries.LastDay}, nil
	})
}

// today is the account's present day.
func (c Change) today() (day.Day, error) {
	zone, err := schedule.Zone(c.Account.Timezone)
	if err != nil {
		return "", err
	}
	return day.Of(c.Now, zone), nil
}

// chooseLogin has the account pulled with a login while that can be used. Choosing the chosen one changes nothing,
// and leaves no entry.
func (c Change) chooseLogin(ctx context.Context, login string) error {
	logins, err := c.Store.AccountLogins(ctx, c.Account.ID)
	if err != nil {
		return err
	}
	var names []string
	for i := range logins {
		l := &logins[i]
		names = append(names, l.Login.Login)
		if l.Login.Login != login {
			continue
		}
		if l.Chosen || c.DryRun {
			return nil
		}
		after, err := json.Marshal(map[string]string{"login": login})
		if err != nil {
			return err
		}
		chosen := settings.Audit{
			Actor: c.Actor, Action: "account.choose_login", Object: "media_account/" + c.Account.Media + "/" +
				c.Account.ExternalID, After: string(after),
		}
		if _, err := c.Store.AddAudit(ctx, chosen); err != nil {
			return err
		}
		return c.Store.ChooseLogin(ctx, c.Account.ID, l.ID)
	}
	want := "nothing: no login reaches the account"
	if len(names) > 0 {
		want = "one of those that reach the account: " + strings.Join(names, ", ")
	}
	return &config.FieldError{Key: "login", Value: login, Want: want}
}

// rebind changes the bindings if that is wanted, or plans the change, and returns the days and sums that move.
func (c Change) rebind(ctx context.Context, wanted bool, choose summaries.ChooseBinding) (client.Rebinding, error) {
	answer := client.Rebinding{DryRun: c.DryRun, Media: c.Account.Media, ExternalID: c.Account.ExternalID,
		Moves: []client.BindingMove{}}
	var before, after []summaries.Binding
	var err error
	switch {
	case !wanted:
		before, err = c.Store.AccountBindings(ctx, c.Account.ID)
		after = before
	case c.DryRun:
		before, after, err = c.Store.PlanRebind(ctx, c.Account.ID, choose)
	default:
		before, after, err = c.Store.Rebind(ctx, c.Actor, c.Account.ID, choose)
	}
	if err != nil {
		return answer, err
	}
	answer.Before, answer.After = Describe(before), Describe(after)
	for _, span := range summaries.BindingDifferences(before, after) {
		was, _ := summaries.BindingOn(before, span.From)
		is, _ := summaries.BindingOn(after, span.From)
		move := client.BindingMove{From: string(span.From), To: last(span.To), OldGame: was.Game, OldOS: was.OS,
			NewGame: is.Game, NewOS: is.OS}
		sums, err := c.Store.SumDays(ctx, c.Account.ID, span.From, span.To)
		if err != nil {
			return answer, err
		}
		move.Sums = describeSums(sums)
		answer.Moves = append(answer.Moves, move)
	}
	return answer, nil
}

// WithSums returns bindings as the API shows them, with what the days of each add up to.
func WithSums(ctx context.Context, s Store, accountID int64, bindings []summaries.Binding) ([]client.BoundDays, error) {
	shown := make([]client.BoundDays, len(bindings))
	for i, b := range bindings {
		sums, err := s.SumDays(ctx, accountID, b.From, b.To)
		if err != nil {
			return nil, err
		}
		shown[i] = client.BoundDays{From: string(b.From), To: last(b.To), Game: b.Game, OS: b.OS, Sums: describeSums(sums)}
	}
	return shown, nil
}

// Describe returns bindings as the API shows them.
func Describe(bindings []summaries.Binding) []client.Binding {
	shown := make([]client.Binding, len(bindings))
	for i, b := range bindings {
		shown[i] = client.Binding{From: string(b.From), To: last(b.To), Game: b.Game, OS: b.OS}
	}
	return shown
}

// last is the last day of a binding; "" where it has no end.
func last(d day.Day) string {
	if d == summaries.LastDay {
		return ""
	}
	return string(d)
}

// describeSums returns sums of days as the API shows them.
func describeSums(sums []summaries.DaySum) []client.DaySum {
	shown := make([]client.DaySum, len(sums))
	for i, s := range sums {
		figures := map[string]int64{}
		for m, name := range metric.Names() {
			if value, has := s.Sums.Get(m); has {
				figures[name] = value
			}
		}
		shown[i] = client.DaySum{Currency: s.Currency, Days: int64(s.Days), First: string(s.First), Last: string(s.Last),
			Figures: figures}
	}
	return shown
}
