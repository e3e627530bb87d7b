package baidu

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"adsync/simulator/limit"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// baidu is the API: every call is a POST with its credentials in the header of its JSON body. Ids are numbers, and
// money is in yuan, as numbers with as few digits as possible.
type baidu struct {
	about    *world.Spec
	routes   map[string]route
	requests atomic.Uint64
	tasks    platform.Tasks
	queries  map[int64]*query // of the tasks, whose lock guards them
}

// route is an endpoint. A manager's own name is accepted where the call is about several accounts.
type route struct {
	serve   func(c *platform.Call, by caller, p *platform.Params) *platform.Failure
	open    bool // its credentials are not in a header, and it names no account
	manager bool
}

// caller is who makes a call, and the account that it is about.
type caller struct {
	login   *world.Login
	account *world.Account // nil for a manager
}

// The endpoints, by their paths.
const (
	search  = "json/sms/service/"
	feed    = "json/feed/v1/"
	reports = search + "OpenApiReportService/"

	feedAdgroupList = feed + "AdgroupFeedService/getAdgroupFeed"

	getReport  = reports + "getReportData"
	createTask = reports + "createReportTask"
	getTask    = reports + "getTaskStatus"
	taskFile   = "report/file"
)

// accountParam is the parameter with the account's id, which the user's name gives.
const accountParam = "account"

// New returns the simulated platform.
func New() platform.Platform {
	b := &baidu{about: spec(), queries: map[int64]*query{}}
	b.routes = map[string]route{
		"oauth/accessToken":                          {b.exchange, true, false},
		"oauth/refreshToken":                         {b.refresh, true, false},
		"oauth/getUserInfo":                          {b.userInfo, true, false},
		feed + "MccFeedService/getUserListByMccid":   {b.managed, false, true},
		search + "AccountService/getAccountInfo":     {b.accountOf(searchAccount, "accountFields"), false, false},
		feed + "AccountFeedService/getAccountFeed":   {b.accountOf(feedAccount, "accountFeedFields"), false, false},
		search + "BalanceService/getBalanceInfo":     {b.balance, false, false},
		search + "CampaignService/getCampaign":       {searchCampaigns.serve(b), false, false},
		search + "AdgroupService/getAdgroup":         {searchAdgroups.serve(b), false, false},
		search + "CreativeService/getCreative":       {searchCreatives.serve(b), false, false},
		feed + "CampaignFeedService/getCampaignFeed": {feedCampaigns.serve(b), false, false},
		feedAdgroupList:                              {feedAdgroups.serve(b), false, false},
		feed + "CreativeFeedService/getCreativeFeed": {feedCreatives.serve(b), false, false},
		feed + "VideoFeedService/getVideoFeed":       {b.videos, false, false},
		feed + "ImageService/getImage":               {b.images, false, false},
		getReport:                                    {b.report, false, true},
		createTask:                                   {b.createTask, false, true},
		getTask:                                      {b.taskStatus, false, true},
	}
	return b
}

func spec() *world.Spec {
	perSecond := func(endpoint string, calls int) limit.Rule {
		return limit.Rule{Media: "baidu", Endpoint: endpoint, Scope: limit.ScopeApp, Seconds: 1, Limit: calls}
	}
	return &world.Spec{
		Number: 5, Name: "baidu", Prefix: "/baidu", BasePath: "/baidu",
		Hosts:         []string{"api.baidu.com", "u.baidu.com"},
		AuthorisePath: "/oauth/page/index", AppParam: "appId", RedirectParam: "callback", CodeParam: "authCode",
		Callback:     sign,
		AccountParam: accountParam, JSONBody: true, ObjectKind: "adgroup", HasProjects: true, VideosOnly: true,
		HidesDeleted: true, TextOnly: isSearch, Unbudgeted: true, ChinaOnly: true,
		AccountName: func(a *world.Account) string { return a.Name() },
		User:        master,
		Metrics: []world.Metric{
			world.Cost, world.Impressions, world.Clicks, world.Activations, world.Registrations, world.Conversions,
			world.DeepConversions, world.FirstPays, world.PayAmountD1, world.PayAmountD3, world.PayAmountD7,
			world.NextDayRetained, world.Forms,
		},
		// All ids are below 2^53, even in the largest world.
		AccountBase: 30_000_000, AccountStep: 13,
		ProjectBase: 1_000_000_000, ObjectBase: 10_000_000_000, ObjectStep: 3,
		CreativeBase: 200_000_000_000, AppBase: 7_100_000,
		CreativeObject: func(x *world.Creative) string { return strconv.FormatInt(x.ID, 10) },
		AssetID:        assetID,
		FigureField:    "cost", DayFields: []string{"date"},
		KeyFields: map[string]string{
			search + "CampaignService/getCampaign": "campaignId", search + "AdgroupService/getAdgroup": "adgroupId",
			search + "CreativeService/getCreative": "creativeId", feed + "CampaignFeedService/getCampaignFeed": "campaignFeedId",
			feedAdgroupList: "adgroupFeedId", feed + "CreativeFeedService/getCreativeFeed": "creativeFeedId",
		},
		NumberFields: []string{"campaignId", "adgroupId", "creativeId", "campaignFeedId", "adgroupFeedId", "creativeFeedId",
			"budget", "maxPrice", "bid"},
		LengthFields:  []string{"duration"},
		UnknownAnswer: `{"header":{"status":2,"desc":"failure","failures":[{"code":77777,"message":"moved"}]},"body":{}}`,
		AccessLife:    86_400, RefreshLife: 2_592_000, CodeLife: 600, RefreshRotates: true,
		// Calls are counted by app: whether the platform counts accounts or addresses is not documented.
		Limits: []limit.Rule{
			perSecond("*", 10), perSecond(search+"CampaignService/getCampaign", 100),
			perSecond(search+"AdgroupService/getAdgroup", 50), perSecond(search+"CreativeService/getCreative", 100),
			perSecond(getReport, 50),
		},
		Assumed: assumed(),
	}
}

func (b *baidu) Spec() *world.Spec { return b.about }

func (b *baidu) Endpoint(path string) string {
	name := platform.EndpointName(path)
	if _, known := b.routes[name]; !known && name != taskFile {
		return platform.EndpointUnknown
	}
	return name
}

// Unwrap sets the fields of the call's header and body as parameters, and the id of the account that the user's name
// names: the first of several if it names a manager.
func (b *baidu) Unwrap(c *platform.Call) {
	p := platform.Params{Call: c}
	for _, part := range []string{"body", "header"} {
		fields, _ := p.Object(part)
		c.Query.Del(part)
		for name := range fields {
			c.Query.Set(name, fields.Get(name))
		}
	}
	c.Query.Del(accountParam)
	if a, ok := accountNamed(c, c.Query.Get("userName")); ok {
		c.Query.Set(accountParam, strconv.FormatInt(a.ID, 10))
	} else if ids := p.Numbers("userIds", int(c.Assumed(userIDsMax))); len(ids) > 0 {
		c.Query.Set(accountParam, strconv.FormatInt(ids[0], 10))
	}
}

// accountNamed finds an account by its name, which ends with its number.
func accountNamed(c *platform.Call, name string) (world.Account, bool) {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil || n < 1 || n > c.Sim.World.Count(c.Spec) {
		return world.Account{}, false
	}
	if a := c.Sim.World.Account(c.Spec, n-1); a.Name() == name {
		return a, true
	}
	return world.Account{}, false
}

func (b *baidu) Serve(c *platform.Call) {
	b.head(c)
	if c.Endpoint == taskFile && c.Request.Method == http.MethodGet {
		b.download(c)
		return
	}
	r, known := b.routes[c.Endpoint]
	if !known || c.Request.Method != http.MethodPost {
		c.Status = http.StatusNotFound
		b.fail(c, c.Refusal(codeSearch, "%s %s is unknown", c.Request.Method, c.Path))
		return
	}
	p := &platform.Params{Call: c, Code: int(c.Assumed(parameterCode(c))), Zone: c.Assumed(zoneSeconds)}
	if err := b.serve(c, r, p); err != nil {
		if r.open {
			failOauth(c, err)
		} else {
			b.fail(c, err)
		}
	}
}

func parameterCode(c *platform.Call) string {
	if strings.HasPrefix(c.Endpoint, feed) {
		return codeFeed
	}
	return codeSearch
}

func (b *baidu) serve(c *platform.Call, r route, p *platform.Params) *platform.Failure {
	if r.open {
		p.Code = codeOauth
		err := r.serve(c, caller{}, p)
		return cmp.Or(err, p.Failure)
	}
	if c.Query.Get("userName") == "" {
		return platform.Failf(codeNoUser, "userName is missing in the header")
	}
	l, err := login(c, codeNoToken, codeBadToken, codeOldToken)
	if err != nil || c.Limited() {
		return err
	}
	by := caller{login: l}
	if _, name := master(c.Sim.World, l); !r.manager || !isManager(l) || name != c.Query.Get("userName") {
		named, _ := accountNamed(c, c.Query.Get("userName")) // no account has the id 0
		if by.account, err = account(c, l, named.ID); err != nil {
			return err
		}
	}
	err = r.serve(c, by, p)
	return cmp.Or(err, p.Failure)
}

// login returns the login of an access token. The codes are those of a token that is missing, unknown or expired.
func login(c *platform.Call, missing, unknown, expired string) (*world.Login, *platform.Failure) {
	return c.Login(c.Query.Get("accessToken"), c.Refusal(missing, "accessToken is missing"),
		c.Refusal(unknown, "accessToken is unknown"), c.Refusal(expired, "accessToken has expired"))
}

// account returns an account by its id, if a login reaches it.
func account(c *platform.Call, l *world.Login, id int64) (*world.Account, *platform.Failure) {
	a, err := c.Reached(l, strconv.FormatInt(id, 10),
		c.Refusal(codeForbidden, "the token has no permission for account %d", id),
		c.Refusal(codeClosed, "account %d is closed", id))
	return &a, err
}

// trace sets the id of the call, which the answer has in its header too.
const trace = "X-B3-Traceid"

func (b *baidu) head(c *platform.Call) {
	key := world.Key(c.Sim.World.Seed).Sub(b.requests.Add(1)).Sub(uint64(c.Now))
	c.Header.Set("Content-Type", "application/json;charset=UTF-8")
	c.Header.Set(trace, fmt.Sprintf("%016x", uint64(key)))
}

// The states of an answer.
const (
	statusGood   = 0
	statusPart   = 1
	statusFailed = 2
	statusSystem = 3
)

// problem is an error of a part of a call: of an id in a list, for example.
type problem struct {
	*platform.Failure
	position, field string
	id              int64
}

// begin writes the start of an answer, up to the value of data. problems are the parts that failed.
func (b *baidu) begin(c *platform.Call, status int64, problems ...problem) platform.Writer {
	w := platform.Writer{Bytes: c.Body[:0]}
	w.Open('{')
	w.OpenObject("header")
	w.NumberField("status", status)
	w.TextField("desc", [...]string{"success", "partial success", "failure", "system failure"}[status])
	w.NumberField("quota", 1)
	w.NumberField("rquota", 49_999)
	w.NumberField("oprs", 1)
	w.NumberField("oprtime", 0)
	w.TextField("traceid", c.Header.Get(trace))
	w.OpenArray("failures")
	for _, x := range problems {
		c.Code = x.Code
		w.Open('{')
		w.NumberField("code", int64(x.Code))
		w.TextField("message", x.Detail)
		w.TextField("position", x.position)
		if x.field != "" {
			w.TextField("field", x.field)
			w.NumberField("id", x.id)
		}
		w.Close('}')
	}
	w.Close(']')
	w.Close('}')
	w.OpenObject("body")
	w.Key("data")
	return w
}

func (b *baidu) end(c *platform.Call, w *platform.Writer) {
	w.Close('}')
	w.Close('}')
	c.Body = w.Bytes
}

func (b *baidu) fail(c *platform.Call, err *platform.Failure) {
	status := int64(statusFailed)
	if err.Code == codeSystem {
		status = statusSystem
	}
	b.failAs(c, status, problem{Failure: err})
}

func (b *baidu) failAs(c *platform.Call, status int64, problems ...problem) {
	w := b.begin(c, status, problems...)
	w.Raw("[]")
	b.end(c, &w)
}

func (b *baidu) OverLimit(c *platform.Call, r limit.Refusal) {
	b.head(c)
	err, status := c.Refusal(codeLimit, "qps limit"), c.Assumed(limitStatus)
	switch {
	case r.Busy:
		err, status = platform.Failf(codeSystem, "system error"), statusSystem
	case r.Penalty:
		err = c.Refusal(codePenalty, "too many calls, try again later")
	default:
		c.RefuseAs(int(c.Assumed(limitHTTP)), r)
	}
	if b.routes[c.Endpoint].open {
		failOauth(c, err)
		return
	}
	b.failAs(c, status, problem{Failure: err})
}

// wrong sets the failure of a call for a parameter, unless it has one.
func wrong(p *platform.Params, format string, args ...any) {
	p.Failure = cmp.Or(p.Failure, platform.Failf(p.Code, format, args...))
}
