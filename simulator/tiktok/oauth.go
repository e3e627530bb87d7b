package tiktok

import (
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// app checks the app's id and secret, which have two names each.
func (t *tiktok) app(c *platform.Call, id, secret string) (int, *platform.Failure) {
	for _, name := range []string{id, secret} {
		if c.Query.Get(name) == "" {
			return 0, wrong("%s: Missing data for required field.", name)
		}
	}
	app, ok := c.KnownApp(c.Query.Get(id), c.Query.Get(secret))
	if !ok {
		return 0, refusal(c, codeApp, "the app's id or secret is unknown")
	}
	return app, nil
}

// exchange returns the handler that exchanges a code, which works once and for an hour, for a token without an end. Its
// parameters have the given names.
func (t *tiktok) exchange(id, secret, code string) handler {
	return func(c *platform.Call, _ *world.Login, p *platform.Params) *platform.Failure {
		app, err := t.app(c, id, secret)
		if err != nil || c.Limited() {
			return err
		}
		if id == "client_id" {
			p.TextOf("grant_type", "", "authorization_code")
			if c.Query.Get("grant_type") == "" {
				return wrong("grant_type: Missing data for required field.")
			}
		}
		withIDs := p.TextOf("return_advertiser_ids", "true", "false") == "true"
		if p.Failure != nil {
			return p.Failure
		}
		l, got, state, failed := c.Sim.Vault.Exchanged(t.about, app, c.Query.Get(code), world.AnyRedirect, c.Now)
		if failed != nil {
			return t.unsaved(c, failed)
		}
		if state != world.TokenGood {
			return platform.Failf(codeAuthCode, "Auth_code is used, expired or unknown")
		}
		t.answer(c, func(w *platform.Writer) {
			w.TextField("access_token", got.Access)
			if withIDs {
				t.writeAccountIDs(c, w, l)
			}
			w.OpenArray("scope")
			w.Number(4)
			w.Number(220)
			w.Close(']')
		})
		return nil
	}
}

func (t *tiktok) unsaved(c *platform.Call, err error) *platform.Failure {
	return c.Unsaved(err, platform.Failf(codeSystem, "System error"))
}

// granted lists the accounts that a login has authorised.
func (t *tiktok) granted(c *platform.Call, l *world.Login) (list []world.Account) {
	for i := l.First; i < l.Last; i++ {
		if a := c.Sim.World.Account(t.about, i); c.Sim.World.Closed(&a) != world.LifeRevoked {
			list = append(list, a)
		}
	}
	return list
}

func (t *tiktok) writeAccountIDs(c *platform.Call, w *platform.Writer, l *world.Login) {
	w.OpenArray("advertiser_ids")
	for _, a := range t.granted(c, l) {
		w.Text(strconv.FormatInt(a.ID, 10))
	}
	w.Close(']')
}

// revoke ends a token. Its login needs a new authorisation.
func (t *tiktok) revoke(c *platform.Call, _ *world.Login, _ *platform.Params) *platform.Failure {
	app, err := t.app(c, "app_id", "secret")
	if err != nil || c.Limited() {
		return err
	}
	l, state := c.Sim.Vault.Access(t.about, c.Query.Get("access_token"), c.Now)
	if state != world.TokenGood || l.App() != app {
		return platform.Failf(codeBadToken, "Access token is incorrect or has been revoked.")
	}
	if failed := c.Sim.Vault.Kill(l, true, c.Now); failed != nil {
		return t.unsaved(c, failed)
	}
	t.answer(c, func(w *platform.Writer) {
		w.TextField("app_id", c.App)
		t.writeAccountIDs(c, w, l)
	})
	return nil
}

// advertisers lists the accounts that a login has authorised, without pages. The parameters name the token's app.
func (t *tiktok) advertisers(c *platform.Call, l *world.Login, _ *platform.Params) *platform.Failure {
	app, err := t.app(c, "app_id", "secret")
	if err != nil {
		return err
	}
	if app != l.App() {
		return platform.Failf(codeBadToken, "the access token is another app's")
	}
	t.answer(c, func(w *platform.Writer) {
		w.OpenArray("list")
		for _, a := range t.granted(c, l) {
			w.Open('{')
			w.TextField("advertiser_id", strconv.FormatInt(a.ID, 10))
			w.TextField("advertiser_name", a.Name())
			w.Close('}')
		}
		w.Close(']')
	})
	return nil
}
