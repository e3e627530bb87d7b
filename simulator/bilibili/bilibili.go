package bilibili

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"adsync/simulator/limit"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// bilibili is the Marketing API: a form for tokens, JSON bodies for lists and reports, and two envelopes.
type bilibili struct {
	about  *world.Spec
	routes map[string]route
}

// caller is who makes a call: nothing in token calls, a login, or a login for one of its accounts.
type caller struct {
	login   *world.Login
	account *world.Account
}

// route is an endpoint.
type route struct {
	method string
	takes  taking
	serve  handler
}

type handler func(c *platform.Call, by caller, p *platform.Params) *platform.Failure

// taking is what a call has in addition to its parameters.
type taking int

const (
	takesApp     taking = iota // the app's secret, in a form
	takesLogin                 // an access token
	takesAccount               // an access token and account_id
)

const prefix = "/takumi/api/open_api/"

// New returns the simulated platform.
func New() platform.Platform {
	b := &bilibili{about: spec()}
	get, post := http.MethodGet, http.MethodPost
	b.routes = map[string]route{
		tokenCall:         {post, takesApp, b.token},
		"oauth2/user":     {get, takesLogin, b.user},
		"oauth2/subjects": {get, takesLogin, b.subjects},
		"oauth2/accounts": {get, takesLogin, b.accounts},

		"cpc/v3/account/get":             {get, takesAccount, b.account},
		"cpc/v3/account/list_cash_flows": {post, takesAccount, b.flows},
		"cpc/v3/campaign/list_campaigns": {post, takesAccount, list(campaigns)},
		"cpc/v3/campaign/get":            {get, takesAccount, detail("campaign_id", campaigns)},
		unitList:                         {post, takesAccount, list(units)},
		"cpc/v3/unit/get":                {get, takesAccount, detail("unit_id", units)},
		"cpc/v3/creative/list_creatives": {post, takesAccount, list(creatives)},
		"cpc/v3/creative/get":            {get, takesAccount, detail("creative_id", creatives)},
		"cpc/v3/material/list_images":    {post, takesAccount, files(world.AssetImage)},
		"cpc/v3/material/list_videos":    {post, takesAccount, files(world.AssetVideo)},
		"report/v2/cash":                 {get, takesAccount, b.cash},
		reportCall:                       {post, takesAccount, b.report},
	}
	return b
}

func spec() *world.Spec {
	return &world.Spec{
		Number: 6, Name: "bilibili", Prefix: "/bilibili", BasePath: "/bilibili/takumi/api/open_api",
		Hosts:         []string{"cm.bilibili.com", "ad.bilibili.com"},
		AuthorisePath: "/developer/developer-authorization", AppParam: "client_id", CodeParam: "code",
		AccountParam: "account_id", JSONBody: true, FormBody: true, ObjectKind: "unit", HasProjects: true,
		ChinaOnly:   true,
		AccountName: func(a *world.Account) string { return a.Name() },
		User: func(w *world.World, l *world.Login) (int64, string) {
			a := w.Account(l.Platform, l.First)
			return 700_000_000 + int64(l.Index), a.Company()
		},
		Metrics: []world.Metric{
			world.Cost, world.Impressions, world.Clicks, world.Downloads, world.Installs, world.Activations, world.Registrations,
			world.Conversions, world.FirstPays, world.Pays, world.PayAmount, world.PayAmountD1, world.PayAmountD7,
			world.NextDayRetained,
		},
		// The samples' account has seven digits, as have those of small worlds. All ids are below 2^53.
		AccountBase: 1_100_000, AccountStep: 23,
		ProjectBase: 10_000_000, ObjectBase: 10_000_000_000, ObjectStep: 3,
		CreativeBase: 1_000_000_000, AppBase: 660_000_000,
		CreativeObject: func(x *world.Creative) string { return strconv.FormatInt(x.ID, 10) },
		AssetID:        assetID,
		FigureField:    costField, DayFields: []string{dimDay, dimDate},
		KeyFields: map[string]string{"cpc/v3/campaign/list_campaigns": "campaign_id", unitList: "unit_id",
			"cpc/v3/creative/list_creatives": "creative_id"},
		NumberFields: []string{"unit_id", "campaign_id", "creative_id", "bid"},
		LengthFields: []string{"duration"},
		AccessLife:   86_400, RefreshLife: 20 * 86_400, CodeLife: 600, RefreshRotates: true,
		// No number is known: these are chosen.
		Limits: []limit.Rule{
			{Media: "bilibili", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 1, Limit: 100},
			{Media: "bilibili", Endpoint: "*", Scope: limit.ScopeAccount, Seconds: 1, Limit: 5},
		},
		SharedLimits: true, Assumed: assumed(),
	}
}

func (b *bilibili) Spec() *world.Spec { return b.about }

func (b *bilibili) Endpoint(path string) string {
	rest, ok := strings.CutPrefix(path, prefix)
	if _, known := b.routes[rest]; !ok || !known {
		return platform.EndpointUnknown
	}
	return rest
}

func (b *bilibili) Serve(c *platform.Call) {
	head(c)
	r, known := b.routes[c.Endpoint]
	if !known || c.Request.Method != r.method {
		c.Status = http.StatusNotFound
		fail(c, wrong(c, "%s %s is unknown", c.Request.Method, c.Path))
		return
	}
	p := &platform.Params{Call: c, Code: int(c.Assumed(codeParameter)), Zone: c.Assumed(platform.ZoneSeconds)}
	if err := cmp.Or(b.serve(c, r, p), p.Failure); err != nil {
		fail(c, err)
	}
}

// serve checks who makes a call and what encodes its parameters, counts it, and answers it.
func (b *bilibili) serve(c *platform.Call, r route, p *platform.Params) *platform.Failure {
	if r.takes == takesApp {
		if !c.IsForm() {
			return wrong(c, "the parameters are a form (application/x-www-form-urlencoded)")
		}
		return r.serve(c, caller{}, p)
	}
	if r.method == http.MethodPost && (c.IsForm() || c.Request.URL.RawQuery != "") {
		return wrong(c, "the parameters are a JSON body")
	}
	l, err := b.login(c)
	if err != nil || c.Limited() {
		return err
	}
	if r.takes == takesLogin {
		return r.serve(c, caller{login: l}, p)
	}
	a, err := b.named(c, l)
	if err != nil {
		return err
	}
	return r.serve(c, caller{l, &a}, p)
}

func head(c *platform.Call) { c.Header.Set("Content-Type", "application/json;charset=UTF-8") }

// isCoded reports whether a call's envelope has a code. Others have a status (STACK).
func isCoded(c *platform.Call) bool { return strings.HasPrefix(c.Endpoint, "oauth2/") }

// fail writes a refusal. Clients read its text from msg or message (STACK): the envelopes have one each.
func fail(c *platform.Call, err *platform.Failure) {
	c.Code = err.Code
	w := platform.Writer{Bytes: c.Body[:0]}
	w.Open('{')
	text := "message"
	if !isCoded(c) {
		w.TextField("status", "fail")
		text = "msg"
	}
	w.NumberField("code", int64(err.Code))
	w.TextField(text, err.Detail)
	w.Close('}')
	c.Body = w.Bytes
}

// OverLimit answers a call over a limit. A penalty names its end.
func (b *bilibili) OverLimit(c *platform.Call, r limit.Refusal) {
	head(c)
	if r.Busy {
		fail(c, c.Refusal(codeBusy, "system busy"))
		return
	}
	status := int(c.Assumed(limitStatus))
	if r.Penalty {
		status = http.StatusTooManyRequests
	}
	c.RefuseAs(status, r)
	c.Code = int(c.Assumed(codeLimit))
	c.Body = fmt.Appendf(c.Body[:0], `{"status":"fail","code":%d,"message":"qps limit"}`, c.Code)
}

// begin writes the start of a success envelope, up to the value of data.
func begin(c *platform.Call) platform.Writer {
	envelope := `{"status":"success","data":`
	if isCoded(c) {
		envelope = `{"code":0,"message":"success","data":`
	}
	return platform.Writer{Bytes: append(c.Body[:0], envelope...)}
}

func end(c *platform.Call, w *platform.Writer) {
	w.Close('}')
	c.Body = w.Bytes
}

// login returns the login of a call's access token. A token that was replaced is unknown: its refusal is that of an
// expired one.
func (b *bilibili) login(c *platform.Call) (*world.Login, *platform.Failure) {
	token, ok := strings.CutPrefix(c.Request.Header.Get("Authorization"), "Bearer ")
	l, state := c.Sim.Vault.Access(b.about, token, c.Now)
	if !ok || l == nil || state != world.TokenGood {
		c.Status = int(c.Assumed(tokenStatus))
		return nil, c.Refusal(codeToken, "access_token is missing, expired or invalid")
	}
	c.App = world.ObjectText(c.Sim.World.AppID(b.about, l.App()))
	if a, known := c.Sim.World.LookupText(b.about, c.Query.Get(b.about.AccountParam)); known {
		c.Account = world.ObjectText(a.ID)
	}
	return l, nil
}

// named returns the account that a call names, if its login reaches it.
func (b *bilibili) named(c *platform.Call, l *world.Login) (world.Account, *platform.Failure) {
	text := c.Query.Get(b.about.AccountParam)
	if text == "" {
		return world.Account{}, wrong(c, "account_id is missing")
	}
	a, ok := c.Sim.World.LookupText(b.about, text)
	closed := ""
	if ok {
		closed = c.Sim.World.Closed(&a)
	}
	switch {
	case !ok || !b.reaches(c, l, a.Index) || closed == world.LifeRevoked:
		return a, c.Refusal(codeForbidden, "no permission for account %s", text)
	case closed == world.LifeFrozen:
		return a, c.Refusal(codeClosed, "account %s is frozen", text)
	}
	return a, nil
}
