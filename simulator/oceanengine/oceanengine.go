package oceanengine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"adsync/simulator/limit"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// oceanEngine is Ocean Engine's Marketing API: the token in a header, money in yuan, in lists as numbers and in
// reports as strings, ids of up to 19 digits, errors in the envelope with HTTP status 200.
type oceanEngine struct {
	about    *world.Spec
	routes   map[string]oceanRoute
	requests atomic.Uint64
}

type oceanRoute struct {
	method string
	open   bool // needs no token in the header
	serve  func(c *platform.Call, l *world.Login) *platform.Failure
}

const (
	oceanPrefix = "/open_api/"
	oceanTime   = "2006-01-02 15:04:05"
)

// oceanMessages holds the texts of this platform's codes.
var oceanMessages = map[int]string{
	40000: "Parameter error.",
	40002: "No permission to operate.",
	40100: "Request too frequent: the platform is busy.",
	40102: "The access token has expired.",
	40103: "The refresh token has expired.",
	40104: "The access token is empty or invalid.",
	40105: "The interface is offline.",
	40107: "The refresh token is invalid.",
	40110: "Request too frequent: the developer's quota is used up.",
	40113: "The app does not exist or is disabled.",
	40115: "The auth code is invalid.",
	40130: "Request too frequent: the customer's quota is used up.",
	50000: "System error.",
}

// New returns the simulated platform.
func New() platform.Platform {
	o := &oceanEngine{about: &world.Spec{
		Number: 2, Name: "oceanengine", Prefix: "/oceanengine", BasePath: "/oceanengine/open_api",
		Hosts:         []string{"api.oceanengine.com", "ad.oceanengine.com", "open.oceanengine.com"},
		AuthorisePath: "/openapi/audit/oauth.html", AppParam: "app_id", CodeParam: "auth_code",
		AccountParam: "advertiser_id", ObjectKind: "promotion", HasProjects: true, CreativesAreParts: true,
		AccountName: func(a *world.Account) string { return a.Name() },
		User:        func(_ *world.World, l *world.Login) (int64, string) { return userBase + int64(l.Index), l.Name() },
		Metrics: []world.Metric{
			world.Cost, world.Impressions, world.Clicks, world.Downloads, world.Installs, world.Activations, world.Registrations,
			world.Conversions, world.DeepConversions,
			world.FirstPays, world.Pays, world.PayAmountD1, world.PayAmountD3, world.PayAmountD7, world.NextDayRetained,
			world.DownloadStarts, world.KeyActions, world.Orders, world.OrderAmount,
		},
		// Advertisers have 16 digits, promotions and projects 19, and their ids never overlap, even in the largest world.
		AccountBase: 1_700_000_000_000_000, AccountStep: 100_000_007,
		ObjectBase: 7_300_000_000_000_000_000, ObjectStep: 100_000_007, ProjectBase: 7_200_000_000_000_000_000,
		AppBase: 1_780_000_000_000_000, CreativeBase: 7_400_000_000_000_000_000,
		CreativeObject: func(c *world.Creative) string {
			return strconv.FormatInt(c.Ad.ID, 10) + ":" + strconv.FormatInt(c.Material, 10)
		},
		AssetID: oceanAssetID, Material: oceanMaterial, Mode: oceanMode,
		FigureField: "stat_cost", DayFields: []string{"stat_time_day", "stat_time_hour"},
		KeyFields:    map[string]string{"v3.0/promotion/list": "promotion_id", "v3.0/project/list": "project_id"},
		NumberFields: []string{"promotion_id", "project_id", "advertiser_id", "budget", "cpa_bid"},
		LengthFields: []string{"duration"},
		IsSum:        func(q url.Values) bool { return q.Get("data_topic") != oceanMaterialData },
		AccessLife:   86_400, RefreshLife: 2_592_000, CodeLife: 600,
		Limits: []limit.Rule{
			{Media: "oceanengine", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 1, Limit: 50},
			{Media: "oceanengine", Endpoint: "*", Scope: limit.ScopeAccount, Seconds: 1, Limit: 10},
		},
		TolerantPenalty: true,
	}}
	o.routes = map[string]oceanRoute{
		"oauth2/access_token/":           {http.MethodPost, true, o.exchange},
		"oauth2/refresh_token/":          {http.MethodPost, true, o.refresh},
		"oauth2/advertiser/get/":         {http.MethodGet, false, o.advertisers},
		"2/user/info/":                   {http.MethodGet, false, o.userInfo},
		workbenchList:                    {http.MethodGet, false, o.workbench},
		enterpriseList:                   {http.MethodGet, false, o.enterprise},
		enterpriseTeams:                  {http.MethodGet, false, o.teams},
		agentList:                        {http.MethodGet, false, o.agent},
		childAgentList:                   {http.MethodGet, false, o.childAgents},
		"2/advertiser/info/":             {http.MethodGet, false, o.advertiserInfo},
		"2/advertiser/fund/get/":         {http.MethodGet, false, o.fund},
		"2/advertiser/fund/daily_stat/":  {http.MethodGet, false, o.fundDays},
		"v3.0/project/list/":             {http.MethodGet, false, o.projects},
		"v3.0/promotion/list/":           {http.MethodGet, false, o.promotions},
		"2/file/image/get/":              {http.MethodGet, false, o.images},
		"2/file/video/get/":              {http.MethodGet, false, o.videos},
		"v3.0/report/custom/get/":        {http.MethodGet, false, o.report},
		"v3.0/report/custom/config/get/": {http.MethodGet, false, o.reportConfig},
	}
	for _, retired := range []string{"advertiser", "campaign", "ad", "creative"} {
		o.routes["2/report/"+retired+"/get/"] = oceanRoute{http.MethodGet, true,
			func(*platform.Call, *world.Login) *platform.Failure { return platform.Failf(40105, "") }}
	}
	return o
}

func (o *oceanEngine) Spec() *world.Spec { return o.about }

func (o *oceanEngine) route(path string) (oceanRoute, bool) {
	rest, ok := strings.CutPrefix(path, oceanPrefix)
	route, known := o.routes[rest]
	return route, ok && known
}

func (o *oceanEngine) Endpoint(path string) string {
	if _, ok := o.route(path); !ok {
		return platform.EndpointUnknown
	}
	return platform.EndpointName(strings.TrimPrefix(path, oceanPrefix))
}

func (o *oceanEngine) Serve(c *platform.Call) {
	head(c)
	route, ok := o.route(c.Path)
	if !ok {
		c.Status = http.StatusNotFound
		o.fail(c, platform.Failf(40000, "unknown path %s", c.Path))
		return
	}
	if c.Request.Method != route.method {
		c.Status = http.StatusMethodNotAllowed
		o.fail(c, platform.Failf(40000, "method %s", c.Request.Method))
		return
	}
	var l *world.Login
	if !route.open {
		var err *platform.Failure
		if l, err = o.authenticate(c); err != nil {
			o.fail(c, err)
			return
		}
		if c.Limited() {
			return
		}
	}
	if err := route.serve(c, l); err != nil {
		o.fail(c, err)
	}
}

func head(c *platform.Call) {
	c.Header.Set("Content-Type", "application/json; charset=utf-8")
}

// requestID returns a unique id that contains the world's time.
func (o *oceanEngine) requestID(c *platform.Call) string {
	n := o.requests.Add(1)
	return time.Unix(c.Now, 0).In(world.Zone).Format("20060102150405") +
		fmt.Sprintf("%018X", uint64(world.Key(c.Sim.World.Seed).Sub(n))>>8)
}

func (o *oceanEngine) fail(c *platform.Call, err *platform.Failure) {
	c.Code = err.Code
	w := platform.Writer{Bytes: c.Body[:0]}
	w.Open('{')
	w.NumberField("code", int64(err.Code))
	w.TextField("message", strings.TrimSpace(oceanMessages[err.Code]+" "+err.Detail))
	w.TextField("request_id", o.requestID(c))
	w.Close('}')
	c.Body = w.Bytes
}

func (o *oceanEngine) OverLimit(c *platform.Call, r limit.Refusal) {
	head(c)
	if r.Busy {
		o.fail(c, platform.Failf(40100, ""))
		return
	}
	if r.Rule.Scope == limit.ScopeAccount {
		c.Header.Set("X-RateLimit-Dimension", "customer_qps")
		o.fail(c, platform.Failf(40130, ""))
		return
	}
	c.Header.Set("X-RateLimit-Dimension", "developer_qps")
	if r.Penalty {
		c.Header.Set("X-RateLimit-Dimension", "developer_qpm")
		c.Header.Set("X-RateLimit-Limit", strconv.Itoa(r.Rule.Limit*100))
		c.Header.Set("X-RateLimit-Remaining", "0")
		c.Header.Set("X-RateLimit-RetryIn", strconv.Itoa(int(r.RetryIn/time.Second)+1))
	}
	o.fail(c, platform.Failf(40110, ""))
}

// begin writes the start of a success envelope, up to the value of data.
func (o *oceanEngine) begin(c *platform.Call) platform.Writer {
	return platform.Writer{Bytes: append(c.Body[:0], `{"code":0,"message":"OK","data":`...)}
}

func (o *oceanEngine) end(c *platform.Call, w *platform.Writer) {
	w.Bytes = append(w.Bytes, `,"request_id":"`...)
	w.Bytes = append(w.Bytes, o.requestID(c)...)
	w.Bytes = append(w.Bytes, `"}`...)
	c.Body = w.Bytes
}

func (o *oceanEngine) authenticate(c *platform.Call) (*world.Login, *platform.Failure) {
	token := c.Request.Header.Get("Access-Token")
	if c.Endpoint == "oauth2/advertiser/get" {
		token = c.Query.Get("access_token")
	}
	unknown := platform.Failf(40104, "")
	return c.Login(token, unknown, unknown, platform.Failf(40102, ""))
}

// oceanApp is the app's id and secret in the body of the token calls. An id that is a string is refused.
type oceanApp struct {
	AppID        *int64 `json:"app_id"`
	Secret       string `json:"secret"`
	GrantType    string `json:"grant_type"`
	AuthCode     string `json:"auth_code"`
	RefreshToken string `json:"refresh_token"`
}

func (o *oceanEngine) app(c *platform.Call) (body oceanApp, app int, _ *platform.Failure) {
	if err := json.NewDecoder(c.Request.Body).Decode(&body); err != nil {
		return body, 0, platform.Failf(40000, "the body is invalid: %v", err)
	}
	if body.AppID == nil || body.Secret == "" {
		return body, 0, platform.Failf(40000, "app_id or secret is missing")
	}
	app, ok := c.Sim.World.AppByID(o.about, strconv.FormatInt(*body.AppID, 10))
	if !ok {
		return body, 0, platform.Failf(40113, "")
	}
	if body.Secret != c.Sim.World.AppSecret(o.about, app) {
		return body, 0, platform.Failf(40002, "the secret is not the app's")
	}
	c.App = strconv.FormatInt(*body.AppID, 10)
	return body, app, nil
}

func writeTokens(c *platform.Call, w *platform.Writer, t world.Tokens) {
	w.TextField("access_token", t.Access)
	w.TextField("refresh_token", t.Refresh)
	w.NumberField("expires_in", t.AccessExpires-c.Now)
	w.NumberField("refresh_token_expires_in", t.RefreshExpires-c.Now)
}

// refresh issues a new pair; the old one is dead at once.
func (o *oceanEngine) refresh(c *platform.Call, _ *world.Login) *platform.Failure {
	body, app, wrong := o.app(c)
	if wrong != nil {
		return wrong
	}
	if body.RefreshToken == "" || (body.GrantType != "" && body.GrantType != "refresh_token") {
		return platform.Failf(40000, "refresh_token is missing or grant_type is wrong")
	}
	if c.Limited() {
		return nil
	}
	got, state, err := c.Sim.Vault.Refreshed(o.about, app, body.RefreshToken, c.Now, true)
	switch {
	case err != nil:
		c.Sim.Logger.Error("cannot save a token", "err", err)
		return platform.Failf(50000, "")
	case state == world.TokenExpired:
		return platform.Failf(40103, "")
	case state != world.TokenGood:
		return platform.Failf(40107, "")
	}
	w := o.begin(c)
	w.Open('{')
	writeTokens(c, &w, got)
	w.Close('}')
	o.end(c, &w)
	return nil
}

func (o *oceanEngine) exchange(c *platform.Call, _ *world.Login) *platform.Failure {
	body, app, wrong := o.app(c)
	if wrong != nil {
		return wrong
	}
	if body.AuthCode == "" || (body.GrantType != "" && body.GrantType != "auth_code") {
		return platform.Failf(40000, "auth_code is missing or grant_type is wrong")
	}
	if c.Limited() {
		return nil
	}
	l, got, state, err := c.Sim.Vault.Exchanged(o.about, app, body.AuthCode, world.AnyRedirect, c.Now)
	if err != nil {
		c.Sim.Logger.Error("cannot save a token", "err", err)
		return platform.Failf(50000, "")
	}
	if state != world.TokenGood {
		return platform.Failf(40115, "")
	}
	w := o.begin(c)
	w.Open('{')
	writeTokens(c, &w, got)
	w.OpenArray("advertiser_ids")
	for _, x := range o.authorised(c, l) {
		w.Number(x.id)
	}
	w.Close(']')
	w.Close('}')
	o.end(c, &w)
	return nil
}

// userInfo returns the user of the token.
func (o *oceanEngine) userInfo(c *platform.Call, l *world.Login) *platform.Failure {
	id, name := o.about.User(c.Sim.World, l)
	w := o.begin(c)
	w.Open('{')
	w.NumberField("id", id)
	w.TextField("display_name", name)
	w.TextField("email", "")
	w.Close('}')
	o.end(c, &w)
	return nil
}

// userBase is the first user's id.
const userBase = 3_000_000_000_000_001

// advertiser returns the account that a call names, if its login reaches it.
func (o *oceanEngine) advertiser(c *platform.Call, l *world.Login) (world.Account, *platform.Failure) {
	id, err := strconv.ParseInt(c.Query.Get("advertiser_id"), 10, 64)
	if err != nil {
		return world.Account{}, platform.Failf(40000, "advertiser_id is missing or not a number")
	}
	a, ok := c.Sim.World.Lookup(o.about, id)
	if !ok || !l.Reaches(a.Index) || c.Sim.World.Closed(&a) != "" {
		return world.Account{}, platform.Failf(40002, "advertiser_id %d", id)
	}
	return a, nil
}

// integer reads a number from 1 to hi; usual if it is missing.
func integer(c *platform.Call, name string, usual, hi int) (int, *platform.Failure) {
	text := c.Query.Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > hi {
		return 0, platform.Failf(40000, "%s must be a number from 1 to %d", name, hi)
	}
	return n, nil
}

// decode reads a parameter that is JSON text. Unknown keys and values of another type are refused.
func decode(c *platform.Call, name string, v any) (found bool, _ *platform.Failure) {
	text := c.Query.Get(name)
	if text == "" {
		return false, nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil || d.More() {
		return false, platform.Failf(40000, "%s is invalid: %v", name, err)
	}
	return true, nil
}

// readFields returns the requested fields, or all if none are named. unset holds known fields that have no values.
func readFields(c *platform.Call, all []string, unset ...string) ([]string, *platform.Failure) {
	var list []string
	found, err := decode(c, "fields", &list)
	if err != nil || !found || len(list) == 0 {
		return all, err
	}
	known := map[string]bool{}
	for _, f := range all {
		known[f] = true
	}
	var wanted []string
	for _, f := range list {
		switch {
		case known[f]:
			wanted = append(wanted, f)
		case !slices.Contains(unset, f):
			return nil, platform.Failf(40000, "fields: %q is unknown", f)
		}
	}
	return wanted, nil
}
