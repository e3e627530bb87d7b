package tencent

import (
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// oauth serves the token calls, which carry the app's secret instead of a token.
func (t *tencent) oauth(c *platform.Call) {
	if err := t.oauthAnswer(c); err != nil {
		t.fail(c, err)
	}
}

func (t *tencent) oauthAnswer(c *platform.Call) *platform.Failure {
	for _, name := range []string{"client_id", "client_secret"} {
		if c.Query.Get(name) == "" {
			return platform.Failf(18001, "%s", name)
		}
	}
	app, ok := c.Sim.World.AppByID(t.about, c.Query.Get("client_id"))
	if !ok || c.Query.Get("client_secret") != c.Sim.World.AppSecret(t.about, app) {
		return platform.Failf(11007, "")
	}
	c.App = strconv.FormatInt(c.Sim.World.AppID(t.about, app), 10)
	if c.Limited() {
		return nil
	}
	if c.Endpoint == "oauth/refresh_token" {
		return t.refresh(c, app, true)
	}
	switch grant := c.Query.Get("grant_type"); grant {
	case "":
		return platform.Failf(18001, "grant_type")
	case "refresh_token":
		return t.refresh(c, app, false)
	case "authorization_code":
		return t.exchange(c, app)
	default:
		return platform.Failf(18009, "grant_type %q", grant)
	}
}

// refresh issues a new access token. The plain call keeps the refresh token, extends its life and does not return it;
// rotate replaces it too.
func (t *tencent) refresh(c *platform.Call, app int, rotate bool) *platform.Failure {
	token := c.Query.Get("refresh_token")
	if token == "" {
		return platform.Failf(18001, "refresh_token")
	}
	got, state, err := c.Sim.Vault.Refreshed(t.about, app, token, c.Now, rotate)
	switch {
	case err != nil:
		c.Sim.Logger.Error("cannot save a token", "err", err)
		return platform.Failf(30021, "")
	case state == world.TokenExpired:
		return platform.Failf(11012, "")
	case state != world.TokenGood:
		return platform.Failf(11010, "")
	}
	w := begin(c)
	w.TextField("access_token", got.Access)
	if rotate {
		w.TextField("refresh_token", got.Refresh)
	}
	w.NumberField("access_token_expires_in", got.AccessExpires-c.Now)
	w.NumberField("refresh_token_expires_in", got.RefreshExpires-c.Now)
	end(c, &w)
	return nil
}

func (t *tencent) exchange(c *platform.Call, app int) *platform.Failure {
	for _, name := range []string{"authorization_code", "redirect_uri"} {
		if c.Query.Get(name) == "" {
			return platform.Failf(18001, "%s", name)
		}
	}
	l, got, state, err := c.Sim.Vault.Exchanged(t.about, app, c.Query.Get("authorization_code"),
		c.Query.Get("redirect_uri"), c.Now)
	switch {
	case err != nil:
		c.Sim.Logger.Error("cannot save a token", "err", err)
		return platform.Failf(30021, "")
	case state == world.TokenExpired:
		return platform.Failf(11009, "")
	case state == world.TokenUsed:
		return platform.Failf(11013, "")
	case state == world.TokenElsewhere:
		return platform.Failf(18009, "redirect_uri differs from that of the authorisation")
	case state != world.TokenGood:
		return platform.Failf(11011, "")
	}
	user, _ := t.about.User(c.Sim.World, l)
	w := begin(c)
	w.OpenObject("authorizer_info")
	w.NumberField("account_uin", 1_000_000+int64(l.Index))
	w.NumberField("account_id", user)
	w.OpenArray("scope_list")
	for _, scope := range []string{"ads_management", "ads_insights", "account_management"} {
		w.Text(scope)
	}
	w.Close(']')
	w.TextField("wechat_account_id", "")
	w.TextField("account_role_type", "ACCOUNT_ROLE_TYPE_"+string(tencentRoleOf(l)))
	w.TextField("account_type", "ACCOUNT_TYPE_QQ")
	w.Close('}')
	w.TextField("access_token", got.Access)
	w.TextField("refresh_token", got.Refresh)
	w.NumberField("access_token_expires_in", got.AccessExpires-c.Now)
	w.NumberField("refresh_token_expires_in", got.RefreshExpires-c.Now)
	end(c, &w)
	return nil
}
