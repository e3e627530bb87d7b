package kuaishou

import (
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// approvedMax is the largest page of the list of accounts.
const approvedMax = 200

// app checks the app's id and secret, which the token calls have in their body.
func app(c *platform.Call) (int, *platform.Failure) {
	for _, name := range []string{"app_id", "secret"} {
		if c.Query.Get(name) == "" {
			return 0, wrong(c, "%s is missing", name)
		}
	}
	app, ok := c.KnownApp(c.Query.Get("app_id"), c.Query.Get("secret"))
	if !ok {
		return 0, c.Refusal(codeApp, "the app's id or secret is unknown")
	}
	return app, nil
}

func (k *kuaishou) exchange(c *platform.Call, _ *world.Account, _ *platform.Params) *platform.Failure {
	app, err := app(c)
	if err != nil || c.Limited() {
		return err
	}
	l, got, state, failed := c.Sim.Vault.Exchanged(k.about, app, c.Query.Get("auth_code"), world.AnyRedirect, c.Now)
	if failed != nil {
		return c.Unsaved(failed, c.Refusal(codeBusy, "service is unavailable"))
	}
	if state != world.TokenGood {
		return c.Refusal(codeAuth, "auth_code is unknown, used or expired")
	}
	k.writeTokens(c, got, l)
	return nil
}

// refresh issues a new pair.
func (k *kuaishou) refresh(c *platform.Call, _ *world.Account, _ *platform.Params) *platform.Failure {
	app, err := app(c)
	if err != nil || c.Limited() {
		return err
	}
	got, state, failed := c.Sim.Vault.Refreshed(k.about, app, c.Query.Get("refresh_token"), c.Now, true)
	if failed != nil {
		return c.Unsaved(failed, c.Refusal(codeBusy, "service is unavailable"))
	}
	if state != world.TokenGood {
		return c.Refusal(codeRefresh, "refresh_token is unknown, replaced or expired")
	}
	k.writeTokens(c, got, nil)
	return nil
}

// writeTokens writes a pair and, after an authorisation, the user's own account.
func (k *kuaishou) writeTokens(c *platform.Call, t world.Tokens, l *world.Login) {
	w := begin(c)
	w.Open('{')
	w.TextField("access_token", t.Access)
	w.NumberField("access_token_expires_in", t.AccessExpires-c.Now)
	w.TextField("refresh_token", t.Refresh)
	w.NumberField("refresh_token_expires_in", t.RefreshExpires-c.Now)
	if l != nil {
		user, _ := k.about.User(c.Sim.World, l)
		w.NumberField("advertiser_id", user)
	}
	w.Close('}')
	k.end(c, &w)
}

// approved lists the accounts that a login has authorised. The access token is in the body. The list has no total: only
// an empty page ends it.
func (k *kuaishou) approved(c *platform.Call, _ *world.Account, p *platform.Params) *platform.Failure {
	if _, err := app(c); err != nil {
		return err
	}
	l, err := login(c, c.Query.Get("access_token"))
	if err != nil || c.Limited() {
		return err
	}
	page, size := p.Integer("page_no", 0, 99_999), p.Integer("page_size", 0, approvedMax)
	list := c.Permitted(l)
	from, to := c.PageWithoutTotal(page, size, len(list))
	c.Code = int(c.Assumed(approvalCode))
	w := platform.Writer{Bytes: c.Body[:0]}
	w.Open('{')
	w.NumberField("code", int64(c.Code))
	w.TextField("message", "成功")
	w.OpenObject("data")
	w.OpenArray("details")
	for _, a := range list[from:to] {
		w.Number(a.ID)
	}
	w.Close(']')
	w.Key("isEnd")
	w.Flag((page-1)*size >= len(list))
	w.Close('}')
	k.end(c, &w)
	return nil
}

func (k *kuaishou) info(c *platform.Call, a *world.Account, _ *platform.Params) *platform.Failure {
	w := begin(c)
	w.Open('{')
	w.NumberField("user_id", 1_500_000_000+int64(a.Index))
	w.TextField("user_name", a.Name())
	w.TextField("corporation_name", a.Company())
	w.NumberField("industry_id", 1087)
	w.TextField("industry_name", "手机游戏")
	w.NumberField("primary_industry_id", 1011)
	w.TextField("primary_industry_name", "游戏")
	w.TextField("product_name", a.Name())
	w.NumberField("delivery_type", 0)
	w.Close('}')
	k.end(c, &w)
	return nil
}
