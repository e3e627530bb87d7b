package tiktok

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"adsync/simulator/fault/trap"
	"adsync/simulator/limit"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// tiktok is the Marketing API: reads by GET with lists and objects as JSON in a query parameter, ids as texts, money in
// the account's currency, objects in UTC and reports in the account's zone, errors in the envelope with the HTTP status
// of success.
type tiktok struct {
	about    *world.Spec
	routes   map[string]route
	requests atomic.Uint64
	tasks    platform.Tasks
}

type route struct {
	method string
	serve  handler
	open   bool // needs no token in the header
}

// handler answers a call of a login, which is nil at an open endpoint.
type handler func(c *platform.Call, l *world.Login, p *platform.Params) *platform.Failure

const (
	prefix         = "/open_api/v1.3/"
	reportEndpoint = "report/integrated/get"
	createEndpoint = "report/task/create"
	fileEndpoint   = "report/task/file" // the address of a file, which the documents do not name
)

// New returns the simulated platform.
func New() platform.Platform {
	t := &tiktok{about: spec()}
	t.routes = map[string]route{
		"oauth2/access_token":   {http.MethodPost, t.exchange("app_id", "secret", "auth_code"), true},
		"oauth2/token":          {http.MethodPost, t.exchange("client_id", "client_secret", "code"), true},
		"oauth2/revoke_token":   {http.MethodPost, t.revoke, true},
		"oauth2/advertiser/get": {http.MethodGet, t.advertisers, false},
		"advertiser/info":       {http.MethodGet, t.info, false},
		"campaign/get":          {http.MethodGet, t.ofAccount(t.campaigns), false},
		"adgroup/get":           {http.MethodGet, t.ofAccount(t.adGroups), false},
		"ad/get":                {http.MethodGet, t.ofAccount(t.ads), false},
		"file/video/ad/search":  {http.MethodGet, t.ofAccount(t.videos), false},
		"file/image/ad/search":  {http.MethodGet, t.ofAccount(t.images), false},
		reportEndpoint:          {http.MethodGet, t.report, false},
		createEndpoint:          {http.MethodPost, t.ofAccount(t.createTask), false},
		"report/task/check":     {http.MethodGet, t.ofAccount(t.checkTask), false},
		"report/task/download":  {http.MethodGet, t.ofAccount(t.download), false},
		"report/task/cancel":    {http.MethodPost, t.ofAccount(t.cancelTask), false},
		fileEndpoint:            {http.MethodGet, t.file, true},
	}
	return t
}

func spec() *world.Spec {
	return &world.Spec{
		Number: 4, Name: "tiktok", Prefix: "/tiktok", BasePath: "/tiktok/open_api/v1.3",
		Hosts:         []string{"business-api.tiktok.com"},
		AuthorisePath: "/portal/auth", AppParam: "app_id", CodeParam: "auth_code",
		AccountParam: "advertiser_id", JSONBody: true, ObjectKind: "adgroup", HasProjects: true, AnyCurrency: true,
		AccountName: func(a *world.Account) string { return a.Name() },
		// An authorisation names no person. A client knows it by the smallest id of its accounts.
		User: func(w *world.World, l *world.Login) (id int64, name string) {
			a := w.Account(l.Platform, l.First)
			return a.ID, ""
		},
		Metrics: []world.Metric{
			world.Cost, world.Impressions, world.Clicks, world.Activations, world.Registrations, world.Conversions,
			world.FirstPays, world.Pays, world.PayAmount,
		},
		// All ids have 19 digits and never overlap, even in the largest world.
		AccountBase: 7_100_000_000_000_000_000, AccountStep: 100_000_007,
		ProjectBase: 1_700_000_000_000_000_000, ObjectBase: 1_720_000_000_000_000_000, ObjectStep: 10_000_019,
		CreativeBase: 1_710_000_000_000_000_000, AppBase: 7_000_000_000_000_000_000,
		CreativeObject: func(x *world.Creative) string { return strconv.FormatInt(x.ID, 10) },
		AssetID:        assetID, Material: material,
		FigureField: "spend", DayFields: []string{"stat_time_day", "stat_time_hour"},
		KeyFields:    map[string]string{"campaign/get": "campaign_id", "adgroup/get": "adgroup_id", "ad/get": "ad_id"},
		NumberFields: []string{"budget", "bid_price", "conversion_bid_price"},
		LengthFields: []string{"duration"},
		GiantTraps:   map[trap.ID]int{trap.RowsOverCap: int(assumed()[idsMax])},
		// An access token has no end within the world, and cannot be refreshed.
		AccessLife: 100 * 365 * world.DayLength, CodeLife: 3600,
		Limits: []limit.Rule{
			{Media: "tiktok", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 1, Limit: 10},
		},
		SharedLimits: true, Assumed: assumed(),
	}
}

func (t *tiktok) Spec() *world.Spec { return t.about }

func (t *tiktok) Endpoint(path string) string {
	rest, ok := strings.CutPrefix(path, prefix)
	name, slash := strings.CutSuffix(rest, "/")
	if _, known := t.routes[name]; !ok || !slash || !known {
		return platform.EndpointUnknown
	}
	return name
}

func (t *tiktok) Serve(c *platform.Call) {
	head(c)
	r, known := t.routes[c.Endpoint]
	if !known || r.method != c.Request.Method {
		c.Status = http.StatusNotFound
		t.fail(c, platform.Failf(codeUnknownPath, "%s %s is unknown", c.Request.Method, c.Path))
		return
	}
	if err := t.serve(c, r); err != nil {
		t.fail(c, err)
	}
}

func (t *tiktok) serve(c *platform.Call, r route) *platform.Failure {
	if r.method == http.MethodPost && c.Request.URL.RawQuery != "" {
		return wrong("the parameters of a POST are in its JSON body, not in the query")
	}
	if r.method == http.MethodGet { // a body of a GET is ignored
		c.Query, _ = url.ParseQuery(c.Request.URL.RawQuery)
	}
	p := &platform.Params{Call: c, Code: codeParameter}
	var l *world.Login
	if !r.open {
		var err *platform.Failure
		if l, err = login(c); err != nil || c.Limited() {
			return err
		}
	}
	err := r.serve(c, l, p)
	return cmp.Or(err, p.Failure)
}

func head(c *platform.Call) { c.Header.Set("Content-Type", "application/json") }

// requestID returns a unique id that begins with the world's time.
func (t *tiktok) requestID(c *platform.Call) string {
	key := world.Key(c.Sim.World.Seed).Sub(t.requests.Add(1))
	return time.Unix(c.Now, 0).UTC().Format("20060102150405") + fmt.Sprintf("%020X", uint64(key))
}

// begin writes the start of an envelope, up to the value of data.
func (t *tiktok) begin(c *platform.Call, code int, message string) platform.Writer {
	c.Code = code
	w := platform.Writer{Bytes: c.Body[:0]}
	w.Open('{')
	w.NumberField("code", int64(code))
	w.TextField("message", message)
	w.TextField("request_id", t.requestID(c))
	w.OpenObject("data")
	return w
}

// answer writes an envelope with data.
func (t *tiktok) answer(c *platform.Call, write func(w *platform.Writer)) {
	w := t.begin(c, 0, "OK")
	write(&w)
	w.Close('}')
	w.Close('}')
	c.Body = w.Bytes
}

func (t *tiktok) fail(c *platform.Call, err *platform.Failure) {
	w := t.begin(c, err.Code, err.Detail)
	w.Close('}')
	w.Close('}')
	c.Body = w.Bytes
}

// OverLimit answers with HTTP status 200, and without a time to wait.
func (t *tiktok) OverLimit(c *platform.Call, r limit.Refusal) {
	head(c)
	switch {
	case r.Busy:
		t.fail(c, refusal(c, codeBusy, "Too many requests."))
	case r.Penalty:
		t.fail(c, platform.Failf(codeLimit, "requests from App [%s] are temporarily restricted", c.App))
	case r.Rule.Scope == limit.ScopeAccount || r.Rule.Seconds > 1:
		t.fail(c, refusal(c, codeQuota, "Too many requests."))
	default:
		t.fail(c, platform.Failf(codeLimit, "App %s reaches the QPS limit %d, current QPS is %d.", c.App, r.Rule.Limit,
			r.Rule.Limit+1))
	}
}

// login returns the login of the access token in the header.
func login(c *platform.Call) (*world.Login, *platform.Failure) {
	return c.Login(c.Request.Header.Get("Access-Token"), platform.Failf(codeNoToken, "Access token is missing"),
		platform.Failf(codeBadToken, "Access token is incorrect or has been revoked."),
		platform.Failf(codeOldToken, "Access token is expired"))
}
