package platform

import (
	"net/http"
	"strconv"
	"time"

	"adsync/simulator/fault/trap"
	"adsync/simulator/limit"
	"adsync/simulator/world"
)

// Login returns the login of an access token, and sets the call's app and account. The failures are those of a token
// that is missing, unknown or expired.
func (c *Call) Login(token string, missing, unknown, expired *Failure) (*world.Login, *Failure) {
	if token == "" {
		return nil, missing
	}
	l, state := c.Sim.Vault.Access(c.Spec, token, c.Now)
	if l != nil {
		c.App = world.ObjectText(c.Sim.World.AppID(c.Spec, l.App()))
	}
	switch state {
	case world.TokenGood:
	case world.TokenExpired:
		return nil, expired
	default:
		return nil, unknown
	}
	if a, ok := c.Sim.World.LookupText(c.Spec, c.Query.Get(c.Spec.AccountParam)); ok {
		c.Account = world.ObjectText(a.ID)
	}
	return l, nil
}

// Reached returns an account by its id, if a login reaches it and the platform has not closed it.
func (c *Call) Reached(l *world.Login, id string, forbidden, closed *Failure) (world.Account, *Failure) {
	a, ok := c.Sim.World.LookupText(c.Spec, id)
	if !ok || !l.Reaches(a.Index) {
		return world.Account{}, forbidden
	}
	switch c.Sim.World.Closed(&a) {
	case world.LifeFrozen:
		return world.Account{}, closed
	case world.LifeRevoked:
		return world.Account{}, forbidden
	}
	return a, nil
}

// Permitted lists the accounts of a login, without those that it has lost the permission for.
func (c *Call) Permitted(l *world.Login) (list []world.Account) {
	for i := l.First; i < l.Last; i++ {
		if a := c.Sim.World.Account(c.Spec, i); c.Sim.World.Closed(&a) != world.LifeRevoked {
			list = append(list, a)
		}
	}
	return list
}

// KnownApp returns the app of an id and a secret, and sets it as the call's. ok is false if one of them is unknown.
func (c *Call) KnownApp(id, secret string) (app int, ok bool) {
	app, ok = c.Sim.World.AppByID(c.Spec, id)
	if !ok || secret != c.Sim.World.AppSecret(c.Spec, app) {
		return 0, false
	}
	c.App = world.ObjectText(c.Sim.World.AppID(c.Spec, app))
	return app, true
}

// Unsaved logs that a token could not be saved, and returns the platform's answer to that.
func (c *Call) Unsaved(err error, answer *Failure) *Failure {
	c.Sim.Logger.Error("cannot save a token", "err", err)
	return answer
}

// RefuseAs sets the HTTP status of a refusal by a limit. 429 comes with the seconds to wait.
func (c *Call) RefuseAs(status int, r limit.Refusal) {
	if c.Status = status; status == http.StatusTooManyRequests {
		c.Header.Set("Retry-After", strconv.Itoa(int((r.RetryIn+time.Second-1)/time.Second)))
	}
}

// MeetRows counts the traps of a file's rows.
func (c *Call) MeetRows(view *world.View) {
	if view.Fell {
		c.Sim.Switches.Meet(trap.FiguresFall)
	}
	if view.Grew {
		c.Sim.Switches.Meet(trap.CohortGrows)
	}
}
