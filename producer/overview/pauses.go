package overview

import (
	"cmp"
	"context"
	"fmt"

	"adsync/base/ratelimit/grant"
	"adsync/client"
)

// The endpoint and scope by which the API ends a rest of a login's refresh like a pause.
const (
	RefreshPoint = "token_refresh"
	LoginScope   = "login"
)

// addRests lists the logins whose refresh rests, since the platform refused it or asked for a pause.
func (l *loginItems) addRests(ctx context.Context) error {
	resting, err := l.store.RestingLogins(ctx, "", groupRowsMax)
	if err != nil {
		return err
	}
	for i := range resting {
		r := &resting[i]
		a := item{Attention: client.Attention{Kind: "refresh_rests", Severity: Note, Media: r.Media, Accounts: r.Accounts,
			MoneyOf: "a day is pulled with it",
			Title: "The tokens of the login " + cmp.Or(r.Name, r.Login.Login) + " are not refreshed until " +
				moment(r.Until, l.o.At),
			Cause:  sentence(cmp.Or(r.Reason, "the last try failed")),
			Remedy: "The refresh is tried again automatically then. Until its access token ends, calls use it. " + endsEarly,
			Command: fmt.Sprintf("adsync limits end-pause --media %s --endpoint %s --subject %s", r.Media, RefreshPoint,
				quote(r.Login.Login))}}
		if !r.AccessExpires.After(l.o.Business) {
			a.Severity, a.MoneyOf = Warn, "a day is not pulled"
			a.Remedy = "Its access token has ended, so its accounts wait. The refresh is tried again automatically then. " +
				endsEarly
		}
		if r.Tries > 1 {
			a.Cause += fmt.Sprintf(" %d tries have failed.", r.Tries)
		}
		if a.ids, err = l.store.AccountsOfLogin(ctx, r.ID, stakeAccountsMax); err != nil {
			return err
		}
		l.add(a)
	}
	return nil
}

// endsEarly is of the commands that end a rest or a pause.
const endsEarly = "The command previews ending it now, and with --yes ends it."

// pauseItems lists the endpoints that take no calls for a time.
type pauseItems struct{ *facts }

func (l *pauseItems) addPauses(context.Context) error {
	for _, p := range l.o.Pauses {
		what := cmp.Or(p.Endpoint, "any endpoint")
		ids := l.heldBack(p)
		a := item{Attention: client.Attention{Kind: "calls_paused", Severity: Note, Media: p.Media,
			Title:    "No calls of " + what + " until " + moment(p.Until, l.o.At),
			Accounts: int64(len(ids)), MoneyOf: "a day of these accounts",
			Cause:   "The platform has refused a call as over its limit, or asked for a pause.",
			Remedy:  "Calls continue automatically then. " + endsEarly,
			Command: "adsync limits end-pause --media " + p.Media}, ids: ids}
		if p.Endpoint != "" {
			a.Command += " --endpoint " + quote(p.Endpoint)
		}
		if p.Times > 1 {
			a.Cause = fmt.Sprintf(
				"The platform has refused calls as over its limit, or asked for a pause, %d times since this was first counted.",
				p.Times)
			a.Remedy = "Calls continue automatically then. Pauses that repeat have one of two reasons. The limit is lower " +
				"than we know: lower calls of its row of rate_limit to what the platform's console shows. Or other programs " +
				"use the same app: lower share of the row to what they leave us. A change holds within seconds."
		}
		l.add(a)
	}
	return nil
}

// heldBack returns the active accounts whose calls a pause holds back.
func (l *pauseItems) heldBack(p client.PauseOverview) (ids []int64) {
	for _, a := range l.pulled[p.Media] {
		subject := a.AppID
		if p.Scope == string(grant.ScopeAccount) {
			subject = a.ExternalID
		}
		if p.Subject == "" || p.Subject == subject {
			ids = append(ids, a.ID)
		}
	}
	return ids
}
