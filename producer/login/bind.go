package login

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"adsync/base/config"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/client"
	"adsync/producer/binding"
)

// BindLogin binds accounts of a login, so that they are pulled, and gives them to the game of the request.
func (a Actions) BindLogin(ctx context.Context, id string, r client.BindLoginRequest) (client.BoundLogin, error) {
	var none client.BoundLogin
	order := binding.Order{Game: r.Game, GameName: r.GameName, OS: r.OS, From: r.From}
	if err := httpapi.RefusedFields(order.Check(a.Clock.Now())...); err != nil {
		return none, err
	}
	all := r.Scope != ""
	switch {
	case all && len(r.Accounts) > 0:
		return none, httpapi.Refused("scope", "does not go with accounts: leave one of the two out")
	case !all && len(r.Accounts) == 0:
		return none, httpapi.Refused("scope",
			`is missing: want accounts, or "scope": "all" for the accounts without a game`)
	}
	login, err := a.login(ctx, id)
	if err != nil {
		return none, err
	}
	newGame, err := order.IsNew(ctx, a.Store)
	if wrong, is := errors.AsType[*config.FieldError](err); is {
		err = httpapi.RefusedFields(wrong)
	}
	if err != nil {
		return none, err
	}
	if all {
		// This comes first: an account that appears meanwhile is bound by it, or is in the list below.
		if err := a.Store.SetChoose(ctx, login.ID, false); err != nil {
			return none, err
		}
	}
	accounts, err := a.chosen(ctx, login, r, all)
	if err != nil {
		return none, err
	}
	if newGame {
		if err := a.Store.PutGame(ctx, a.Actor, r.Game, r.GameName); err != nil {
			return none, err
		}
	}
	given, err := a.bind(ctx, login, accounts, r, all)
	login.Choose = login.Choose && !all
	return client.BoundLogin{Login: describe(login), Bound: int64(len(accounts)), GivenGame: int64(given)}, err
}

// login finds the login of an id.
func (a Actions) login(ctx context.Context, id string) (settings.Login, error) {
	logins, err := a.Store.Logins(ctx, "", "")
	at := slices.IndexFunc(logins, func(l settings.Login) bool { return strconv.FormatInt(l.ID, 10) == id })
	if err == nil && at < 0 {
		err = httpapi.NewProblem(http.StatusNotFound,
			"There is no login %.80q: want its id here, which the list of logins has.", id)
	}
	if err != nil {
		return settings.Login{}, err
	}
	return logins[at], nil
}

// chosen returns the accounts of the request. For the scope all it returns those that never had a game: an unbound
// account stays unbound.
func (a Actions) chosen(ctx context.Context, login settings.Login, r client.BindLoginRequest, all bool) (
	[]settings.LoginAccount, error,
) {
	accounts, err := a.Store.LoginAccounts(ctx, login.ID)
	if err != nil {
		return nil, err
	}
	if all {
		return slices.DeleteFunc(accounts, func(l settings.LoginAccount) bool { return l.Games }), nil
	}
	var some []settings.LoginAccount
	for _, name := range r.Accounts {
		of, id := settings.SplitName(name)
		if of != "" && of != login.Media {
			return nil, httpapi.Refused("accounts", "%q is not an account of %s: want the platform's id, or %s/ID", name,
				login.Media, login.Media)
		}
		i := slices.IndexFunc(accounts, func(l settings.LoginAccount) bool { return l.ExternalID == id })
		switch {
		case i < 0:
			return nil, httpapi.Refused("accounts", "the login does not reach %q", name)
		case accounts[i].Games && r.Game != "":
			return nil, httpapi.Refused("accounts", "%s has a game: adsync bind account %s/%s --game %s --os %s moves it", id,
				login.Media, id, r.Game, r.OS)
		}
		if !slices.ContainsFunc(some, func(l settings.LoginAccount) bool { return l.ID == accounts[i].ID }) {
			some = append(some, accounts[i])
		}
	}
	return some, nil
}

// bind binds accounts, and gives those without a game the game of the request. It returns how many it gave.
func (a Actions) bind(ctx context.Context, login settings.Login, accounts []settings.LoginAccount,
	r client.BindLoginRequest, all bool) (given int, err error) {
	changes := all && login.Choose
	ids := make([]int64, len(accounts))
	var bindings []summaries.Binding
	for i, account := range accounts {
		ids[i] = account.ID
		changes = changes || !account.Bound
		if r.Game != "" && !account.Games {
			bindings = append(bindings, summaries.Binding{AccountID: account.ID,
				From: cmp.Or(day.Day(r.From), summaries.FirstBoundDay), To: summaries.LastDay, Game: r.Game, OS: r.OS})
		}
	}
	// Each account that changes has an audit entry too. This one has the request.
	after, err := json.Marshal(map[string]any{"accounts": len(accounts), "all": all, "game": r.Game, "os": r.OS})
	if err == nil && (changes || len(bindings) > 0) {
		_, err = a.Store.AddAudit(ctx, settings.Audit{Actor: a.Actor, Action: "login.bind",
			Object: fmt.Sprintf("login/%d", login.ID), After: string(after)})
	}
	if err != nil {
		return 0, err
	}
	// The game comes first, so that it has the figures of the first pull.
	if err := a.Store.AddBindings(ctx, a.Actor, bindings); err != nil {
		return 0, err
	}
	return len(bindings), a.Store.BindAccounts(ctx, a.Actor, ids, true)
}
