package invented_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/metric"
	"adsync/base/secret"
	"adsync/media"
	"adsync/media/mediatest"
	"adsync/media/mediatest/invented"
	"adsync/media/wire"
)

// The suite runs for lists with and without a total, with and without changes.
func TestPlatforms_PassTheConformanceSuite(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]media.Platform{"tulip": invented.New(), "orchid": invented.NewOrchid(),
		"orchid with a probe": prober{invented.NewOrchid()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mediatest.Run(t, p, func(t *testing.T) *mediatest.Server {
				t.Helper()
				return serve(t, p)
			})
		})
	}
}

// prober probes accounts by a joint query.
type prober struct{ invented.Platform }

func (prober) ProbeMax() int { return 4 }

func (p prober) Probe(ctx context.Context, api media.API, accounts []media.Account, now time.Time) (map[int64]bool,
	error) {
	today := day.Of(now, accounts[0].Zone)
	page, err := p.Reports()[0].Page(ctx, api, media.ReportQuery{Accounts: accounts, From: today, To: today}, "")
	spending := map[int64]bool{}
	for _, row := range page.Rows {
		cost, _ := row.Metrics.Get(metric.Cost)
		at := slices.IndexFunc(accounts, func(a media.Account) bool { return a.ExternalID == row.Account })
		spending[accounts[at].ID] = cost > 0
	}
	return spending, err
}

func TestOrchid_DeclaresHowItsListsEnd(t *testing.T) {
	t.Parallel()
	for _, l := range invented.NewOrchid().Lists() {
		page, err := l.Page(t.Context(), answers{}, media.ListQuery{}, "")
		require.NoError(t, err)
		require.Equal(t, l.Name == "campaign" || l.Name == "image", page.Proof == media.ByRepeat, l.Name)
		require.Equal(t, l.Name == "campaign", l.NoSince, l.Name)
		require.Equal(t, l.Name == "image", l.SinceZone != nil, l.Name)
	}
}

const (
	today = day.Day("2026-11-20")
	size  = 100 // of a page of a list
)

// accounts are the login's. The first has the most objects.
var accounts = []string{"9001", "9002", "9003", "9004", "9005", "9006", "9007"}

var shanghai = time.FixedZone("", 8*3600)

// server answers a platform's calls from figures that follow from their keys.
type server struct {
	t        *testing.T
	platform media.Platform
	figures  wire.Figures

	mu      sync.Mutex
	access  string
	fails   int // how many calls it answers with 503
	cuts    int // how many answers it cuts off
	refuses int // how many calls are over a limit
}

func serve(t *testing.T, p media.Platform) *mediatest.Server {
	t.Helper()
	s := &server{t: t, platform: p, figures: p.Reports()[0].Figures, access: "access-token-0"}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	set := func(n *int) func(*testing.T, int) {
		return func(_ *testing.T, calls int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			*n = calls
		}
	}
	zone, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	return &mediatest.Server{
		BaseURL: web.URL, App: media.App{ID: "7", Secret: secret.NewText("app-secret-of-" + p.Name())},
		Access: secret.NewText(s.access), Refresh: secret.NewText("refresh-token-0"), Accounts: accounts,
		Zone: zone, Today: today,
		Objects: func(_ *testing.T, list, account string) []mediatest.Object { return objects(list, account) },
		Rows: func(_ *testing.T, report, level, account string, from, to day.Day) []mediatest.Row {
			return s.truth(account, report == "report_hourly", level, from, to)
		},
		Balance: func(*testing.T, string) []fund.Row { return cash(fund.Balance, 70) },
		Flow: func(_ *testing.T, account string, from, to day.Day) (flows []mediatest.Flow) {
			for _, d := range day.Between(from, to) {
				flows = append(flows, mediatest.Flow{Day: d, Funds: cash(fund.Paid, s.value(account, d, 0, "", 0))})
			}
			return flows
		},
		Operations: func(_ *testing.T, account string, from, to day.Day) []mediatest.Operation {
			return operations(account, from, to)
		},
		Expire: func(*testing.T) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.access = "another"
		},
		OverLimit: func(t *testing.T) { t.Helper(); set(&s.refuses)(t, 1) },
		Fail:      set(&s.fails), Cut: set(&s.cuts),
	}
}

// cash returns the rows of an amount in fen.
func cash(field fund.Field, fen int64) []fund.Row {
	var values fund.Values
	values[field] = fund.Of(fen * 10_000)
	return fund.Gather([]fund.Row{{Kind: fund.Cash, Values: values}})
}

// objects returns an account's objects of a list. One list of the first account has several pages.
func objects(list, account string) []mediatest.Object {
	count := map[string]int{"creative 9001": size + 2, "campaign 9001": size, "image 9001": 2*size + 1}[list+" "+account]
	all := []mediatest.Object{}
	for n := range max(count, 5) {
		all = append(all, mediatest.Object{
			ID: strconv.Itoa(n + 100), Name: fmt.Sprint(list, n), Modified: time.Unix(1795000000+int64(n)*3600, 0).UTC(),
			Deleted: n%7 == 3,
		})
	}
	return all
}

// operations returns an account's log: two entries a day, the first at midnight.
func operations(account string, from, to day.Day) (all []mediatest.Operation) {
	for _, d := range day.Between(from, to) {
		start := d.Start(shanghai).UTC()
		all = append(all, mediatest.Operation{ID: account + "-" + d.String(), Operation: media.Operation{At: start,
			By: "Li", Kind: "update", Level: "adgroup", Object: "101",
			Fields: []media.FieldChange{{Name: "bid_cents", Before: "20", After: "30"}, {Name: "name", After: `"new"`}}}})
		all = append(all, mediatest.Operation{ID: account + "-" + d.String() + "-b", Operation: media.Operation{
			At: start.Add(24*time.Hour - time.Second), By: "the platform", Kind: "freeze", Level: "account"}})
	}
	return all
}

// value returns a figure as a whole number, in hundredths for money.
func (s *server) value(account string, d day.Day, hour int, object string, figure int) int64 {
	h := fnv.New32a()
	fmt.Fprint(h, account, d, hour, object, figure)
	return int64(h.Sum32() % 5000)
}

// keys calls each with the keys of a report's rows.
func keys(hourly bool, level string, from, to day.Day, each func(d day.Day, hour int, object string)) {
	ids, hours := []string{""}, 1
	if level != "account" {
		ids = []string{"101", "102", "103"}
	}
	if hourly {
		hours = 24
	}
	for _, d := range day.Between(from, to) {
		for hour := range hours {
			for _, id := range ids {
				each(d, hour, id)
			}
		}
	}
}

func (s *server) truth(account string, hourly bool, level string, from, to day.Day) (rows []mediatest.Row) {
	keys(hourly, level, from, to, func(d day.Day, hour int, id string) {
		row := mediatest.Row{Day: d, Hour: hour, Object: id, Metrics: map[string]int64{}}
		for i, f := range s.figures {
			row.Metrics[f.Metric] = s.value(account, d, hour, id, i)
			if f.Unit != wire.Count {
				row.Metrics[f.Metric] *= 10_000
			}
		}
		rows = append(rows, row)
	})
	return rows
}

// ServeHTTP answers a call.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	code, data := s.answer(r)
	body, err := json.Marshal(map[string]any{"code": code, "message": "text", "data": data})
	if err != nil {
		s.t.Error(err)
	}
	if s.fails > 0 {
		s.fails--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if s.cuts > 0 {
		s.cuts--
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	}
	_, _ = w.Write(body)
}

func (s *server) answer(r *http.Request) (code int, data any) {
	q := r.URL.Query()
	switch {
	case r.URL.Path == "/token":
		return s.token(r)
	case r.Header.Get("Authorization") != "Bearer "+s.access:
		return 41, nil
	case s.refuses > 0:
		s.refuses--
		return 44, nil
	}
	from, to := day.Day(q.Get("from")), day.Day(q.Get("to"))
	switch endpoint := r.URL.Path[1:]; endpoint {
	case "accounts":
		var rows []any
		for _, id := range accounts {
			rows = append(rows, map[string]any{"id": json.Number(id), "name": "Account " + id, "company": "C"})
		}
		return 0, map[string]any{"list": rows}
	case "balance":
		return 0, map[string]any{"list": []any{map[string]any{"type": "cash", "balance": 70}}}
	case "fund_daily":
		var rows []any
		for _, d := range day.Between(from, to) {
			rows = append(rows, map[string]any{"type": "cash", "date": d, "paid": s.value(q.Get("account"), d, 0, "", 0)})
		}
		return 0, page(rows, r)
	case "operations":
		var rows []any
		for _, o := range operations(q.Get("account"), from, to) {
			changes := []any{}
			for _, f := range o.Fields {
				change := map[string]any{"field": f.Name, "after": json.RawMessage(f.After)}
				if f.Before != "" {
					change["before"] = json.RawMessage(f.Before)
				}
				changes = append(changes, change)
			}
			row := map[string]any{"id": o.ID, "time": o.At.Unix(), "by": o.By, "action": o.Kind, "level": o.Level,
				"changes": changes}
			if o.Object != "" {
				row["object"] = o.Object
			}
			rows = append(rows, row)
		}
		return 0, page(rows, r)
	case "report_daily", "report_hourly":
		var rows []any
		for account := range strings.SplitSeq(q.Get("account"), ",") {
			rows = append(rows, s.rows(account, endpoint == "report_hourly", r)...)
		}
		return 0, page(rows, r)
	default:
		return 0, s.list(endpoint, r)
	}
}

// token answers a refresh.
func (s *server) token(r *http.Request) (code int, data any) {
	switch {
	case r.FormValue("secret") != "app-secret-of-"+s.platform.Name():
		return 43, nil
	case r.FormValue("refresh_token") != "refresh-token-0":
		return 42, nil
	}
	s.access = "access-token-1"
	return 0, map[string]any{"access_token": s.access, "expires_in": 3600}
}

// rows returns an account's rows of a report with all figures.
func (s *server) rows(account string, hourly bool, r *http.Request) (rows []any) {
	q := r.URL.Query()
	fromHour, _ := strconv.Atoi(q.Get("from_hour"))
	keys(hourly, q.Get("level"), day.Day(q.Get("from")), day.Day(q.Get("to")), func(d day.Day, hour int, id string) {
		if hour < fromHour {
			return
		}
		figures := map[string]any{}
		for i, f := range s.figures {
			figures[f.Field] = s.value(account, d, hour, id, i)
			if f.Unit == wire.Major {
				figures[f.Field] = fmt.Sprintf("%.2f", float64(s.value(account, d, hour, id, i))/100)
			}
		}
		row := figures
		if s.platform.Name() == invented.Orchid {
			row = map[string]any{"figures": figures}
		}
		row["date"], row["account"] = d, json.Number(account)
		if hourly {
			row["hour"] = hour
		}
		if id != "" {
			row["id"] = id
		}
		rows = append(rows, row)
	})
	return rows
}

// list answers with a page of objects. Orchid's campaigns and images have no total.
func (s *server) list(endpoint string, r *http.Request) any {
	q := r.URL.Query()
	since, _ := strconv.ParseInt(q.Get("modified_since"), 10, 64)
	var rows []any
	for _, o := range objects(endpoint, q.Get("account")) {
		if o.Modified.Unix() >= since && day.Of(o.Modified, shanghai) >= day.Day(q.Get("modified_from")) {
			rows = append(rows, map[string]any{"id": o.ID, "name": o.Name, "modified_at": o.Modified.Unix(),
				"created_at": 1790000000, "deleted": o.Deleted, "adgroup_id": "7", "status": "running", "review": "passed",
				"budget_cents": 300, "bid_cents": 20, "width": 10, "height": 20, "signature": "s" + o.ID})
		}
	}
	answer := page(rows, r)
	if s.platform.Name() != invented.Orchid {
		return answer
	}
	switch endpoint {
	case "campaign":
		return answer["list"]
	case "image":
		delete(answer, "page_info")
	}
	return answer
}

// page returns the page of rows that a call names.
func page(rows []any, r *http.Request) map[string]any {
	number, _ := strconv.Atoi(r.FormValue("page"))
	most, _ := strconv.Atoi(r.FormValue("page_size"))
	from := min((number-1)*most, len(rows))
	to := min(from+most, len(rows))
	return map[string]any{"list": append([]any{}, slices.Clone(rows[from:to])...), "has_more": to < len(rows),
		"page_info": map[string]any{"total_number": len(rows)}}
}
