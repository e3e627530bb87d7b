package baidu

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// The token calls have their credentials in the body and an envelope of their own (page 100441).

// managerBase is the id of the first login's manager. It is above the ids of all accounts.
const managerBase = 60_000_000

// isManager reports whether a login is a manager's. A login that reaches one account is this account's own.
func isManager(l *world.Login) bool { return l.Last-l.First > 1 }

// master returns the user of a login: a manager, or its only account.
func master(w *world.World, l *world.Login) (int64, string) {
	if isManager(l) {
		return managerBase + int64(l.Index), fmt.Sprintf("星尘管家%d", l.Index+1)
	}
	a := w.Account(l.Platform, l.First)
	return a.ID, a.Name()
}

// sign adds the callback's parameters. The signature is that of all others as JSON, in the order of their names.
func sign(w *world.World, l *world.Login, now int64, to url.Values) {
	user, _ := master(w, l)
	to.Set("appId", strconv.FormatInt(w.AppID(l.Platform, l.App()), 10))
	to.Set("userId", strconv.FormatInt(user, 10))
	to.Set("timestamp", strconv.FormatInt(now*1000, 10))
	to.Set("signature", signature(to, w.AppSecret(l.Platform, l.App())))
}

// signature encrypts parameters: AES-128-CBC over Base64, in upper-case hex. Bytes of zero fill the last block.
func signature(of url.Values, secret string) string {
	w := platform.Writer{}
	w.Open('{')
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if name != "signature" {
			w.TextField(name, of.Get(name))
		}
	}
	w.Close('}')
	text := []byte(base64.StdEncoding.EncodeToString(w.Bytes))
	text = append(text, make([]byte, (aes.BlockSize-len(text)%aes.BlockSize)%aes.BlockSize)...)
	block, err := aes.NewCipher([]byte(secret[:aes.BlockSize]))
	if err != nil {
		panic(err) // The key has the right length.
	}
	//nolint:gosec // The platform's signature starts from zeros.
	cipher.NewCBCEncrypter(block, make([]byte, aes.BlockSize)).CryptBlocks(text, text)
	return fmt.Sprintf("%X", text)
}

func failOauth(c *platform.Call, err *platform.Failure) {
	c.Code = err.Code
	w := beginOauth(c, err.Code, err.Detail)
	w.Raw("null}")
	c.Body = w.Bytes
}

// beginOauth writes the start of an answer, up to the value of data.
func beginOauth(c *platform.Call, code int, message string) platform.Writer {
	w := platform.Writer{Bytes: c.Body[:0]}
	w.Open('{')
	w.NumberField("code", int64(code))
	w.TextField("message", message)
	w.Key("data")
	return w
}

// app checks the app's id and secret.
func app(c *platform.Call) (int, *platform.Failure) {
	for _, name := range []string{"appId", "secretKey", "userId"} {
		if c.Query.Get(name) == "" {
			return 0, platform.Failf(codeOauth, "%s is missing", name)
		}
	}
	app, ok := c.KnownApp(c.Query.Get("appId"), c.Query.Get("secretKey"))
	if !ok {
		return 0, c.Refusal(codeApp, "appId or secretKey is unknown")
	}
	return app, nil
}

// exchange answers a code. The page has two values of grantType: one in its table, one in its sample.
func (b *baidu) exchange(c *platform.Call, _ caller, p *platform.Params) *platform.Failure {
	app, err := app(c)
	p.TextOf("grantType", "auth_code", "access_token")
	if err != nil || p.Failure != nil || c.Limited() {
		return err
	}
	l, got, state, failed := c.Sim.Vault.Exchanged(b.about, app, c.Query.Get("authCode"), world.AnyRedirect, c.Now)
	if failed != nil {
		return c.Unsaved(failed, platform.Failf(codeSystem, "system error"))
	}
	if state != world.TokenGood {
		return c.Refusal(codeAuth, "authCode is unknown, used or expired")
	}
	b.writeTokens(c, l, got, got.Refresh)
	return nil
}

func (b *baidu) refresh(c *platform.Call, _ caller, _ *platform.Params) *platform.Failure {
	app, err := app(c)
	if err != nil || c.Limited() {
		return err
	}
	how := c.Assumed(refreshToken)
	got, state, failed := c.Sim.Vault.Refreshed(b.about, app, c.Query.Get("refreshToken"), c.Now, how == 1)
	if failed != nil {
		return c.Unsaved(failed, platform.Failf(codeSystem, "system error"))
	}
	if state != world.TokenGood {
		return c.Refusal(codeRefresh, "refreshToken is unknown, replaced or expired")
	}
	l, _ := c.Sim.Vault.Access(b.about, got.Access, c.Now)
	refresh := got.Refresh
	if how == 2 {
		refresh = ""
	}
	b.writeTokens(c, l, got, refresh)
	return nil
}

// openID is the id of a login's user for an app.
func openID(l *world.Login) string { return strconv.Itoa(8_000_000 + l.Index) }

func (b *baidu) writeTokens(c *platform.Call, l *world.Login, t world.Tokens, refresh string) {
	user, _ := master(c.Sim.World, l)
	w := beginOauth(c, 0, "success")
	w.Open('{')
	w.TextField("accessToken", t.Access)
	w.TextField("refreshToken", refresh)
	w.TextField("openId", openID(l))
	w.NumberField("userId", user)
	w.TextField("expiresTime", c.Moment(t.AccessExpires))
	w.NumberField("expiresIn", t.AccessExpires-c.Now)
	w.TextField("refreshExpiresTime", c.Moment(t.RefreshExpires))
	w.NumberField("refreshExpiresIn", t.RefreshExpires-c.Now)
	w.Close('}')
	w.Close('}')
	c.Body = w.Bytes
}

// subUsersMax is the largest page of a manager's accounts, and subUsersUsual that of a call without a size.
const (
	subUsersMax   = 500
	subUsersUsual = 100
)

// userInfo answers who a login is. A manager's accounts come in pages, each after the largest id of the one before.
func (b *baidu) userInfo(c *platform.Call, _ caller, p *platform.Params) *platform.Failure {
	l, err := login(c, codeGrant, codeGrant, codeGrant)
	if err != nil || c.Limited() {
		return err
	}
	user, name := master(c.Sim.World, l)
	if c.Query.Get("openId") != openID(l) || c.Query.Get("userId") != strconv.FormatInt(user, 10) {
		return platform.Failf(codeOauth, "openId and userId are those of the authorisation")
	}
	size, after := p.Integer("pageSize", subUsersUsual, subUsersMax), p.Optional("lastPageMaxUcId")
	if p.Failure != nil {
		return nil
	}
	var list []world.Account
	if c.Query.Get("needSubList") == "true" {
		list = slices.DeleteFunc(accountsOf(c, l), func(a world.Account) bool { return a.ID <= after })
	}
	w := beginOauth(c, 0, "success")
	w.Open('{')
	w.NumberField("masterUid", user)
	w.TextField("masterName", name)
	w.NumberField("userAcctType", map[bool]int64{false: 1, true: 2}[isManager(l)])
	w.Key("hasNext")
	w.Flag(len(list) > size)
	w.OpenArray("subUserList")
	for i := range list[:min(size, len(list))] {
		w.Open('{')
		w.NumberField("ucId", list[i].ID)
		w.TextField("ucName", list[i].Name())
		w.Close('}')
	}
	w.Close(']')
	w.Close('}')
	w.Close('}')
	c.Body = w.Bytes
	return nil
}

// accountsOf lists the accounts under a manager, in order of their ids; none for a login of one account.
func accountsOf(c *platform.Call, l *world.Login) []world.Account {
	if !isManager(l) {
		return nil
	}
	return c.Permitted(l)
}

// managed lists a manager's accounts without pages.
func (b *baidu) managed(c *platform.Call, by caller, _ *platform.Params) *platform.Failure {
	id, name := master(c.Sim.World, by.login)
	if by.account != nil {
		return c.Refusal(codeForbidden, "userName is not that of a manager")
	}
	w := b.begin(c, statusGood)
	w.Open('[')
	for _, a := range accountsOf(c, by.login) {
		w.Open('{')
		w.NumberField("userid", a.ID)
		w.TextField("username", a.Name())
		w.NumberField("mccid", id)
		w.TextField("fatname", name)
		w.TextField("remark", "")
		w.Close('}')
	}
	w.Close(']')
	b.end(c, &w)
	return nil
}
