package tencent

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

	"adsync/simulator/fault/trap"
	"adsync/simulator/limit"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// tencent is Tencent Ads' Marketing API v3.0: parameters in the query, money in fen as integers, errors in the
// envelope with HTTP status 200.
type tencent struct {
	about  *world.Spec
	routes map[string]tencentRoute
	nonces nonceStore
	traces atomic.Uint64
}

type tencentRoute struct {
	method string
	serve  func(c *platform.Call, l *world.Login) *platform.Failure
}

const (
	tencentVersion     = "/v3.0/"
	tencentClockSkew   = 300
	tencentPageModeKey = "pagination_mode"
	tencentByPage      = "PAGINATION_MODE_NORMAL"
	tencentByCursor    = "PAGINATION_MODE_CURSOR"
)

// tencentMessages holds the texts of this platform's codes.
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

// New returns the simulated platform.
func New() platform.Platform {
	t := &tencent{about: &world.Spec{
		Number: 1, Name: "tencent", Prefix: "/tencent", BasePath: "/tencent/v3.0",
		Hosts:         []string{"api.e.qq.com", "dl.e.qq.com", "developers.e.qq.com"},
		AuthorisePath: "/oauth/authorize", AppParam: "client_id", CodeParam: "authorization_code",
		AccountParam: "account_id", ObjectKind: "adgroup",
		AccountName: func(a *world.Account) string { return a.Company() },
		User: func(w *world.World, l *world.Login) (int64, string) {
			id := w.Account(l.Platform, l.First).ID
			if r := tencentRoleOf(l); r == tencentAgency || r == tencentAgencies {
				id = agencyLogins + int64(l.Index)
			}
			return id, tencentRoleOf(l).name(id)
		},
		Metrics: []world.Metric{
			world.Cost, world.Impressions, world.Clicks, world.Downloads, world.Installs, world.Activations, world.Registrations,
			world.Conversions, world.DeepConversions,
			world.FirstPays, world.Pays, world.PayAmount, world.PayAmountD1, world.PayAmountD3, world.PayAmountD7,
			world.NextDayRetained, world.PaysD1, world.Orders, world.OrderAmount,
		},
		// Accounts have 8 digits and ad groups 11, even in the largest world.
		AccountBase: 20_000_000, AccountStep: 67,
		ObjectBase: 10_000_000_000, ObjectStep: 5,
		AppBase: 1_110_000_000, CreativeBase: 1_000_000_000_000,
		CreativeObject: func(c *world.Creative) string { return strconv.FormatInt(c.ID, 10) },
		AssetID: func(kind world.AssetKind, number int64, k world.Key) string {
			return strconv.FormatInt([...]int64{60_000_000_000, 80_000_000_000}[kind]+number*3+k.Sub(20).Below(3), 10)
		},
		FigureField: "cost", DayFields: []string{"date"},
		KeyFields:    map[string]string{"adgroups/get": "adgroup_id", "dynamic_creatives/get": "dynamic_creative_id"},
		NumberFields: []string{"adgroup_id", "account_id", "bid_amount", "daily_budget"},
		LengthFields: []string{"image_duration_millisecond"},
		GiantTraps:   map[trap.ID]int{trap.BeyondPages: tencentListMax, trap.RowsOverCap: tencentRowsMax},
		AccessLife:   86_400, RefreshLife: 2_592_000, CodeLife: 300,
		Limits: []limit.Rule{
			{Media: "tencent", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 1, Limit: 100},
			{Media: "tencent", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 60, Limit: 3000},
			// The real platform allows 40,000, and fewer calls too. Here it is more, as a world's day may be played in
			// minutes.
			{Media: "tencent", Endpoint: "*", Scope: limit.ScopeRows, Seconds: 10, Limit: 400_000},
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

func (t *tencent) Spec() *world.Spec { return t.about }

func (t *tencent) Endpoint(path string) string {
	if _, ok := t.routes[path]; !ok {
		return platform.EndpointUnknown
	}
	return platform.EndpointName(strings.TrimPrefix(path, tencentVersion))
}

func (t *tencent) Serve(c *platform.Call) {
	t.head(c)
	route, ok := t.routes[c.Path]
	if !ok || c.Request.Method != route.method {
		t.fail(c, platform.Failf(12007, "%s %s", c.Request.Method, c.Path))
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
	if c.Limited() {
		return
	}
	c.Header.Set("X-RateLimit-Remaining", fmt.Sprintf("100%%,%d%%", c.Sim.Limits.Left(t.about.Name, c.Endpoint, c.App)))
	if err := route.serve(c, l); err != nil {
		t.fail(c, err)
	}
}

// head sets the headers of every answer.
func (t *tencent) head(c *platform.Call) {
	k := world.Key(c.Sim.World.Seed).Sub(t.traces.Add(1)).Sub(uint64(c.Now))
	c.Header.Set("Content-Type", "application/json;charset=utf-8")
	c.Header.Set("X-TSA-Trace-Id", fmt.Sprintf("%016x%016x", uint64(k), uint64(k.Sub(1))))
}

func (t *tencent) fail(c *platform.Call, err *platform.Failure) {
	c.Code = err.Code
	kind := "BusinessException"
	if err.Code >= 30000 && err.Code < 30100 {
		kind = "SysException"
	}
	w := platform.Writer{Bytes: c.Body[:0]}
	w.Open('{')
	w.NumberField("code", int64(err.Code))
	w.TextField("message", tencentMessages[err.Code]+" "+err.Detail)
	w.TextField("message_cn", tencentMessages[err.Code])
	w.TextField("code_type", kind)
	w.TextField("trace_id", c.Header.Get("X-TSA-Trace-Id"))
	w.Close('}')
	c.Body = w.Bytes
}

func (t *tencent) OverLimit(c *platform.Call, r limit.Refusal) {
	t.head(c)
	c.Header.Set("X-RateLimit-Remaining", "100%,0%")
	code := 11018
	switch {
	case r.Busy && strings.Contains(c.Endpoint, "report"):
		code = 51001
	case r.Busy:
		code = 30021
	case r.Rule.Scope == limit.ScopeAccount, r.Rule.Scope == limit.ScopeRows:
		code = 11019 // The platform does not document the code for rows.
	case r.Rule.Seconds <= 1:
		code = 11016
	case r.Rule.Seconds <= 60:
		code = 11017
	}
	t.fail(c, platform.Failf(code, ""))
}

// begin writes the start of a success envelope, up to the inside of data.
func begin(c *platform.Call) platform.Writer {
	w := platform.Writer{Bytes: append(c.Body[:0], `{"code":0,"message":"","message_cn":"","data":{`...)}
	return w
}

func end(c *platform.Call, w *platform.Writer) {
	w.Bytes = append(w.Bytes, "}}"...)
	c.Body = w.Bytes
}

// authenticate checks the parameters of every call, in the order in which the platform can check them, and returns
// the call's login.
func (t *tencent) authenticate(c *platform.Call) (*world.Login, *platform.Failure) {
	for _, name := range []string{"access_token", "timestamp", "nonce"} {
		if !c.Query.Has(name) {
			return nil, platform.Failf(12000, "%s", name)
		}
	}
	token := c.Query.Get("access_token")
	if token == "" {
		return nil, platform.Failf(11005, "")
	}
	if len(token) != 32 || strings.Trim(token, platform.HexDigits) != "" {
		return nil, platform.Failf(11004, "")
	}
	l, state := c.Sim.Vault.Access(t.about, token, c.Now)
	if l != nil {
		c.App = strconv.FormatInt(c.Sim.World.AppID(t.about, l.App()), 10)
	}
	switch state {
	case world.TokenGood:
	case world.TokenExpired:
		return nil, platform.Failf(11000, "")
	default:
		return nil, platform.Failf(11002, "")
	}
	sent, err := strconv.ParseInt(c.Query.Get("timestamp"), 10, 64)
	if err != nil {
		return nil, platform.Failf(18002, "timestamp")
	}
	// A client that signs with the real time passes too, as the platform's own SDK does.
	if !near(sent, c.Now) && !near(sent, time.Now().Unix()) {
		return nil, platform.Failf(12101, "the server's is %d", c.Now)
	}
	nonce := c.Query.Get("nonce")
	if nonce == "" {
		return nil, platform.Failf(12000, "nonce")
	}
	if len(nonce) > 32 {
		return nil, platform.Failf(18003, "nonce")
	}
	if !t.nonces.use(nonce) {
		return nil, platform.Failf(12100, "")
	}
	if a, ok := c.Sim.World.LookupText(t.about, c.Query.Get(t.about.AccountParam)); ok {
		c.Account = strconv.FormatInt(a.ID, 10)
	}
	return l, nil
}

func near(sent, now int64) bool { return sent-now <= tencentClockSkew && now-sent <= tencentClockSkew }

// noncesMax bounds the kept nonces: at least the latest half a million, at most a million.
const noncesMax = 500_000

// nonceStore keeps the used nonces by their hash.
type nonceStore struct {
	mu         sync.Mutex
	fresh, old map[uint64]struct{}
}

func (s *nonceStore) use(nonce string) bool {
	k := world.Key(len(nonce))
	for i := range len(nonce) {
		k = k.Sub(uint64(nonce[i]))
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

// account returns the account that a call names, if its login reaches it.
func (t *tencent) account(c *platform.Call, l *world.Login) (world.Account, *platform.Failure) {
	text := c.Query.Get("account_id")
	if text == "" {
		return world.Account{}, platform.Failf(18001, "account_id")
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return world.Account{}, platform.Failf(18002, "account_id")
	}
	a, ok := c.Sim.World.Lookup(t.about, id)
	if !ok || !l.Reaches(a.Index) {
		return world.Account{}, platform.Failf(12201, "account_id %d", id)
	}
	switch c.Sim.World.Closed(&a) {
	case world.LifeFrozen:
		return world.Account{}, platform.Failf(32211, "account_id %d", id)
	case world.LifeRevoked:
		return world.Account{}, platform.Failf(12201, "account_id %d", id)
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
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, platform.Failf(18003, "%s", name)
	case err != nil:
		return 0, platform.Failf(18002, "%s", name)
	case n > hi:
		return 0, platform.Failf(18003, "%s is at most %d", name, hi)
	case n < 1:
		return 0, platform.Failf(18004, "%s is at least 1", name)
	}
	return n, nil
}

// oneOf reads a word of a list; "" if it is missing.
func oneOf(c *platform.Call, name string, list ...string) (string, *platform.Failure) {
	text := c.Query.Get(name)
	if text != "" && !slices.Contains(list, text) {
		return "", platform.Failf(18009, "%s is one of %v", name, list)
	}
	return text, nil
}

// decode reads a parameter that is JSON text. It is strict: a number is not a string. found is false if it is
// missing.
func decode(c *platform.Call, name string, v any) (found bool, e *platform.Failure) {
	text := c.Query.Get(name)
	if text == "" {
		return false, nil
	}
	err := json.Unmarshal([]byte(text), v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return false, platform.Failf(18002, "%s: %s is no %s", name, wrong.Value, wrong.Type)
	}
	if err != nil {
		return false, platform.Failf(12003, "%s", name)
	}
	return true, nil
}

// readFields returns the requested fields; nil if none are named.
func readFields(c *platform.Call, known func(string) bool) ([]string, *platform.Failure) {
	var list []string
	found, err := decode(c, "fields", &list)
	switch {
	case err != nil && err.Code == 18002:
		return nil, platform.Failf(12008, "")
	case err != nil:
		return nil, err
	case !found:
		return nil, nil
	case len(list) == 0:
		return nil, platform.Failf(18012, "fields")
	case len(list) > 1024:
		return nil, platform.Failf(18003, "fields")
	}
	for _, f := range list {
		if !known(f) {
			return nil, platform.Failf(12009, "%q", f)
		}
	}
	return list, nil
}

// tencentFilter is a condition of a list or report. Its values are always strings.
type tencentFilter struct {
	Field    string   `json:"field"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// readFilters reads conditions. Each field has its own operators.
func readFilters(c *platform.Call, most int, operators map[string][]string) ([]tencentFilter, *platform.Failure) {
	var list []tencentFilter
	found, err := decode(c, "filtering", &list)
	if err != nil || !found {
		return nil, err
	}
	if len(list) > most {
		return nil, platform.Failf(18003, "filtering has at most %d conditions", most)
	}
	for _, f := range list {
		allowed, ok := operators[f.Field]
		switch {
		case !ok:
			return nil, platform.Failf(18009, "filtering: field %q", f.Field)
		case !slices.Contains(allowed, f.Operator):
			return nil, platform.Failf(18009, "filtering: operator %q of %s", f.Operator, f.Field)
		case len(f.Values) == 0:
			return nil, platform.Failf(18012, "filtering: values of %s", f.Field)
		case len(f.Values) > 100, f.Operator != "IN" && len(f.Values) > 1:
			return nil, platform.Failf(18003, "filtering: values of %s", f.Field)
		}
	}
	return list, nil
}
