package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// tencent is Tencent Ads' Marketing API v3.0: parameters in the query, money in fen as integers, errors in the
// envelope with HTTP status 200.
type tencent struct {
	about  *spec
	routes map[string]tencentRoute
	nonces nonceStore
	traces atomic.Uint64
}

type tencentRoute struct {
	method string
	serve  func(c *call, l *login) *apiError
}

const (
	tencentVersion     = "/v3.0/"
	tencentClockSkew   = 300
	tencentPageModeKey = "pagination_mode"
	tencentByPage      = "PAGINATION_MODE_NORMAL"
	tencentByCursor    = "PAGINATION_MODE_CURSOR"
)

// tencentMessages are the texts of the codes that this platform can answer with.
var tencentMessages = map[int]string{
	11000: "The access token has expired.",
	11002: "The access token is invalid.",
	11004: "The access token is malformed.",
	11005: "The access token is empty.",
	11007: "The client_id or client_secret is invalid.",
	11009: "The authorization code has expired.",
	11010: "The refresh token is malformed.",
	11011: "The authorization code is malformed.",
	11012: "The refresh token has expired.",
	11013: "The authorization code has been used.",
	11016: "Application has reached the request limit per second.",
	11017: "Application has reached the request limit per minute.",
	11018: "Application has reached the request limit per day.",
	11019: "The request limit of the account has been reached.",
	12000: "A common parameter is missing.",
	12003: "A parameter is not valid JSON.",
	12007: "The requested URL or method is unknown.",
	12008: "The parameter fields is not an array.",
	12009: "An unknown field is requested.",
	12100: "The nonce has been used before.",
	12101: "The timestamp differs too much from the server's time.",
	12201: "The account is not accessible with this token.",
	12203: "The organization is not accessible with this token.",
	18001: "A required parameter is missing.",
	18002: "A parameter has the wrong type.",
	18003: "A parameter is too large.",
	18004: "A parameter is too small.",
	18009: "A parameter has a value that is not allowed.",
	18012: "A parameter has too few values.",
	30021: "The system is busy.",
	32211: "The advertiser is inactive.",
	51001: "Reports cannot be served at the moment.",
	33109: "is_deleted and last_modified_time must be filtered together.",
}

func newTencent() platform {
	t := &tencent{about: &spec{
		number: 1, name: "tencent", prefix: "/tencent", basePath: "/tencent/v3.0",
		hosts:         []string{"api.e.qq.com", "dl.e.qq.com", "developers.e.qq.com"},
		authorisePath: "/oauth/authorize", appParam: "client_id", codeParam: "authorization_code",
		accountParam: "account_id", objectKind: "adgroup",
		accountName: func(a *account) string { return a.company() },
		user: func(w *world, l *login) (int64, string) {
			id := w.account(l.p, l.first).id
			if r := tencentRoleOf(l); r == tencentAgency || r == tencentAgencies {
				id = agencyLogins + int64(l.index)
			}
			return id, tencentRoleOf(l).name(id)
		},
		metrics: []metric{
			cost, impressions, clicks, downloads, installs, activations, registrations, conversions, deepConversions,
			firstPays, pays, payAmount, payAmountD1, payAmountD3, payAmountD7, nextDayRetained,
		},
		// Accounts have 8 digits and ad groups 11, to the last of the largest world.
		accountBase: 20_000_000, accountStep: 67,
		objectBase: 10_000_000_000, objectStep: 5,
		appBase: 1_110_000_000, creativeBase: 1_000_000_000_000,
		creativeObject: func(c *creative) string { return strconv.FormatInt(c.id, 10) },
		assetID: func(kind assetKind, number int64, k key) string {
			return strconv.FormatInt([...]int64{60_000_000_000, 80_000_000_000}[kind]+number*3+k.sub(20).below(3), 10)
		},
		figureField: "cost", dayFields: []string{"date"},
		keyFields:    map[string]string{"adgroups/get": "adgroup_id", "dynamic_creatives/get": "dynamic_creative_id"},
		numberFields: []string{"adgroup_id", "account_id", "bid_amount", "daily_budget"},
		lengthFields: []string{"image_duration_millisecond"},
		giantTraps:   map[trapID]int{trapBeyondPages: tencentListMax, trapRowsOverCap: tencentRowsMax},
		accessLife:   86_400, refreshLife: 2_592_000, codeLife: 300,
		limits: []LimitRule{
			{Media: "tencent", Endpoint: "*", Scope: ScopeApp, Seconds: 1, Limit: 100},
			{Media: "tencent", Endpoint: "*", Scope: ScopeApp, Seconds: 60, Limit: 3000},
			// The real platform allows 40,000, and less calls too: a world's day may be played in minutes.
			{Media: "tencent", Endpoint: "*", Scope: ScopeRows, Seconds: 10, Limit: 400_000},
		},
	}}
	t.nonces.fresh = map[uint64]struct{}{}
	t.routes = map[string]tencentRoute{
		"/oauth/token":                                       {http.MethodGet, nil},
		"/oauth/refresh_token":                               {http.MethodGet, nil},
		tencentVersion + "advertiser/get":                    {http.MethodGet, t.advertisers},
		tencentVersion + "organization_account_relation/get": {http.MethodGet, t.relations},
		tencentVersion + "agency/get":                        {http.MethodGet, t.agencies},
		tencentVersion + "adgroups/get":                      {http.MethodGet, t.adgroups},
		tencentVersion + "dynamic_creatives/get":             {http.MethodGet, t.creatives},
		tencentVersion + "images/get":                        {http.MethodGet, t.images},
		tencentVersion + "videos/get":                        {http.MethodGet, t.videos},
		tencentVersion + "daily_reports/get":                 {http.MethodGet, t.dailyReports},
		tencentVersion + "hourly_reports/get":                {http.MethodGet, t.hourlyReports},
		tencentVersion + "funds/get":                         {http.MethodGet, t.funds},
		tencentVersion + "daily_balance_report/get":          {http.MethodGet, t.dailyBalances},
	}
	return t
}

func (t *tencent) spec() *spec { return t.about }

func (t *tencent) endpoint(path string) string {
	if _, ok := t.routes[path]; !ok {
		return endpointUnknown
	}
	return endpointName(strings.TrimPrefix(path, tencentVersion))
}

func (t *tencent) serve(c *call) {
	t.head(c)
	route, ok := t.routes[c.path]
	if !ok || c.r.Method != route.method {
		t.fail(c, failure(12007, "%s %s", c.r.Method, c.path))
		return
	}
	if route.serve == nil {
		t.oauth(c)
		return
	}
	l, err := t.authenticate(c)
	if err != nil {
		t.fail(c, err)
		return
	}
	if c.limited() {
		return
	}
	c.header.Set("X-RateLimit-Remaining", fmt.Sprintf("100%%,%d%%", c.sim.limits.left(t.about.name, c.endpoint, c.app)))
	if err := route.serve(c, l); err != nil {
		t.fail(c, err)
	}
}

// head sets what every answer carries.
func (t *tencent) head(c *call) {
	k := key(c.sim.world.seed).sub(t.traces.Add(1)).sub(uint64(c.now))
	c.header.Set("Content-Type", "application/json;charset=utf-8")
	c.header.Set("X-TSA-Trace-Id", fmt.Sprintf("%016x%016x", uint64(k), uint64(k.sub(1))))
}

func (t *tencent) fail(c *call, err *apiError) {
	c.code = err.code
	kind := "BusinessException"
	if err.code >= 30000 && err.code < 30100 {
		kind = "SysException"
	}
	w := jsonWriter{b: c.body[:0]}
	w.open('{')
	w.numberField("code", int64(err.code))
	w.textField("message", tencentMessages[err.code]+" "+err.detail)
	w.textField("message_cn", tencentMessages[err.code])
	w.textField("code_type", kind)
	w.textField("trace_id", c.header.Get("X-TSA-Trace-Id"))
	w.close('}')
	c.body = w.b
}

func (t *tencent) overLimit(c *call, r refusal) {
	t.head(c)
	c.header.Set("X-RateLimit-Remaining", "100%,0%")
	code := 11018
	switch {
	case r.busy && strings.Contains(c.endpoint, "report"):
		code = 51001
	case r.busy:
		code = 30021
	case r.rule.Scope == ScopeAccount, r.rule.Scope == ScopeRows:
		code = 11019 // Of rows the platform does not tell its code.
	case r.rule.Seconds <= 1:
		code = 11016
	case r.rule.Seconds <= 60:
		code = 11017
	}
	t.fail(c, failure(code, ""))
}

// begin opens the envelope of a good answer, up to the inside of data.
func (t *tencent) begin(c *call) jsonWriter {
	w := jsonWriter{b: append(c.body[:0], `{"code":0,"message":"","message_cn":"","data":{`...)}
	return w
}

func (t *tencent) end(c *call, w *jsonWriter) {
	w.b = append(w.b, "}}"...)
	c.body = w.b
}

// authenticate checks the parameters that every call has, in the order in which the platform can know them, and says
// whose call it is.
func (t *tencent) authenticate(c *call) (*login, *apiError) {
	for _, name := range []string{"access_token", "timestamp", "nonce"} {
		if !c.query.Has(name) {
			return nil, failure(12000, "%s", name)
		}
	}
	token := c.query.Get("access_token")
	if token == "" {
		return nil, failure(11005, "")
	}
	if len(token) != 32 || strings.Trim(token, hexDigits) != "" {
		return nil, failure(11004, "")
	}
	l, state := c.sim.vault.access(t.about, token, c.now)
	if l != nil {
		c.app = strconv.FormatInt(c.sim.world.appID(t.about, l.app()), 10)
	}
	switch state {
	case tokenGood:
	case tokenExpired:
		return nil, failure(11000, "")
	default:
		return nil, failure(11002, "")
	}
	sent, err := strconv.ParseInt(c.query.Get("timestamp"), 10, 64)
	if err != nil {
		return nil, failure(18002, "timestamp")
	}
	// A client that signs with the real time passes too, wherever the world's clock is: the platform's own SDK does.
	if !near(sent, c.now) && !near(sent, time.Now().Unix()) {
		return nil, failure(12101, "the server's is %d", c.now)
	}
	nonce := c.query.Get("nonce")
	if nonce == "" {
		return nil, failure(12000, "nonce")
	}
	if len(nonce) > 32 {
		return nil, failure(18003, "nonce")
	}
	if !t.nonces.use(nonce) {
		return nil, failure(12100, "")
	}
	if a, ok := c.sim.world.lookupText(t.about, c.query.Get(t.about.accountParam)); ok {
		c.account = strconv.FormatInt(a.id, 10)
	}
	return l, nil
}

func near(sent, now int64) bool { return sent-now <= tencentClockSkew && now-sent <= tencentClockSkew }

// noncesMax bounds how many nonces are remembered: the latest half a million at least, a million at most.
const noncesMax = 500_000

// nonceStore remembers which nonces were used, by their hash.
type nonceStore struct {
	mu         sync.Mutex
	fresh, old map[uint64]struct{}
}

func (s *nonceStore) use(nonce string) bool {
	k := key(len(nonce))
	for i := range len(nonce) {
		k = k.sub(uint64(nonce[i]))
	}
	h := uint64(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, used := s.fresh[h]; used {
		return false
	}
	if _, used := s.old[h]; used {
		return false
	}
	if len(s.fresh) >= noncesMax {
		s.fresh, s.old = map[uint64]struct{}{}, s.fresh
	}
	s.fresh[h] = struct{}{}
	return true
}

// account is the one that a call names and its login reaches.
func (t *tencent) account(c *call, l *login) (account, *apiError) {
	text := c.query.Get("account_id")
	if text == "" {
		return account{}, failure(18001, "account_id")
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return account{}, failure(18002, "account_id")
	}
	a, ok := c.sim.world.lookup(t.about, id)
	if !ok || !l.reaches(a.index) {
		return account{}, failure(12201, "account_id %d", id)
	}
	switch c.sim.world.closed(&a) {
	case lifeFrozen:
		return account{}, failure(32211, "account_id %d", id)
	case lifeRevoked:
		return account{}, failure(12201, "account_id %d", id)
	}
	return a, nil
}

// integer reads a number from 1 to hi; one that is missing is usual.
func (t *tencent) integer(c *call, name string, usual, hi int) (int, *apiError) {
	text := c.query.Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, failure(18003, "%s", name)
	case err != nil:
		return 0, failure(18002, "%s", name)
	case n > hi:
		return 0, failure(18003, "%s is at most %d", name, hi)
	case n < 1:
		return 0, failure(18004, "%s is at least 1", name)
	}
	return n, nil
}

// oneOf reads a word of a list; one that is missing is "".
func (t *tencent) oneOf(c *call, name string, list ...string) (string, *apiError) {
	text := c.query.Get(name)
	if text != "" && !slices.Contains(list, text) {
		return "", failure(18009, "%s is one of %v", name, list)
	}
	return text, nil
}

// decode reads a parameter that is JSON text. It is strict: a number is no string. found is false if it is missing.
func (t *tencent) decode(c *call, name string, v any) (found bool, e *apiError) {
	text := c.query.Get(name)
	if text == "" {
		return false, nil
	}
	err := json.Unmarshal([]byte(text), v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return false, failure(18002, "%s: %s is no %s", name, wrong.Value, wrong.Type)
	}
	if err != nil {
		return false, failure(12003, "%s", name)
	}
	return true, nil
}

// fields reads which fields are wanted; nil if none are named.
func (t *tencent) fields(c *call, known func(string) bool) ([]string, *apiError) {
	var list []string
	found, err := t.decode(c, "fields", &list)
	switch {
	case err != nil && err.code == 18002:
		return nil, failure(12008, "")
	case err != nil:
		return nil, err
	case !found:
		return nil, nil
	case len(list) == 0:
		return nil, failure(18012, "fields")
	case len(list) > 1024:
		return nil, failure(18003, "fields")
	}
	for _, f := range list {
		if !known(f) {
			return nil, failure(12009, "%q", f)
		}
	}
	return list, nil
}

// tencentFilter is a condition of a list or report. Its values are strings whatever they mean.
type tencentFilter struct {
	Field    string   `json:"field"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// filters reads conditions, of which each field has its operators.
func (t *tencent) filters(c *call, most int, operators map[string][]string) ([]tencentFilter, *apiError) {
	var list []tencentFilter
	found, err := t.decode(c, "filtering", &list)
	if err != nil || !found {
		return nil, err
	}
	if len(list) > most {
		return nil, failure(18003, "filtering has at most %d conditions", most)
	}
	for _, f := range list {
		allowed, ok := operators[f.Field]
		switch {
		case !ok:
			return nil, failure(18009, "filtering: field %q", f.Field)
		case !slices.Contains(allowed, f.Operator):
			return nil, failure(18009, "filtering: operator %q of %s", f.Operator, f.Field)
		case len(f.Values) == 0:
			return nil, failure(18012, "filtering: values of %s", f.Field)
		case len(f.Values) > 100, f.Operator != "IN" && len(f.Values) > 1:
			return nil, failure(18003, "filtering: values of %s", f.Field)
		}
	}
	return list, nil
}
