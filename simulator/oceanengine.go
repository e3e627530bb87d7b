package simulator

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
)

// oceanEngine is Ocean Engine's Marketing API: the token in a header, money in yuan, in lists as numbers and in
// reports as strings, ids of up to 19 digits, errors in the envelope with HTTP status 200.
type oceanEngine struct {
	about    *spec
	routes   map[string]oceanRoute
	requests atomic.Uint64
}

type oceanRoute struct {
	method string
	open   bool // carries no token in the header
	serve  func(c *call, l *login) *apiError
}

const (
	oceanPrefix = "/open_api/"
	oceanTime   = "2006-01-02 15:04:05"
)

// oceanMessages are the texts of the codes that this platform can answer with.
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

func newOceanEngine() platform {
	o := &oceanEngine{about: &spec{
		number: 2, name: "oceanengine", prefix: "/oceanengine", basePath: "/oceanengine/open_api",
		hosts:         []string{"api.oceanengine.com", "ad.oceanengine.com", "open.oceanengine.com"},
		authorisePath: "/openapi/audit/oauth.html", appParam: "app_id", codeParam: "auth_code",
		accountParam: "advertiser_id", objectKind: "promotion", hasProjects: true, creativesAreParts: true,
		accountName: func(a *account) string { return a.name() },
		user:        func(_ *world, l *login) (int64, string) { return userBase + int64(l.index), l.name() },
		metrics: []metric{
			cost, impressions, clicks, downloads, installs, activations, registrations, conversions, deepConversions,
			firstPays, pays, payAmountD1, payAmountD3, payAmountD7, nextDayRetained,
		},
		// Advertisers have 16 digits, promotions and projects 19 and no common ones, to the last of the largest world.
		accountBase: 1_700_000_000_000_000, accountStep: 100_000_007,
		objectBase: 7_300_000_000_000_000_000, objectStep: 100_000_007, projectBase: 7_200_000_000_000_000_000,
		appBase: 1_780_000_000_000_000, creativeBase: 7_400_000_000_000_000_000,
		creativeObject: func(c *creative) string {
			return strconv.FormatInt(c.ad.id, 10) + ":" + strconv.FormatInt(c.material, 10)
		},
		assetID: oceanAssetID, material: oceanMaterial, mode: oceanMode,
		figureField: "stat_cost", dayFields: []string{"stat_time_day", "stat_time_hour"},
		keyFields:    map[string]string{"v3.0/promotion/list": "promotion_id", "v3.0/project/list": "project_id"},
		numberFields: []string{"promotion_id", "project_id", "advertiser_id", "budget", "cpa_bid"},
		lengthFields: []string{"duration"},
		isSum:        func(q url.Values) bool { return q.Get("data_topic") != oceanMaterialData },
		accessLife:   86_400, refreshLife: 2_592_000, codeLife: 600,
		limits: []LimitRule{
			{Media: "oceanengine", Endpoint: "*", Scope: ScopeApp, Seconds: 1, Limit: 50},
			{Media: "oceanengine", Endpoint: "*", Scope: ScopeAccount, Seconds: 1, Limit: 10},
		},
		tolerantPenalty: true,
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
		o.routes["2/report/"+retired+"/get/"] = oceanRoute{http.MethodGet, true, func(*call, *login) *apiError { return failure(40105, "") }}
	}
	return o
}

func (o *oceanEngine) spec() *spec { return o.about }

func (o *oceanEngine) route(path string) (oceanRoute, bool) {
	rest, ok := strings.CutPrefix(path, oceanPrefix)
	route, known := o.routes[rest]
	return route, ok && known
}

func (o *oceanEngine) endpoint(path string) string {
	if _, ok := o.route(path); !ok {
		return endpointUnknown
	}
	return endpointName(strings.TrimPrefix(path, oceanPrefix))
}

func (o *oceanEngine) serve(c *call) {
	o.head(c)
	route, ok := o.route(c.path)
	if !ok {
		c.status = http.StatusNotFound
		o.fail(c, failure(40000, "unknown path %s", c.path))
		return
	}
	if c.r.Method != route.method {
		c.status = http.StatusMethodNotAllowed
		o.fail(c, failure(40000, "method %s", c.r.Method))
		return
	}
	var l *login
	if !route.open {
		var err *apiError
		if l, err = o.authenticate(c); err != nil {
			o.fail(c, err)
			return
		}
		if c.limited() {
			return
		}
	}
	if err := route.serve(c, l); err != nil {
		o.fail(c, err)
	}
}

func (o *oceanEngine) head(c *call) {
	c.header.Set("Content-Type", "application/json; charset=utf-8")
}

// requestID is unique and tells the world's time.
func (o *oceanEngine) requestID(c *call) string {
	n := o.requests.Add(1)
	return time.Unix(c.now, 0).In(zone).Format("20060102150405") + fmt.Sprintf("%018X", uint64(key(c.sim.world.seed).sub(n))>>8)
}

func (o *oceanEngine) fail(c *call, err *apiError) {
	c.code = err.code
	w := jsonWriter{b: c.body[:0]}
	w.open('{')
	w.numberField("code", int64(err.code))
	w.textField("message", strings.TrimSpace(oceanMessages[err.code]+" "+err.detail))
	w.textField("request_id", o.requestID(c))
	w.close('}')
	c.body = w.b
}

func (o *oceanEngine) overLimit(c *call, r refusal) {
	o.head(c)
	if r.busy {
		o.fail(c, failure(40100, ""))
		return
	}
	if r.rule.Scope == ScopeAccount {
		c.header.Set("X-RateLimit-Dimension", "customer_qps")
		o.fail(c, failure(40130, ""))
		return
	}
	c.header.Set("X-RateLimit-Dimension", "developer_qps")
	if r.penalty {
		c.header.Set("X-RateLimit-Dimension", "developer_qpm")
		c.header.Set("X-RateLimit-Limit", strconv.Itoa(r.rule.Limit*100))
		c.header.Set("X-RateLimit-Remaining", "0")
		c.header.Set("X-RateLimit-RetryIn", strconv.Itoa(int(r.retryIn/time.Second)+1))
	}
	o.fail(c, failure(40110, ""))
}

// begin opens the envelope of a good answer, up to data, whose value is to be written.
func (o *oceanEngine) begin(c *call) jsonWriter {
	return jsonWriter{b: append(c.body[:0], `{"code":0,"message":"OK","data":`...)}
}

func (o *oceanEngine) end(c *call, w *jsonWriter) {
	w.b = append(w.b, `,"request_id":"`...)
	w.b = append(w.b, o.requestID(c)...)
	w.b = append(w.b, `"}`...)
	c.body = w.b
}

func (o *oceanEngine) authenticate(c *call) (*login, *apiError) {
	token := c.r.Header.Get("Access-Token")
	if c.endpoint == "oauth2/advertiser/get" {
		token = c.query.Get("access_token")
	}
	l, state := c.sim.vault.access(o.about, token, c.now)
	if l != nil {
		c.app = strconv.FormatInt(c.sim.world.appID(o.about, l.app()), 10)
	}
	switch state {
	case tokenGood:
	case tokenExpired:
		return nil, failure(40102, "")
	default:
		return nil, failure(40104, "")
	}
	if a, ok := c.sim.world.lookupText(o.about, c.query.Get(o.about.accountParam)); ok {
		c.account = strconv.FormatInt(a.id, 10)
	}
	return l, nil
}

// oceanApp is how a developer's app introduces itself in the body of the token calls. An id that is a string is
// refused.
type oceanApp struct {
	AppID        *int64 `json:"app_id"`
	Secret       string `json:"secret"`
	GrantType    string `json:"grant_type"`
	AuthCode     string `json:"auth_code"`
	RefreshToken string `json:"refresh_token"`
}

func (o *oceanEngine) app(c *call) (body oceanApp, app int, _ *apiError) {
	if err := json.NewDecoder(c.r.Body).Decode(&body); err != nil {
		return body, 0, failure(40000, "the body is not as it should be: %v", err)
	}
	if body.AppID == nil || body.Secret == "" {
		return body, 0, failure(40000, "app_id or secret is missing")
	}
	app, ok := c.sim.world.appByID(o.about, strconv.FormatInt(*body.AppID, 10))
	if !ok {
		return body, 0, failure(40113, "")
	}
	if body.Secret != c.sim.world.appSecret(o.about, app) {
		return body, 0, failure(40002, "the secret is not the app's")
	}
	c.app = strconv.FormatInt(*body.AppID, 10)
	return body, app, nil
}

func (o *oceanEngine) writeTokens(c *call, w *jsonWriter, t tokens) {
	w.textField("access_token", t.Access)
	w.textField("refresh_token", t.Refresh)
	w.numberField("expires_in", t.AccessExpires-c.now)
	w.numberField("refresh_token_expires_in", t.RefreshExpires-c.now)
}

// refresh gives a new pair; the old one is dead at once.
func (o *oceanEngine) refresh(c *call, _ *login) *apiError {
	body, app, wrong := o.app(c)
	if wrong != nil {
		return wrong
	}
	if body.RefreshToken == "" || (body.GrantType != "" && body.GrantType != "refresh_token") {
		return failure(40000, "refresh_token is missing or grant_type is another")
	}
	if c.limited() {
		return nil
	}
	got, state, err := c.sim.vault.refreshed(o.about, app, body.RefreshToken, c.now, true)
	switch {
	case err != nil:
		c.sim.logger.Error("cannot save a token", "err", err)
		return failure(50000, "")
	case state == tokenExpired:
		return failure(40103, "")
	case state != tokenGood:
		return failure(40107, "")
	}
	w := o.begin(c)
	w.open('{')
	o.writeTokens(c, &w, got)
	w.close('}')
	o.end(c, &w)
	return nil
}

func (o *oceanEngine) exchange(c *call, _ *login) *apiError {
	body, app, wrong := o.app(c)
	if wrong != nil {
		return wrong
	}
	if body.AuthCode == "" || (body.GrantType != "" && body.GrantType != "auth_code") {
		return failure(40000, "auth_code is missing or grant_type is another")
	}
	if c.limited() {
		return nil
	}
	l, got, state, err := c.sim.vault.exchanged(o.about, app, body.AuthCode, anyRedirect, c.now)
	if err != nil {
		c.sim.logger.Error("cannot save a token", "err", err)
		return failure(50000, "")
	}
	if state != tokenGood {
		return failure(40115, "")
	}
	w := o.begin(c)
	w.open('{')
	o.writeTokens(c, &w, got)
	w.openArray("advertiser_ids")
	for _, x := range o.authorised(c, l) {
		w.number(x.id)
	}
	w.close(']')
	w.close('}')
	o.end(c, &w)
	return nil
}

// userInfo tells whose token it is.
func (o *oceanEngine) userInfo(c *call, l *login) *apiError {
	id, name := o.about.user(c.sim.world, l)
	w := o.begin(c)
	w.open('{')
	w.numberField("id", id)
	w.textField("display_name", name)
	w.textField("email", "")
	w.close('}')
	o.end(c, &w)
	return nil
}

// userBase is the first user's id.
const userBase = 3_000_000_000_000_001

// advertiser is the account that a call names and its login reaches.
func (o *oceanEngine) advertiser(c *call, l *login) (account, *apiError) {
	id, err := strconv.ParseInt(c.query.Get("advertiser_id"), 10, 64)
	if err != nil {
		return account{}, failure(40000, "advertiser_id is missing or no number")
	}
	a, ok := c.sim.world.lookup(o.about, id)
	if !ok || !l.reaches(a.index) || c.sim.world.closed(&a) != "" {
		return account{}, failure(40002, "advertiser_id %d", id)
	}
	return a, nil
}

// integer reads a number from 1 to hi; one that is missing is usual.
func (o *oceanEngine) integer(c *call, name string, usual, hi int) (int, *apiError) {
	text := c.query.Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > hi {
		return 0, failure(40000, "%s is a number from 1 to %d", name, hi)
	}
	return n, nil
}

// decode reads a parameter that is JSON text; keys it does not know and values of another type are refused.
func (o *oceanEngine) decode(c *call, name string, v any) (found bool, _ *apiError) {
	text := c.query.Get(name)
	if text == "" {
		return false, nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil || d.More() {
		return false, failure(40000, "%s is not as it should be: %v", name, err)
	}
	return true, nil
}

// fields reads which fields are wanted; all are, if none are named. unset are known too, and nothing has them.
func (o *oceanEngine) fields(c *call, all []string, unset ...string) ([]string, *apiError) {
	var list []string
	found, err := o.decode(c, "fields", &list)
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
			return nil, failure(40000, "fields: %q is unknown", f)
		}
	}
	return wanted, nil
}
