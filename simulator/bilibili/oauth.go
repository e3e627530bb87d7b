package bilibili

import (
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

const (
	tokenCall = "oauth2/token" //nolint:gosec // the name of an endpoint
	// subjectAccounts is how many accounts a subject has at most.
	subjectAccounts = 40
)

// token answers oauth2/token (STACK): the exchange of a code and the refresh, whose form only follows the pattern of
// OAuth.
func (b *bilibili) token(c *platform.Call, _ caller, p *platform.Params) *platform.Failure {
	for _, name := range []string{"client_id", "client_secret", "grant_type"} {
		if c.Query.Get(name) == "" {
			return wrong(c, "%s is missing", name)
		}
	}
	app, ok := c.Sim.World.AppByID(b.about, c.Query.Get("client_id"))
	if !ok || c.Query.Get("client_secret") != c.Sim.World.AppSecret(b.about, app) {
		return c.Refusal(codeApp, "client_id or client_secret is unknown")
	}
	c.App = world.ObjectText(c.Sim.World.AppID(b.about, app))
	isRefresh := p.TextOf("grant_type", "authorization_code", "refresh_token") == "refresh_token"
	if p.Failure != nil || c.Limited() {
		return p.Failure
	}
	if isRefresh {
		return b.refresh(c, app)
	}
	return b.exchange(c, app)
}

func (b *bilibili) exchange(c *platform.Call, app int) *platform.Failure {
	if c.Query.Get("redirect_uri") == "" {
		return wrong(c, "redirect_uri is missing")
	}
	_, got, state, failed := c.Sim.Vault.Exchanged(b.about, app, c.Query.Get("code"), c.Query.Get("redirect_uri"), c.Now)
	if state != world.TokenGood {
		return c.Refusal(codeAuth, "code is unknown, used, expired, or of another redirect_uri")
	}
	return writeTokens(c, got, failed)
}

// refresh issues a new pair and kills the old one at once. A second use of an old refresh token has its own code and is
// logged: it is the race that a client with several processes must avoid.
func (b *bilibili) refresh(c *platform.Call, app int) *platform.Failure {
	token := c.Query.Get("refresh_token")
	got, state, failed := c.Sim.Vault.Refreshed(b.about, app, token, c.Now, true)
	if l := c.Sim.Vault.Replaced(b.about, token); state != world.TokenGood && l != nil {
		c.Sim.Logger.Warn("a replaced refresh token was used", "login", l.Name())
		return c.Refusal(codeReplaced, "refresh_token was replaced by a later one")
	}
	if state != world.TokenGood {
		return c.Refusal(codeRefresh, "refresh_token is unknown or expired")
	}
	return writeTokens(c, got, failed)
}

// writeTokens writes a pair, unless it could not be saved. The life of the refresh token is not told.
func writeTokens(c *platform.Call, t world.Tokens, failed error) *platform.Failure {
	if failed != nil {
		c.Sim.Logger.Error("cannot save a token", "err", failed)
		return c.Refusal(codeBusy, "system busy")
	}
	w := begin(c)
	w.Open('{')
	w.TextField("access_token", t.Access)
	w.NumberField("expires_in", t.AccessExpires-c.Now)
	w.TextField("refresh_token", t.Refresh)
	w.TextField("token_type", "Bearer")
	w.Close('}')
	end(c, &w)
	return nil
}

// user answers oauth2/user: who authorised. The guides name the call; its path and fields are chosen.
func (b *bilibili) user(c *platform.Call, by caller, _ *platform.Params) *platform.Failure {
	id, name := b.about.User(c.Sim.World, by.login)
	w := begin(c)
	w.Open('{')
	w.NumberField("user_id", id)
	w.TextField("user_name", name)
	w.Close('}')
	end(c, &w)
	return nil
}

// last returns the index after the last account that a login reaches. Authorisations may overlap (GUIDE).
func (b *bilibili) last(c *platform.Call, l *world.Login) int {
	return min(l.Last+int(c.Assumed(overlap)), c.Sim.World.Count(b.about))
}

func (b *bilibili) reaches(c *platform.Call, l *world.Login, index int) bool {
	return l.First <= index && index < b.last(c, l)
}

// subjectID returns the id of the subject (主体) that has an account in a login. It is the same in every login.
func subjectID(index int) int64 { return 9_000_001 + int64(index/subjectAccounts) }

// subjects answers oauth2/subjects (STACK), with all subjects that a login reaches. The fields are chosen.
func (b *bilibili) subjects(c *platform.Call, by caller, _ *platform.Params) *platform.Failure {
	w := begin(c)
	w.Open('[')
	for i := by.login.First; i < b.last(c, by.login); i++ {
		if i > by.login.First && subjectID(i) == subjectID(i-1) {
			continue
		}
		w.Open('{')
		w.NumberField("subject_id", subjectID(i))
		w.TextField("subject_name", c.Sim.World.Account(b.about, i).Company())
		w.Close('}')
	}
	w.Close(']')
	end(c, &w)
	return nil
}

// accounts answers oauth2/accounts, a page of a subject's accounts. The guides name the call; its path and fields are
// chosen. The list has no total: only an empty page ends it.
func (b *bilibili) accounts(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
	subject := p.Whole("subject_id")
	var list []world.Account
	known := false
	for i := by.login.First; i < b.last(c, by.login); i++ {
		a := c.Sim.World.Account(b.about, i)
		known = known || subjectID(i) == subject
		if subjectID(i) == subject && c.Sim.World.Closed(&a) != world.LifeRevoked {
			list = append(list, a)
		}
	}
	if p.Failure == nil && !known {
		return c.Refusal(codeForbidden, "no permission for subject %d", subject)
	}
	writePage(readPage(p), list, writeAccount)
	return nil
}

// account answers cpc/v3/account/get: an account's details. The guides name the call; its path and fields are chosen.
func (b *bilibili) account(c *platform.Call, by caller, _ *platform.Params) *platform.Failure {
	w := begin(c)
	w.Open('{')
	writeAccount(&w, by.account)
	w.TextField("company_name", by.account.Company())
	w.Close('}')
	end(c, &w)
	return nil
}

func writeAccount(w *platform.Writer, a *world.Account) {
	w.NumberField("account_id", a.ID)
	w.TextField("account_name", a.Name())
	w.NumberField("subject_id", subjectID(a.Index))
}
