package simulator

import "strconv"

// oauth serves the token calls, which carry the app's own secret instead of a token.
func (t *tencent) oauth(c *call) {
	if err := t.oauthAnswer(c); err != nil {
		t.fail(c, err)
	}
}

func (t *tencent) oauthAnswer(c *call) *apiError {
	for _, name := range []string{"client_id", "client_secret"} {
		if c.query.Get(name) == "" {
			return failure(18001, "%s", name)
		}
	}
	app, ok := c.sim.world.appByID(t.about, c.query.Get("client_id"))
	if !ok || c.query.Get("client_secret") != c.sim.world.appSecret(t.about, app) {
		return failure(11007, "")
	}
	c.app = strconv.FormatInt(c.sim.world.appID(t.about, app), 10)
	if c.limited() {
		return nil
	}
	if c.endpoint == "oauth/refresh_token" {
		return t.refresh(c, app, true)
	}
	switch grant := c.query.Get("grant_type"); grant {
	case "":
		return failure(18001, "grant_type")
	case "refresh_token":
		return t.refresh(c, app, false)
	case "authorization_code":
		return t.exchange(c, app)
	default:
		return failure(18009, "grant_type %q", grant)
	}
}

// refresh gives a new access token. The plain call leaves the refresh token and pushes its end forward, and says
// nothing of it; rotate replaces it too.
func (t *tencent) refresh(c *call, app int, rotate bool) *apiError {
	token := c.query.Get("refresh_token")
	if token == "" {
		return failure(18001, "refresh_token")
	}
	got, state, err := c.sim.vault.refreshed(t.about, app, token, c.now, rotate)
	switch {
	case err != nil:
		c.sim.logger.Error("cannot save a token", "err", err)
		return failure(30021, "")
	case state == tokenExpired:
		return failure(11012, "")
	case state != tokenGood:
		return failure(11010, "")
	}
	w := t.begin(c)
	w.textField("access_token", got.Access)
	if rotate {
		w.textField("refresh_token", got.Refresh)
	}
	w.numberField("access_token_expires_in", got.AccessExpires-c.now)
	w.numberField("refresh_token_expires_in", got.RefreshExpires-c.now)
	t.end(c, &w)
	return nil
}

func (t *tencent) exchange(c *call, app int) *apiError {
	for _, name := range []string{"authorization_code", "redirect_uri"} {
		if c.query.Get(name) == "" {
			return failure(18001, "%s", name)
		}
	}
	l, got, state, err := c.sim.vault.exchanged(t.about, app, c.query.Get("authorization_code"), c.query.Get("redirect_uri"), c.now)
	switch {
	case err != nil:
		c.sim.logger.Error("cannot save a token", "err", err)
		return failure(30021, "")
	case state == tokenExpired:
		return failure(11009, "")
	case state == tokenUsed:
		return failure(11013, "")
	case state == tokenElsewhere:
		return failure(18009, "redirect_uri is another than at the authorisation")
	case state != tokenGood:
		return failure(11011, "")
	}
	user, _ := t.about.user(c.sim.world, l)
	w := t.begin(c)
	w.openObject("authorizer_info")
	w.numberField("account_uin", 1_000_000+int64(l.index))
	w.numberField("account_id", user)
	w.openArray("scope_list")
	for _, scope := range []string{"ads_management", "ads_insights", "account_management"} {
		w.text(scope)
	}
	w.close(']')
	w.textField("wechat_account_id", "")
	w.textField("account_role_type", "ACCOUNT_ROLE_TYPE_"+string(tencentRoleOf(l)))
	w.textField("account_type", "ACCOUNT_TYPE_QQ")
	w.close('}')
	w.textField("access_token", got.Access)
	w.textField("refresh_token", got.Refresh)
	w.numberField("access_token_expires_in", got.AccessExpires-c.now)
	w.numberField("refresh_token_expires_in", got.RefreshExpires-c.now)
	t.end(c, &w)
	return nil
}
