package invented_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/ratelimit"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/media/pull"
)

// world has accounts of Orchid in several zones and currencies, and their rows. It is a platform's server without a
// wire.
type world struct {
	*store.Store
	t        *testing.T
	accounts map[int64]media.Account
	rows     map[string][]string // by endpoint and the platform's id of the account
	handlers *media.Registry
	// answer changes the answer to a call for some accounts; nil for none.
	answer func(ctx context.Context, ids, rows []string) ([]string, error)
	// terms are those of an account's calls; nil for the usual ones.
	terms func(account int64) ratelimit.Terms

	mu    sync.Mutex
	asked []string // the accounts of each call
	calls int      // as the subtasks count them
}

func newWorld(t *testing.T, accounts ...string) *world {
	t.Helper()
	w := &world{Store: storetest.New(t), t: t, accounts: map[int64]media.Account{}, rows: map[string][]string{}}
	platform := invented.NewOrchid()
	require.NoError(t, w.EnsureRawTables(t.Context(), media.Tables(platform)))
	w.rows["accounts "] = accounts
	err := platform.Accounts(t.Context(), w.For(media.Account{}), "", func(found []media.FoundAccount) error {
		for i, f := range found {
			zone, err := time.LoadLocation(f.Timezone)
			require.NoError(t, err)
			id := int64(i + 1)
			w.accounts[id] = media.Account{ID: id, Media: platform.Name(), ExternalID: f.ExternalID, TokenID: 1, Zone: zone,
				Currency: f.Currency}
		}
		return nil
	})
	require.NoError(t, err)
	w.handlers = media.NewRegistry(pull.Handlers(platform, pull.Deps{
		Store: w.Store, Accounts: w, Caller: w, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(),
	})...)
	return w
}

// Account implements pull.Accounts.
func (w *world) Account(_ context.Context, id int64) (media.Account, error) {
	return w.accounts[id], nil
}

// For implements pull.Caller.
func (w *world) For(account media.Account) media.CountingAPI {
	return &caller{world: w, account: account}
}

type caller struct {
	media.FileAPI // No test opens a file.
	*world
	account media.Account
	made    int
}

func (c *caller) Account() media.Account { return c.account }

func (c *caller) Calls() int { return c.made }

func (c *caller) Get(ctx context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	c.made++
	ids := strings.Split(query.Get("account"), ",")
	slices.Sort(ids)
	c.mu.Lock()
	c.asked = append(c.asked, strings.Join(ids, ","))
	c.mu.Unlock()
	var rows []string
	for _, id := range ids {
		rows = append(rows, c.rows[endpoint+" "+id]...)
	}
	if c.answer != nil {
		var err error
		if rows, err = c.answer(ctx, ids, rows); err != nil {
			return nil, err
		}
	}
	return invented.NewOrchid().Decode(http.StatusOK, nil, fmt.Appendf(nil,
		`{"code":0,"data":{"page_info":{"total_number":%d},"list":[%s]}}`, len(rows), strings.Join(rows, ",")))
}

func (*caller) Post(context.Context, string, any) (json.RawMessage, error) {
	return nil, &media.Error{Class: media.Bug}
}

// pull pulls a day of an account's report at its own level.
func (w *world) pull(account int64, report string, d day.Day) error {
	return w.try(account, report, d, 0)
}

// try is pull after some failures.
func (w *world) try(account int64, report string, d day.Day, failures int) error {
	handler, ok := w.handlers.Get("orchid." + report)
	require.True(w.t, ok)
	ctx := w.t.Context()
	if w.terms != nil {
		ctx = ratelimit.With(ctx, w.terms(account))
	}
	result, err := handler.Run(ctx, media.Work{Attempt: failures,
		Key:    task.Key{RunID: int64(failures + 1), AccountID: account, Part: d.String()},
		Params: json.RawMessage(`{"level":"account"}`)})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls += result.Calls
	return err
}

// query returns the rows of a statement, each as text.
func (w *world) query(text string) (all []string) {
	w.t.Helper()
	rows, err := w.Data.Writer(w.t.Context()).Raw(text).Rows()
	require.NoError(w.t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(w.t, err)
	for rows.Next() {
		values, dest := make([]string, len(columns)), make([]any, len(columns))
		for i := range dest {
			dest[i] = &values[i]
		}
		require.NoError(w.t, rows.Scan(dest...))
		all = append(all, strings.Join(values, " "))
	}
	require.NoError(w.t, rows.Err())
	return all
}

func (w *world) rebuildSummaries() {
	w.t.Helper()
	days, err := w.DirtyDays(w.t.Context(), invented.Orchid, 1<<62, 100)
	require.NoError(w.t, err)
	for _, d := range days {
		_, err := w.RebuildSummary(w.t.Context(), d)
		require.NoError(w.t, err)
	}
}

func hourly(d day.Day, hour int, spend string, shows int) string {
	return fmt.Sprintf(`{"date":%q,"hour":%d,"figures":{"spend":%s,"shows":%d}}`, d, hour, spend, shows)
}

// Money of every currency is exact in the raw table, the public table and the summaries.
func TestAbroad_AmountsOfEveryCurrencyAreExact(t *testing.T) {
	t.Parallel()
	const d = day.Day("2026-11-20")
	w := newWorld(t, `{"id":901,"name":"Tokyo","timezone":"Asia/Tokyo","currency":"JPY"}`,
		`{"id":902,"name":"Seoul","timezone":"Asia/Seoul","currency":"KRW"}`,
		`{"id":903,"name":"Kuwait","timezone":"Asia/Kuwait","currency":"KWD"}`,
		`{"id":904,"name":"New York","timezone":"America/New_York","currency":"USD"}`, `{"id":905,"name":"Home"}`)
	for id, spend := range map[int]string{901: `1234`, 902: `"98765432100"`, 903: `1.234`, 904: `6.02`, 905: `76.0`} {
		w.rows[fmt.Sprint("report_daily ", id)] = []string{fmt.Sprintf(`{"date":%q,"figures":{"spend":%s}}`, d, spend)}
	}
	storetest.BindTo(t, w.Store, "chess", 1, 2, 3, 4, 5)
	for id := range w.accounts {
		require.NoError(t, w.pull(id, "report_daily", d))
	}
	require.Equal(t, []string{"1 1234000000", "2 98765432100000000", "3 1234000", "4 6020000", "5 76000000"},
		w.query("SELECT account_id, spend_micros FROM orchid_report_daily ORDER BY account_id"))
	require.Equal(t, []string{"1 1234000000 JPY Asia/Tokyo", "2 98765432100000000 KRW Asia/Seoul",
		"3 1234000 KWD Asia/Kuwait", "4 6020000 USD America/New_York", "5 76000000 CNY Asia/Shanghai"},
		w.query("SELECT account_id, cost, currency, day_zone FROM report_daily ORDER BY account_id"))
	w.rebuildSummaries()
	require.Equal(t, []string{"CNY 76000000", "JPY 1234000000", "KRW 98765432100000000", "KWD 1234000", "USD 6020000"},
		w.query("SELECT currency, cost FROM summary_daily WHERE game = 'chess' ORDER BY currency"))

	w.rows["report_daily 903"] = []string{fmt.Sprintf(`{"date":%q,"figures":{"spend":1.2345678}}`, d)}
	require.ErrorContains(t, w.pull(3, "report_daily", d), "1.2345678 has more than 6 decimal places")
}

// Each account's days are those of its zone: the same rows are one hour twice in New York, and in Tokyo a mistake.
func TestAbroad_AnHourThatOccursTwiceIsOneRowWithTheSum(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"id":901,"name":"New York","timezone":"America/New_York","currency":"USD"}`,
		`{"id":902,"name":"Tokyo","timezone":"Asia/Tokyo","currency":"JPY"}`)
	const long, short = day.Day("2026-11-01"), day.Day("2026-03-08")
	var rows, few []string
	for elapsed := range 25 {
		rows = append(rows, hourly(long, max(elapsed-1, min(elapsed, 1)), fmt.Sprintf("%d.5", elapsed), elapsed))
	}
	for elapsed := range 23 {
		hour := elapsed
		if elapsed > 1 {
			hour++
		}
		few = append(few, hourly(short, hour, "1", 1))
	}
	w.rows["report_hourly 901"], w.rows["report_hourly 902"] = rows, rows
	storetest.BindTo(t, w.Store, "chess", 1, 2)
	require.NoError(t, w.pull(1, "report_hourly", long))
	require.ErrorContains(t, w.pull(2, "report_hourly", long), "row 2026-11-01 01  came twice")

	const of = " FROM report_hourly WHERE account_id = 1 AND day = '2026-11-01'"
	require.Equal(t, []string{"24 312500000 300"}, w.query("SELECT COUNT(*), SUM(cost), SUM(impressions)"+of))
	require.Equal(t, []string{"0 500000 0", "1 4000000 3", "2 3500000 3"},
		w.query("SELECT hour, cost, impressions"+of+" AND hour < 3 ORDER BY hour"))
	require.Equal(t, []string{"4000000 [" + rows[1] + "," + rows[2] + "]"},
		w.query("SELECT spend_micros, row_json FROM orchid_report_hourly WHERE account_id = 1 AND hour = 1"))
	coverage, err := w.ReadCoverage(t.Context(), 1, long, long)
	require.NoError(t, err)
	require.NotZero(t, coverage[0].CompleteVersion)

	w.rows["report_hourly 901"] = few
	require.NoError(t, w.pull(1, "report_hourly", short))
	require.Equal(t, []string{"23 23000000"},
		w.query("SELECT COUNT(*), SUM(cost) FROM report_hourly WHERE account_id = 1 AND day = '2026-03-08' AND hour <> 2"))

	w.rebuildSummaries()
	var begins []sqldb.Time
	require.NoError(t, w.Data.Writer(t.Context()).Raw("SELECT start_utc FROM summary_hourly WHERE currency = 'USD'"+
		" AND day = '2026-11-01' AND hour < 3 ORDER BY hour").Scan(&begins).Error)
	require.Len(t, begins, 3)
	for i, want := range []string{"04:00", "05:00", "07:00"} {
		require.Equal(t, want, begins[i].UTC().Format("15:04"), "hour %d", i)
	}
}

// Objects that changed in both hours of the same name have times in UTC, which differ, next to figures of local days.
func TestAbroad_TimesOfObjectsAreInUTC(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"id":901,"name":"New York","timezone":"America/New_York","currency":"USD"}`)
	first := day.Day("2026-11-01").Hour(1, w.accounts[1].Zone)
	for i := range 2 {
		w.rows["adgroup 901"] = append(w.rows["adgroup 901"], fmt.Sprintf(`{"id":%d,"name":"One","modified_at":%d}`, 41+i,
			first.Add(time.Duration(i)*time.Hour).Unix()))
	}
	w.rows["report_daily 901"] = []string{`{"date":"2026-11-01","figures":{"spend":1}}`}
	require.NoError(t, w.pull(1, "report_daily", "2026-11-01"))
	handler, ok := w.handlers.Get("orchid.adgroup")
	require.True(t, ok)
	_, err := handler.Run(t.Context(), media.Work{Key: task.Key{RunID: 1, AccountID: 1, Part: "full"},
		Params: json.RawMessage(`{"mode":"full"}`)})
	require.NoError(t, err)
	var times []sqldb.Time
	require.NoError(t, w.Data.Writer(t.Context()).Raw(
		"SELECT modified_at FROM orchid_adgroup ORDER BY object_id").Scan(&times).Error)
	require.Len(t, times, 2)
	require.Equal(t, "2026-11-01T05:00:00Z", times[0].UTC().Format(time.RFC3339))
	require.Equal(t, "2026-11-01T06:00:00Z", times[1].UTC().Format(time.RFC3339))
	require.Equal(t, []string{"2026-11-01 America/New_York"},
		w.query("SELECT SUBSTR(CAST(day AS CHAR), 1, 10), day_zone FROM report_daily"))
}
