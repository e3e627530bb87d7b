package account

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/schedule"
	"adsync/base/store/settings"
	"adsync/media"
)

// Calls makes the API for an account, and for a login.
type Calls interface {
	For(account media.Account) media.CountingAPI
	ForLogin(tokenID int64) media.CountingAPI
}

// asker finds out whether accounts have figures today, with as few calls as the platform allows.
type asker struct {
	calls  Calls
	prober media.Prober // nil: the report is used
	report media.Report
	// besides holds the figures of the report that do not show whether an account spends.
	besides []string
	made    atomic.Int64
}

func newAsker(platform media.Platform, calls Calls) (*asker, error) {
	a := &asker{calls: calls}
	a.prober, _ = platform.(media.Prober)
	at := slices.IndexFunc(platform.Reports(), func(r media.Report) bool {
		return r.Name == settings.AccountFigures && r.Level == settings.AccountLevel
	})
	if at < 0 && a.prober == nil {
		return nil,
			&media.Error{Class: media.Bug, Message: fmt.Sprintf("%s has neither a probe nor the report %s at level %s",
				platform.Name(), settings.AccountFigures, settings.AccountLevel)}
	}
	if at >= 0 {
		a.report = platform.Reports()[at]
	}
	for _, f := range a.report.Figures {
		if !slices.Contains(wakingMetrics, f.Metric) {
			a.besides = append(a.besides, f.Field)
		}
	}
	return a, nil
}

// most returns how many accounts one call takes. An account without a row in the answer to a joint query may be one
// that the platform refuses, so parked accounts need their own queries.
func (a *asker) most(parked bool) int {
	switch {
	case a.prober != nil:
		return max(a.prober.ProbeMax(), 1)
	case parked:
		return 1
	}
	return max(a.report.AccountsMax, 1)
}

// answer is the result for one account.
type answer struct {
	spending bool
	err      error
}

// ask returns an answer for each account. The accounts have one login and zone, and fit into one call. When the
// platform refuses a call as a whole, ask repeats it for each half, so that one bad account fails alone. An error
// concerns no single account: it is a limit, or the login.
func (a *asker) ask(ctx context.Context, accounts []media.Account, now time.Time) (map[int64]answer, error) {
	spending, err := a.call(ctx, accounts, now)
	e, _ := errors.AsType[*media.Error](err)
	switch {
	case err == nil:
		answers := make(map[int64]answer, len(accounts))
		for _, account := range accounts {
			answers[account.ID] = answer{spending: spending[account.ID]}
		}
		return answers, nil
	case e == nil || e.Class == media.Quota || e.Class == media.Auth:
		return nil, err
	case len(accounts) == 1 || e.Class == media.Transient:
		answers := make(map[int64]answer, len(accounts))
		for _, account := range accounts {
			answers[account.ID] = answer{err: err}
		}
		return answers, nil
	}
	answers := make(map[int64]answer, len(accounts))
	half := len(accounts) / 2
	for _, part := range [][]media.Account{accounts[:half], accounts[half:]} {
		some, err := a.ask(ctx, part, now)
		if err != nil {
			return nil, err
		}
		maps.Copy(answers, some)
	}
	return answers, nil
}

func (a *asker) call(ctx context.Context, accounts []media.Account, now time.Time) (map[int64]bool, error) {
	if a.prober != nil {
		api := a.calls.ForLogin(accounts[0].TokenID)
		spending, err := a.prober.Probe(ctx, api, accounts, now)
		a.made.Add(int64(api.Calls()))
		return spending, err
	}
	account := accounts[0]
	today := day.Of(now, account.Zone)
	query := media.ReportQuery{From: today, To: today, Without: a.besides}
	if len(accounts) > 1 {
		query.Accounts = accounts
		account = media.Account{Media: account.Media, TokenID: account.TokenID, Zone: account.Zone}
	}
	api := a.calls.For(account)
	page, err := a.report.Page(ctx, api, query, "")
	if e, ok := errors.AsType[*media.Error](err); ok && e.Field != "" && !a.report.Needs(e.Field) {
		// The platform has retired the field. The next pull records that, and spend is enough here.
		query.Without = append(slices.Clip(query.Without), e.Field)
		page, err = a.report.Page(ctx, api, query, "")
	}
	a.made.Add(int64(api.Calls()))
	if err != nil {
		return nil, err
	}
	spending := map[int64]bool{}
	for _, asked := range accounts {
		spending[asked.ID] = slices.ContainsFunc(page.Rows, func(r media.Row) bool {
			return spends(r) && (len(accounts) == 1 || r.Account == asked.ExternalID)
		})
	}
	return spending, nil
}

// wakingMetrics are the metrics that show an account to be awake.
var wakingMetrics = []string{"cost", "impressions"}

// spends reports whether a row has spend or impressions.
func spends(r media.Row) bool {
	return slices.ContainsFunc(wakingMetrics, func(name string) bool {
		value, ok := r.Metrics.Get(metric.Index(name))
		return ok && value > 0
	})
}

// asked returns an account in the form that the platform's package takes.
func asked(a settings.Account) (media.Account, error) {
	zone, err := schedule.Zone(a.Timezone)
	if err != nil {
		return media.Account{}, err
	}
	return media.Account{ID: a.ID, Media: a.Media, ExternalID: a.ExternalID, Name: a.Name, TokenID: a.TokenID,
		Zone: zone, Currency: a.Currency}, nil
}
