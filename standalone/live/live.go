// Package live pulls a real account, only by reading, and compares the tables with the platform's own totals.
package live

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/engine"
	"adsync/media"
	"adsync/media/client"
	"adsync/media/token"
	"adsync/standalone/runs"
)

// Pull is a real account to pull instead of simulated ones. It is only read.
type Pull struct {
	Media   string
	Account string // the platform's id
	User    string // the platform's name of the token's user, for platforms whose calls have it
	Days    int    // with today; 1 to DaysMax
	BaseURL string // "" = the platform's own
	Token   secret.Text
}

// The days of a pull.
const (
	DaysDefault = 7
	DaysMax     = 30
)

const (
	// loginName names the login that the token makes.
	loginName = "live"
	// limitShare is the part of the platform's limits that the pull uses, because others call with the same app.
	limitShare = 0.5
	// roundsMax is how often figures are pulled and compared before a difference counts: today's figures change every few
	// minutes, possibly between the pull and the comparison.
	roundsMax = 3
)

// The zone and currency that are assumed if the platform does not return them. They hold for nearly all accounts of the
// known platforms.
const (
	zoneDefault     = "Asia/Shanghai"
	currencyDefault = "CNY"
)

// Live is the connection to the platform of a pull. It passes only calls that read.
type Live struct {
	Pull
	platform media.Platform
	http     *http.Client
	calls    *callBook
	tokenID  int64
}

// Open prepares the connection to the platform of a pull.
func Open(p Pull) (*Live, error) {
	l := &Live{Pull: p, platform: engine.Platform(p.Media)}
	if l.platform == nil {
		return nil, fmt.Errorf("there is no platform %q", l.Media)
	}
	l.BaseURL = strings.TrimSuffix(cmp.Or(l.BaseURL, l.platform.BaseURL()), "/")
	base, err := url.Parse(l.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("the address of %s: %w", l.Media, err)
	}
	l.http = client.NewHTTP()
	l.calls = newCallBook(l.platform, base, l.http.Transport)
	l.http.Transport = l.calls
	return l, nil
}

// HTTP returns the client that reaches the platform.
func (l *Live) HTTP() *http.Client { return l.http }

// Bind writes the token and, the first time, the limits.
func (l *Live) Bind(ctx context.Context, s *store.Store, box *secret.Box) (err error) {
	rows, err := s.RateLimits(ctx)
	if err != nil {
		return err
	}
	// Later changes of the limits stay.
	if !slices.ContainsFunc(rows, func(r settings.LimitRow) bool { return r.Media == l.Media }) {
		for _, rule := range l.platform.Limits() {
			rule.Share = limitShare
			if err := s.AddRateLimit(ctx, rule); err != nil {
				return err
			}
		}
	}
	l.tokenID, err = token.PutAccess(ctx, s, box, l.Media, loginName, l.User, l.Token)
	return err
}

// Stack holds what a pull needs of its process.
type Stack struct {
	Runs     *runs.Runs
	Engine   *engine.Engine
	Out      io.Writer // of the progress
	Terminal bool      // Out is one
}

// run is one pull of a live account and its comparison.
type run struct {
	Stack
	*Live
	store    *store.Store
	clock    clock.Clock
	caller   *client.Client
	account  media.Account
	report   Report
	progress *progress
	ordered  []int64 // every run that was ordered
	reports  int     // that are pulled of each day
}

// Compare pulls the account and compares it with the platform's totals.
func (l *Live) Compare(ctx context.Context, s Stack) (*Report, error) {
	r := &run{
		Stack: s, Live: l, store: s.Runs.Store, clock: clock.System{}, caller: s.Engine.Caller(l.Media),
		progress: &progress{out: s.Out, terminal: s.Terminal},
	}
	err := r.pull(ctx)
	r.progress.end()
	if err != nil {
		return nil, err
	}
	r.report.Calls = r.calls.list()
	return &r.report, nil
}

// pull does all steps except counting the calls.
func (r *run) pull(ctx context.Context) error {
	daily := slices.IndexFunc(r.platform.Reports(),
		func(rep media.Report) bool { return rep.Level == "account" && !rep.Hourly })
	if daily < 0 {
		return fmt.Errorf("%s has no daily report of accounts to compare with", r.Media)
	}
	totals := r.platform.Reports()[daily]
	if err := r.meet(ctx, totals); err != nil {
		return err
	}
	jobs, err := jobsOf(r.Runs.Plan.Tasks(), r.platform)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.report {
			r.reports++
		}
	}
	if err := r.runJobs(ctx, jobs, r.report.From, r.report.To); err != nil {
		return err
	}
	for r.report.Rounds = 1; ; r.report.Rounds++ {
		if err := r.compare(ctx, totals); err != nil {
			return err
		}
		if r.report.Different == 0 || len(r.report.Failed) > 0 || r.report.Rounds == roundsMax {
			break
		}
		from, to := r.moved()
		r.progress.say("figures of %s to %s differ, as they do while they move: they are pulled again", from, to)
		again := slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return !j.report || j.hourly })
		if err := r.runJobs(ctx, again, from, to); err != nil {
			return err
		}
	}
	return r.summarise(ctx)
}

// meet reads the account from the platform before anything is pulled or written. It fails for a refused token and for
// an account that the token does not reach.
func (r *run) meet(ctx context.Context, totals media.Report) error {
	r.account = media.Account{Media: r.Media, ExternalID: r.Account, TokenID: r.tokenID}
	found, reached, err := r.find(ctx)
	if err != nil {
		return err
	}
	if r.account.Zone, err = time.LoadLocation(found.Timezone); err != nil {
		return fmt.Errorf("%s gives account %s the time zone %q: %w", r.Media, r.Account, found.Timezone, err)
	}
	r.account.Name, r.account.Currency = found.Name, found.Currency
	to := day.Of(r.clock.Now(), r.account.Zone)
	r.report = Report{
		Media: r.Media, Account: r.Account, Name: found.Name, Zone: found.Timezone, Currency: found.Currency,
		From: to.Add(1 - r.Days), To: to, Levels: levelsBelow(r.platform),
	}
	if _, err := r.platformDays(ctx, totals); err != nil {
		return r.notShown(err, reached)
	}
	ids, err := r.store.PutAccounts(ctx, r.Media, r.tokenID, []settings.Account{{
		ExternalID: r.Account, Name: found.Name, Timezone: found.Timezone, Currency: found.Currency,
	}})
	r.account.ID = ids[r.Account]
	return err
}

// notShown returns the error of a call about the account. It says so if the token does not reach the account.
func (r *run) notShown(err error, reached string) error {
	if e, ok := errors.AsType[*media.Error](err); ok && (e.Class == media.Invalid || e.Class == media.Bug) {
		return fmt.Errorf("%s does not show account %s to this token: %w%s", r.Media, r.Account, err, reached)
	}
	return err
}

// levelsBelow returns the levels whose rows should sum up to the account's.
func levelsBelow(p media.Platform) []string {
	levels := []string{}
	for _, r := range p.Reports() {
		if !r.Hourly && slices.Contains([]string{"campaign", "adgroup", "creative"}, r.Level) {
			levels = append(levels, r.Level)
		}
	}
	return levels
}

// listedMax is how many pages of accounts are searched for the account: a token may reach thousands.
const listedMax = 20

var errListed = errors.New("enough accounts are listed")

// find searches the accounts that the token reaches for the account's name, zone and currency. For error messages it
// also returns which accounts the token reaches. A platform that does not list the account, or refuses to, may still
// return its figures.
func (r *run) find(ctx context.Context) (found media.FoundAccount, reached string, err error) {
	var ids []string
	err = r.ask(ctx, "the accounts of the token", listPauseMax, func(ctx context.Context) error {
		ids = nil
		if describer, ok := r.platform.(media.Describer); ok {
			found, err = describer.Describe(ctx, r.caller.For(r.account))
			return err
		}
		pages := 0
		return r.platform.Accounts(ctx, r.caller.ForLogin(r.tokenID), r.Account, func(page []media.FoundAccount) error {
			for _, a := range page {
				ids = append(ids, a.ExternalID)
				if a.ExternalID == r.Account {
					found = a
				}
			}
			if pages++; found.ExternalID != "" || pages == listedMax {
				return errListed
			}
			return nil
		})
	})
	reached = "; check the id that --account has"
	if _, alone := r.platform.(media.Describer); alone && err != nil {
		return found, reached, r.notShown(err, reached) // Without its zone its days would be wrong.
	}
	// A copied token has no app: a list whose calls the app signs cannot be read.
	if _, ok := errors.AsType[*media.Error](err); ok || errors.Is(err, errListed) || errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if len(ids) > 0 {
		const shown = 5
		reached = "; the token reaches " + strings.Join(ids[:min(len(ids), shown)], ", ")
		if len(ids) > shown {
			reached += " and others"
		}
		reached += ": give the id of one of them to --account"
	}
	if len(ids) == 0 { // A user without a list of accounts may be the account itself.
		found.Name = cmp.Or(found.Name, r.User)
	}
	found.Timezone, found.Currency = cmp.Or(found.Timezone, zoneDefault), cmp.Or(found.Currency, currencyDefault)
	return found, reached, err
}

// How long calls are retried if that may help.
const (
	askPause    = time.Second
	askPauseMax = 16 * time.Second
	// listPauseMax applies to the list of accounts, which a run does not need.
	listPauseMax = 2 * time.Second
	askWaitMax   = time.Minute
)

// ask calls the platform. It retries with pauses that grow up to pauseMax while the platform does not answer or asks to
// wait.
func (r *run) ask(ctx context.Context, what string, pauseMax time.Duration, try func(ctx context.Context) error) error {
	for pause := askPause; ; pause *= 2 {
		err := try(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := r.refused(ctx); err != nil {
			return err
		}
		wait := pause
		e, isError := errors.AsType[*media.Error](err)
		deferred, isDeferred := errors.AsType[*media.DeferError](err)
		switch {
		case isDeferred:
			wait = max(pause, min(deferred.After, askWaitMax))
		case isError && e.Class == media.Auth:
			return r.refusal(e.Error())
		case !isError || e.Class != media.Transient:
			return err
		}
		if pause > pauseMax {
			return fmt.Errorf("%s does not answer for %s: %w; try again later", r.Media, what, err)
		}
		r.progress.say("%s: %s; asking again in %s", what, err, wait)
		if err := clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// refused returns an error if the platform has refused the token or the account, for which the pulls would otherwise
// wait.
func (r *run) refused(ctx context.Context) error {
	row, err := r.store.Token(ctx, r.tokenID)
	if err != nil {
		return err
	}
	if row.State != settings.TokenOK {
		return r.refusal(row.StateReason)
	}
	if r.account.ID == 0 {
		return nil // It is not written yet.
	}
	account, err := r.store.Account(ctx, r.account.ID)
	if err != nil || account.Parked == "" {
		return err
	}
	return fmt.Errorf("%s has closed the account %s to this token: %s", r.Media, r.account.ExternalID, account.Parked)
}

func (r *run) refusal(reason string) error {
	console := "its developer console"
	if p, ok := r.platform.(media.Consoler); ok {
		console = p.Console()
	}
	return fmt.Errorf("%s refuses the token (code %s): make a new one at %s", r.Media,
		strings.TrimPrefix(reason, string(media.Auth)+" error "), console)
}

// askReport reads the days of a report, with the fields that its pulls read: in as many queries as the platform needs.
// do may be called repeatedly for a query.
func (r *run) askReport(ctx context.Context, what string, report media.Report,
	do func(context.Context, media.Report, media.ReportQuery) error) error {
	for from := r.report.From; from <= r.report.To; from = from.Add(report.MaxDays) {
		query := media.ReportQuery{From: from, To: min(from.Add(report.MaxDays-1), r.report.To)}
		err := r.ask(ctx, what, askPauseMax, func(ctx context.Context) error {
			return r.Engine.Fields(r.Media).Ask(ctx, report, query,
				func(report media.Report, query media.ReportQuery) error { return do(ctx, report, query) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pagesMax bounds the pages of a report.
const pagesMax = 100

// platformDays reads the account's days directly from the platform, not from the tables.
func (r *run) platformDays(ctx context.Context, totals media.Report) (daily, error) {
	api := r.caller.For(r.account)
	all := daily{}
	err := r.askReport(ctx, "the account's days", totals,
		func(ctx context.Context, totals media.Report, query media.ReportQuery) error {
			days := daily{}
			next, total := "", 0
			for range pagesMax {
				page, err := totals.Page(ctx, api, query, next)
				if err != nil {
					return err
				}
				for _, row := range page.Rows {
					days[row.Day] = row.Metrics
				}
				if next, total = page.Next, page.Total; next == "" {
					break
				}
			}
			if len(days) != total {
				return &media.Error{Class: media.Transient, Message: fmt.Sprintf("%d days came of a total of %d", len(days), total)}
			}
			maps.Copy(all, days)
			return nil
		})
	return all, err
}

// compare compares the tables with the platform's present figures.
func (r *run) compare(ctx context.Context, totals media.Report) error {
	days, err := r.platformDays(ctx, totals)
	if err != nil {
		return err
	}
	var total *metric.Values
	if p, ok := r.platform.(media.Totaler); ok {
		sums := daily{} // by the first day of a query
		err := r.askReport(ctx, "the account's total", totals,
			func(ctx context.Context, _ media.Report, query media.ReportQuery) error {
				var err error
				sums[query.From], err = p.Total(ctx, r.caller.For(r.account), query)
				return err
			})
		if err != nil {
			return err
		}
		total = &metric.Values{}
		for _, sum := range sums {
			total.Add(&sum)
		}
	}
	ours, err := ourFigures(ctx, r.store, r.account.ID, append([]string{"account"}, r.report.Levels...), r.report.From,
		r.report.To)
	if err != nil {
		return err
	}
	compareFigures(&r.report, comparedMetrics(totals), ours, days, total)
	return nil
}

// moved returns the range of days that differ, or all days if only their sum differs.
func (r *run) moved() (from, to day.Day) {
	for _, d := range r.report.Days {
		if d.different() > 0 {
			from, to = cmp.Or(from, d.Day), d.Day
		}
	}
	return cmp.Or(from, r.report.From), cmp.Or(to, r.report.To)
}
