package kuaishou

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"adsync/simulator/limit"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// kuaishou is the Marketing API: parameters in a JSON body, also of reads; money in li in objects, and in yuan in
// reports and balances; errors in the envelope.
type kuaishou struct {
	about    *world.Spec
	routes   map[string]route
	requests atomic.Uint64
	tasks    platform.Tasks
}

// route is an endpoint. The documents describe some reads as a GET with a JSON body, and clients are known that send a
// query or a POST instead: those endpoints take all three.
type route struct {
	methods []string
	serve   func(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure
	open    bool // needs no token in the header, and names no account
}

const prefix = "/rest/openapi/"

var (
	byPost   = []string{http.MethodPost}
	byGet    = []string{http.MethodGet}
	byEither = []string{http.MethodGet, http.MethodPost}
)

// New returns the simulated platform.
func New() platform.Platform {
	k := &kuaishou{about: spec()}
	k.routes = map[string]route{
		"oauth2/authorize/access_token":  {byPost, k.exchange, true},
		"oauth2/authorize/refresh_token": {byPost, k.refresh, true},
		"oauth2/authorize/approval/list": {byPost, k.approved, true},
		"v1/advertiser/info":             {byPost, k.info, false},
		"gw/dsp/campaign/list":           {byPost, k.campaigns, false},
		"gw/dsp/unit/list":               {byPost, k.units, false},
		"gw/dsp/creative/list":           {byPost, k.creatives, false},
		"gw/dsp/advanced_creative/list":  {byPost, k.packages, false},
		"v1/file/ad/video/list":          {byPost, k.videos, false},
		"v1/file/ad/video/get":           {byPost, k.videosByID, false},
		"gw/dsp/video/listByCursor":      {byPost, k.videosByCursor, false},
		"v1/file/ad/image/list":          {byPost, k.images, false},
		"v1/file/ad/image/get":           {byEither, k.image, false},
		"v1/advertiser/fund/get":         {byEither, k.fund, false},
		"v1/advertiser/fund/daily_flows": {byEither, k.flows, false},
		"v1/advertiser/budget/get":       {byPost, k.budget, false},
		"v1/tool/operation_record/list":  {byPost, k.operations, false},
		createTask:                       {byPost, k.createTask, false},
		"v1/async_task/list":             {byPost, k.listTasks, false},
		"v1/async_task/download":         {byGet, k.download, false},
	}
	for path, l := range levels {
		k.routes[path] = route{byPost, k.report(l), false}
	}
	return k
}

func spec() *world.Spec {
	return &world.Spec{
		Number: 3, Name: "kuaishou", Prefix: "/kuaishou", BasePath: "/kuaishou/rest/openapi",
		Hosts:         []string{"ad.e.kuaishou.com", "developers.e.kuaishou.com"},
		AuthorisePath: "/tools/authorize", AppParam: "app_id", CodeParam: "auth_code",
		AccountParam: "advertiser_id", JSONBody: true, ObjectKind: "unit", HasProjects: true, VideosOnly: true,
		ChinaOnly:   true,
		AccountName: func(a *world.Account) string { return a.Name() },
		User: func(w *world.World, l *world.Login) (int64, string) {
			a := w.Account(l.Platform, l.First)
			return a.ID, a.Name()
		},
		Packs:    func(key world.Key) bool { return key.Sub(90).Chance(35) },
		PackName: func(unit int64) string { return "程序化创意_" + strconv.FormatInt(unit, 10) },
		Metrics: []world.Metric{
			world.Cost, world.Impressions, world.Clicks, world.Downloads, world.Installs, world.Activations, world.Registrations,
			world.Conversions, world.FirstPays, world.Pays, world.PayAmount, world.PayAmountD1, world.PayAmountD3,
			world.PayAmountD7, world.NextDayRetained, world.DownloadStarts, world.KeyActions, world.PaysD1, world.Orders,
			world.OrderAmount, world.Forms,
		},
		// All ids are below 2^53, even in the largest world. Those of units are above those of campaigns.
		AccountBase: 200_000_000, AccountStep: 67,
		ProjectBase: 50_000_000_000, ObjectBase: 100_000_000_000, ObjectStep: 3,
		CreativeBase: 30_000_000_000_000, AppBase: 165_000_000,
		CreativeObject: func(x *world.Creative) string { return strconv.FormatInt(x.ID, 10) },
		AssetID:        assetID, Material: material,
		FigureField: "charge", DayFields: []string{"stat_date"},
		KeyFields: map[string]string{"gw/dsp/campaign/list": "campaign_id", "gw/dsp/unit/list": "unit_id",
			"gw/dsp/creative/list": "creative_id"},
		NumberFields: []string{"unit_id", "campaign_id", "creative_id", "cpa_bid", "day_budget"},
		LengthFields: []string{"duration"},
		AccessLife:   86_400, RefreshLife: 2_592_000, CodeLife: 600, RefreshRotates: true,
		Limits: []limit.Rule{
			{Media: "kuaishou", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 60, Limit: 3000},
		},
		SharedLimits: true, Assumed: assumed(),
	}
}

func (k *kuaishou) Spec() *world.Spec { return k.about }

func (k *kuaishou) Endpoint(path string) string {
	rest, ok := strings.CutPrefix(path, prefix)
	if _, known := k.routes[rest]; !ok || !known {
		return platform.EndpointUnknown
	}
	return rest
}

func (k *kuaishou) Serve(c *platform.Call) {
	head(c)
	r, known := k.routes[c.Endpoint]
	if !known || !slices.Contains(r.methods, c.Request.Method) {
		c.Status = http.StatusNotFound
		k.fail(c, wrong(c, "%s %s is unknown", c.Request.Method, c.Path))
		return
	}
	if err := k.serve(c, r); err != nil {
		c.Status = int(c.Assumed(errorStatus))
		k.fail(c, err)
	}
}

func (k *kuaishou) serve(c *platform.Call, r route) *platform.Failure {
	if c.Request.Method == http.MethodPost && c.Request.URL.RawQuery != "" {
		return wrong(c, "the parameters of a POST are in its JSON body, not in the query")
	}
	p := params(c)
	if r.open {
		err := r.serve(c, nil, p)
		return cmp.Or(err, p.Failure)
	}
	l, err := login(c, c.Request.Header.Get("Access-Token"))
	if err != nil || c.Limited() {
		return err
	}
	a, err := account(c, l)
	if err != nil {
		return err
	}
	err = r.serve(c, &a, p)
	return cmp.Or(err, p.Failure)
}

func head(c *platform.Call) { c.Header.Set("Content-Type", "application/json") }

// requestID returns a unique id of 32 digits.
func (k *kuaishou) requestID(c *platform.Call) string {
	key := world.Key(c.Sim.World.Seed).Sub(k.requests.Add(1)).Sub(uint64(c.Now))
	return fmt.Sprintf("%016x%016x", uint64(key), uint64(key.Sub(1)))
}

func (k *kuaishou) fail(c *platform.Call, err *platform.Failure) {
	c.Code = err.Code
	w := platform.Writer{Bytes: c.Body[:0]}
	w.Open('{')
	w.NumberField("code", int64(err.Code))
	w.TextField("message", err.Detail)
	w.TextField("request_id", k.requestID(c))
	w.Close('}')
	c.Body = w.Bytes
}

func (k *kuaishou) OverLimit(c *platform.Call, r limit.Refusal) {
	head(c)
	if r.Busy {
		c.Status = int(c.Assumed(errorStatus))
		k.fail(c, c.Refusal(codeBusy, "service is busy"))
		return
	}
	c.RefuseAs(int(c.Assumed(limitStatus)), r)
	k.fail(c, platform.Failf(codeLimit, "api freq out of limit"))
}

// begin writes the start of a success envelope, up to the value of data.
func begin(c *platform.Call) platform.Writer {
	return platform.Writer{Bytes: append(c.Body[:0], `{"code":0,"message":"OK","data":`...)}
}

func (k *kuaishou) end(c *platform.Call, w *platform.Writer) {
	w.Bytes = append(append(append(w.Bytes, `,"request_id":"`...), k.requestID(c)...), `"}`...)
	c.Body = w.Bytes
}

// login returns the login of an access token.
func login(c *platform.Call, token string) (*world.Login, *platform.Failure) {
	return c.Login(token, c.Refusal(codeNoToken, "the access token is missing"),
		c.Refusal(codeBadToken, "the access token is unknown"), c.Refusal(codeOldToken, "the access token has expired"))
}

// params reads the call's parameters. The documents call many lists of numbers lists of strings: both are taken.
func params(c *platform.Call) *platform.Params {
	return &platform.Params{Call: c, Code: int(c.Assumed(codeParameter)), Zone: c.Assumed(zoneSeconds)}
}
