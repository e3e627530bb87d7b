package account_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/metric"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/media"
	"adsync/media/account"
	"adsync/media/mediatest/invented"
	"adsync/media/wire"
)

// cloud holds a platform's answers for its accounts, by its own ids.
type cloud struct {
	mu       sync.Mutex
	spending map[string]bool
	errs     map[string]error
	asked    []string // the accounts of all calls, in order
	calls    int
	fields   []string // the fields of the last call
	retired  string   // a field that the platform refuses
}

func newCloud() *cloud { return &cloud{spending: map[string]bool{}, errs: map[string]error{}} }

func (c *cloud) ask(externalIDs ...string) (spending []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.asked = append(c.asked, externalIDs...)
	for _, id := range externalIDs {
		if err := c.errs[id]; err != nil {
			return nil, err
		}
		if c.spending[id] {
			spending = append(spending, id)
		}
	}
	return spending, nil
}

var figures = wire.Figures{
	{Field: "cost", Metric: "cost"}, {Field: "views", Metric: "impressions"}, {Field: "signups", Metric: "registrations"},
}

func (c *cloud) askFields(fields []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fields = fields
	if slices.Contains(fields, c.retired) {
		return &media.Error{Class: media.Bug, Code: "4009", Message: "unknown field", Field: c.retired}
	}
	return nil
}

// take returns the accounts and calls since the last take.
func (c *cloud) take() (asked []string, calls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked, calls = c.asked, c.calls
	c.asked, c.calls = nil, 0
	slices.Sort(asked)
	return asked, calls
}

// api counts its calls.
type api struct {
	media.FileAPI
	account media.Account
	made    int
}

func (a *api) Account() media.Account { return a.account }
func (a *api) Calls() int             { return a.made }

func (c *cloud) For(of media.Account) media.CountingAPI { return &api{account: of} }
func (c *cloud) ForLogin(int64) media.CountingAPI       { return &api{} }

// platform answers for one account a call, or for accountsMax.
type platform struct {
	invented.Platform
	cloud       *cloud
	accountsMax int
}

func (p platform) Reports() []media.Report {
	return []media.Report{{Name: "report_daily", Level: "account", MaxDays: 1, Figures: figures,
		AccountsMax: p.accountsMax,
		Page: func(_ context.Context, a media.API, q media.ReportQuery, _ string) (media.Page, error) {
			a.(*api).made++
			if err := p.cloud.askFields(q.Fields(figures.Fields())); err != nil {
				return media.Page{}, err
			}
			if len(q.Accounts) == 0 {
				q.Accounts = []media.Account{a.Account()}
			}
			spending, err := p.cloud.ask(externalIDs(q.Accounts)...)
			var page media.Page
			for _, id := range spending {
				row := media.Row{Account: id}
				row.Metrics.Set(metric.Index("impressions"), 1)
				page.Rows = append(page.Rows, row)
			}
			page.Total = len(page.Rows)
			return page, err
		}}}
}

func externalIDs(accounts []media.Account) (ids []string) {
	for _, account := range accounts {
		ids = append(ids, account.ExternalID)
	}
	return ids
}

// wholesale answers for four accounts a call.
type wholesale struct{ platform }

func (wholesale) ProbeMax() int { return 4 }

func (p wholesale) Probe(_ context.Context, a media.API, accounts []media.Account, _ time.Time) (map[int64]bool,
	error) {
	a.(*api).made++
	spending, err := p.cloud.ask(externalIDs(accounts)...)
	found := map[int64]bool{}
	for _, account := range accounts {
		found[account.ID] = slices.Contains(spending, account.ExternalID)
	}
	return found, err
}

var (
	errRevoked = &media.Error{Class: media.Invalid, Code: "12201", Message: "not allowed", Parks: media.Revoked}
	errFrozen  = &media.Error{Class: media.Invalid, Code: "32211", Message: "inactive", Parks: media.Frozen}
	errBusy    = &media.Error{Class: media.Transient, Message: "busy"}
)

func (l *life) options(p media.Platform, c *cloud) account.LifeOptions {
	return account.LifeOptions{
		Platform: p, Store: l.store, Calls: c, Clock: l.clock(), Logger: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(),
	}
}

// probe runs the probe and returns how many accounts it changed.
func (l *life) probe(p media.Platform, c *cloud, params string) int {
	l.t.Helper()
	return l.run(l.options(p, c).ProbeHandler(), params)
}

// sleeping creates n inactive accounts.
func (l *life) sleeping(n int) (ids []int64) {
	l.t.Helper()
	for i := range n {
		ids = append(ids, l.account(numbered(i), china))
	}
	l.exec(l.store.Config, "UPDATE media_account SET tier = 'inactive'")
	return ids
}

// parked returns the columns of an account's parking.
func (l *life) parked(id int64) (why string, since, until time.Time) {
	l.t.Helper()
	var a, b sqldb.Time
	err := l.store.Config.Writer(context.Background()).Raw(
		"SELECT parked, parked_since, parked_until FROM media_account WHERE id = ?", id).Row().Scan(&why, &a, &b)
	require.NoError(l.t, err)
	return why, a.Time, b.Time
}

func TestProbe_WakesAccountsWithFiguresOfToday(t *testing.T) {
	t.Parallel()
	l, c := newLife(t), newCloud()
	ids := l.sleeping(4)
	l.exec(l.store.Config, "UPDATE media_account SET tier_by = 'manual' WHERE id = ?", ids[3])
	c.spending[numbered(1)], c.spending[numbered(3)] = true, true
	require.Equal(t, 1, l.probe(platform{cloud: c}, c, ""))
	for i, want := range []string{"inactive", "active", "inactive", "inactive"} {
		tier, _ := l.tier(ids[i])
		require.Equal(t, want, tier, "account %d", i)
	}
	_, why := l.tier(ids[1])
	require.Equal(t, "probe", why)
	asked, calls := c.take()
	require.Equal(t, []string{numbered(0), numbered(1), numbered(2)}, asked,
		"an account that a person made inactive stays inactive")
	require.Equal(t, 3, calls)
	for _, id := range ids {
		l.whole(id, "report_daily", "account", week()...)
	}
	require.Zero(t, l.activity(0), "the next check has no figures yet and leaves it active")
}

func TestProbe_AFewCallsARunReachAllAccounts(t *testing.T) {
	t.Parallel()
	l, c := newLife(t), newCloud()
	l.sleeping(5)
	c.errs[numbered(0)] = errBusy // An account whose probe fails delays no other.
	var runs [][]string
	for range 9 {
		l.at = l.at.Add(10 * time.Minute)
		l.probe(platform{cloud: c}, c, `{"calls":2}`)
		asked, calls := c.take()
		require.Equal(t, 2, calls)
		runs = append(runs, asked)
	}
	for i := range runs[2:] {
		for n := range 5 {
			require.Contains(t, slices.Concat(runs[i:i+3]...), numbered(n), "runs %d to %d", i, i+2)
		}
	}
}

// The accounts of one call come from a probe of the platform, or from a joint query.
func TestProbe_OneForbiddenAccountDoesNotFailTheCallOfMany(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(*cloud) media.Platform{
		"a probe":       func(c *cloud) media.Platform { return wholesale{platform{cloud: c}} },
		"a joint query": func(c *cloud) media.Platform { return platform{cloud: c, accountsMax: 4} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, c := newLife(t), newCloud()
			ids := l.sleeping(10)
			c.errs[numbered(3)] = errRevoked
			c.spending[numbered(2)], c.spending[numbered(9)] = true, true
			l.probe(of(c), c, "")
			for i, id := range ids {
				tier, _ := l.tier(id)
				require.Equal(t, i == 2 || i == 9, tier == "active", "account %d", i)
				why, _, _ := l.parked(id)
				require.Equal(t, i == 3, why != "", "account %d", i)
			}
			_, calls := c.take()
			require.Equal(t, 3+4, calls, "three calls for ten accounts, and four to find the one among four")

			// The next run does not probe it, and the rest takes a quarter of the calls.
			l.probe(of(c), c, "")
			asked, calls := c.take()
			require.Len(t, asked, 7)
			require.Equal(t, 2, calls)
		})
	}
}

// The answer to a joint query may leave out the accounts that the platform refuses.
func TestProbe_ParkedAccountsHaveQueriesOfTheirOwn(t *testing.T) {
	t.Parallel()
	l, c := newLife(t), newCloud()
	ids := l.sleeping(4)
	for _, id := range ids[2:] {
		_, err := l.store.ParkAccount(t.Context(), id, "frozen: x", l.at)
		require.NoError(t, err)
	}
	l.at = l.at.Add(time.Hour)
	l.probe(platform{cloud: c, accountsMax: 4}, c, "")
	_, calls := c.take()
	require.Equal(t, 3, calls)
}

func TestProbe_TheAccountsOfACallHaveOneZone(t *testing.T) {
	t.Parallel()
	l, c := newLife(t), newCloud()
	ids := l.sleeping(4)
	l.exec(l.store.Config, "UPDATE media_account SET timezone = 'Asia/Tokyo' WHERE id = ?", ids[1])
	l.probe(wholesale{platform{cloud: c}}, c, "")
	_, calls := c.take()
	require.Equal(t, 2, calls)
}

func TestProbe_ProbesParkedAccountsWithGrowingGaps(t *testing.T) {
	t.Parallel()
	l, c := newLife(t), newCloud()
	id := l.account(numbered(0), china)
	byHand := l.account(numbered(1), china)
	l.exec(l.store.Config, "UPDATE media_account SET parked = 'a dispute' WHERE id = ?", byHand)
	parked, err := l.store.ParkAccount(t.Context(), id, "frozen: x", l.at)
	require.NoError(t, err)
	require.True(t, parked)
	parked, err = l.store.ParkAccount(t.Context(), id, "revoked: y", l.at.Add(time.Hour))
	require.NoError(t, err)
	require.False(t, parked, "the first reason and moment stay")
	c.errs[numbered(0)] = errFrozen

	began := l.at
	var gaps []time.Duration
	for last := l.at; len(gaps) < 10; {
		l.at = l.at.Add(10 * time.Minute)
		l.probe(platform{cloud: c}, c, "")
		if _, calls := c.take(); calls > 0 {
			gaps = append(gaps, l.at.Sub(last))
			last = l.at
		}
	}
	require.Equal(t, []time.Duration{
		10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 80 * time.Minute, 160 * time.Minute, 320 * time.Minute,
		640 * time.Minute,
		1280 * time.Minute, 24 * time.Hour, 24 * time.Hour,
	}, gaps)
	why, since, _ := l.parked(id)
	require.Equal(t, "frozen: invalid error 32211: inactive", why)
	require.Equal(t, began, since)

	// Its figures are available again, and it spends.
	delete(c.errs, numbered(0))
	c.spending[numbered(0)] = true
	l.exec(l.store.Config, "UPDATE media_account SET tier = 'invalid' WHERE id = ?", id)
	l.at = l.at.Add(24 * time.Hour)
	require.Positive(t, l.probe(platform{cloud: c}, c, ""))
	why, since, until := l.parked(id)
	require.Empty(t, why)
	require.Equal(t, began, since, "between this and unparked_at nothing was pulled")
	require.Zero(t, until)
	var back sqldb.Time
	require.NoError(t, l.store.Config.Writer(t.Context()).Raw("SELECT unparked_at FROM media_account WHERE id = ?",
		id).Row().Scan(&back))
	require.Equal(t, l.at, back.Time)
	tier, reason := l.tier(id)
	require.Equal(t, "active", tier)
	require.Equal(t, "returned", reason)
	why, _, _ = l.parked(byHand)
	require.Equal(t, "a dispute", why, "only a person unparks what a person parked")
}

func TestProbe_DeadLoginsParkTheirAccountsUntilTheyWork(t *testing.T) {
	t.Parallel()
	l, c := newLife(t), newCloud()
	id := l.account(numbered(0), china)
	frozen := l.account(numbered(1), china)
	_, err := l.store.ParkAccount(t.Context(), frozen, "frozen: x", l.at)
	require.NoError(t, err)
	l.exec(l.store.Config, "UPDATE media_token SET state = 'reauthorise'")
	l.at = l.at.Add(time.Hour)
	require.Equal(t, 1, l.probe(platform{cloud: c}, c, ""))
	_, calls := c.take()
	require.Zero(t, calls, "no call is made with a dead login")
	why, since, _ := l.parked(id)
	require.Equal(t, settings.ParkedLogin, why)
	require.Equal(t, l.at, since)
	l.activity(0)
	tier, _ := l.tier(id)
	require.Equal(t, "invalid", tier)

	l.exec(l.store.Config, "UPDATE media_token SET state = 'ok'")
	l.at = l.at.Add(time.Hour)
	require.Equal(t, 2, l.probe(platform{cloud: c}, c, ""), "the other account is no longer frozen")
	for _, id := range []int64{id, frozen} {
		why, _, _ = l.parked(id)
		require.Empty(t, why)
		tier, _ = l.tier(id)
		require.Equal(t, "active", tier)
	}
}

func TestProbe_ErrorsOfALoginOrLimitParkNoAccount(t *testing.T) {
	t.Parallel()
	l, c := newLife(t), newCloud()
	ids := l.sleeping(3)
	other := l.addLogin("other")
	l.exec(l.store.Config, "UPDATE media_account SET token_id = ? WHERE id = ?", other, ids[2])
	c.errs[numbered(0)] = &media.Error{Class: media.Auth, Message: "the token is dead"}
	c.errs[numbered(1)] = &media.Error{Class: media.Bug, Message: "bad parameter"}
	c.spending[numbered(2)] = true
	require.Equal(t, 1, l.probe(platform{cloud: c}, c, ""), "another login continues")
	for _, id := range ids {
		why, _, _ := l.parked(id)
		require.Empty(t, why)
	}

	// When a limit stops all calls, the subtask waits for it, at no attempt.
	for i := range 2 {
		c.errs[numbered(i)] = &media.DeferError{After: time.Minute, Reason: "over the limit"}
	}
	h := l.options(platform{cloud: c}, c).ProbeHandler()
	_, err := h.Run(t.Context(), media.Work{})
	limit, ok := errors.AsType[*media.DeferError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, time.Minute, limit.After)

	// One login at its limit does not stop the others.
	l.exec(l.store.Config, "UPDATE media_account SET tier = 'inactive' WHERE id = ?", ids[2])
	require.Equal(t, 1, l.probe(platform{cloud: c}, c, ""))

	// An error of all accounts ends the run.
	l.exec(l.store.Config, "UPDATE media_account SET tier = 'inactive' WHERE id = ?", ids[2])
	for i := range 3 {
		c.errs[numbered(i)] = errBusy
	}
	_, err = l.options(platform{cloud: c}, c).ProbeHandler().Run(t.Context(), media.Work{})
	require.ErrorIs(t, err, errBusy)
}

func TestParks_OnlyIfTheFiguresAreClosedToo(t *testing.T) {
	t.Parallel()
	limited := &media.DeferError{After: time.Minute, Reason: "the limit is used up"}
	asItWas := func(t *testing.T, pull, err error) {
		t.Helper()
		require.Equal(t, pull, err, "the subtask ends as it would have")
	}
	waits := func(t *testing.T, _, err error) {
		t.Helper()
		d, ok := errors.AsType[*media.DeferError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, "account:1", d.WaitsFor)
	}
	for name, c := range map[string]struct {
		pull   error // how the pull ends
		figure error // how the request for figures ends
		calls  int   // calls of that request
		want   string
		ends   func(t *testing.T, pull, err error)
	}{
		"a frozen account":                {errFrozen, errFrozen, 1, "frozen: invalid error 32211: inactive", waits},
		"a revoked one":                   {errRevoked, errRevoked, 1, "revoked: invalid error 12201: not allowed", waits},
		"an endpoint that is not granted": {errRevoked, nil, 1, "", asItWas},
		"figures that cannot be requested now": {errRevoked, errBusy, 1, "", func(t *testing.T, _, err error) {
			t.Helper()
			e, ok := errors.AsType[*media.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, media.Transient, e.Class, "it is retried: a closed account's subtask must not be dead")
			require.ErrorIs(t, err, errBusy)
		}},
		"figures that wait for their limit": {errRevoked, limited, 1, "", func(t *testing.T, _, err error) {
			t.Helper()
			require.Equal(t, error(limited), err)
		}},
		"an error of another kind":          {errBusy, errRevoked, 0, "", asItWas},
		"a pull that went well":             {nil, errRevoked, 0, "", asItWas},
		"a pull that waits for its account": {&media.DeferError{After: time.Second}, errRevoked, 0, "", asItWas},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, cloud := newLife(t), newCloud()
			id := l.account(numbered(0), china)
			cloud.errs[numbered(0)] = c.figure
			h := l.options(platform{cloud: cloud}, cloud).Parks(media.Handler{Name: "x", Target: media.Accounts,
				Run: func(context.Context, media.Work) (media.Result, error) {
					return media.Result{Rows: 1, Calls: 2}, c.pull
				}})
			work := media.Work{}
			work.AccountID = id
			result, err := h.Run(t.Context(), work)
			c.ends(t, c.pull, err)
			require.Equal(t, media.Result{Rows: 1, Calls: 2 + c.calls}, result)
			why, since, until := l.parked(id)
			require.Equal(t, c.want, why)
			left, err := l.store.FanOutAccounts(t.Context(), invented.Tulip, nil, 0, 9)
			require.NoError(t, err)
			if c.want == "" {
				require.Len(t, left, 1)
				return
			}
			require.Empty(t, left, "fan-outs leave it out")
			require.Equal(t, now, since)
			require.Equal(t, now.Add(10*time.Minute), until)
			// Other pulls of the account that are under way make no further call.
			cloud.take()
			result, err = h.Run(t.Context(), work)
			require.Equal(t, 2, result.Calls)
			waits(t, nil, err)
			// No subtask waits for an account that is no longer bound.
			l.exec(l.store.Config, "UPDATE media_account SET bound = 0")
			_, err = h.Run(t.Context(), work)
			require.Equal(t, c.pull, err)
		})
	}
}

func TestProbe_RequestsTheFieldsThatShowAnAwakeAccount(t *testing.T) {
	t.Parallel()
	for retired, want := range map[string][]string{"": {"cost", "views"}, "signups": {"cost", "views"},
		"views": {"cost"}} {
		t.Run(retired, func(t *testing.T) {
			t.Parallel()
			l, c := newLife(t), newCloud()
			c.retired = retired
			l.sleeping(1)
			c.spending[numbered(0)] = true
			require.Equal(t, 1, l.probe(platform{cloud: c}, c, ""), "the account is awake")
			require.Equal(t, want, c.fields)
		})
	}
}
