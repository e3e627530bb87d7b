package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/media"
	"adsync/upkeep"
)

const (
	coverageDays    = 7
	coverageDaysMax = 366
	// stateNever is the state of a day that was never pulled.
	stateNever = "never"
)

// coverageStore is what these routes need of the store.
type coverageStore interface {
	upkeep.ReachStore
	ReadCoverage(ctx context.Context, accountID int64, from, to day.Day) ([]results.Coverage, error)
	UnusableValues(ctx context.Context, accountID int64, from, to day.Day) ([]results.UnusableValue, error)
}

// coverageRoutes serve the coverage of an account: the state of each of its days.
type coverageRoutes struct {
	store    coverageStore
	accounts accountFinder
	clock    clock.Clock
}

func (a *coverageRoutes) getCoverage(
	c *gin.Context, params *client.GetCoverageParams, platform media.Platform, account settings.Account,
) (any, error) {
	now, zone := a.clock.Now(), zoneOf(account)
	today := day.Of(now, zone)
	var errs httpapi.Refusals
	from, to := days(&errs, params.From, params.To, now, zone, coverageDays)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	rows, err := a.store.ReadCoverage(c.Request.Context(), account.ID, from, to)
	if err != nil {
		return nil, err
	}
	reaches, err := upkeep.Reaches(c.Request.Context(), a.store, platform, account.Tier)
	if err != nil {
		return nil, err
	}
	unusable, err := a.unusableOf(c.Request.Context(), rows, account.ID, from, to)
	if err != nil {
		return nil, err
	}
	all := describeCoverage(platform, rows, unusable, day.Between(from, min(to, today)), today)
	for i := range all {
		if r := &all[i]; r.State == stateNever && r.Day != "" {
			r.Note = whyNoHole(reaches[upkeep.Scope{Report: r.Report, Level: r.Level}], account, day.Day(r.Day), a.clock.Now())
		}
	}
	return client.AccountCoverage{Account: describeAccount(account), From: string(from), To: string(to), Coverage: all},
		nil
}

// scope identifies a row of an account's coverage.
type scope struct {
	report, level string
	day           day.Day
}

// unusableOf reads the unusable values that the rows of coverage count.
func (a *coverageRoutes) unusableOf(ctx context.Context, rows []results.Coverage, accountID int64, from,
	to day.Day) (map[scope][]client.UnusableValue, error) {
	if !slices.ContainsFunc(rows, func(r results.Coverage) bool { return r.Unusable > 0 }) {
		return nil, nil
	}
	values, err := a.store.UnusableValues(ctx, accountID, from, to)
	if err != nil {
		return nil, err
	}
	all := map[scope][]client.UnusableValue{}
	for _, v := range values {
		of := scope{v.Report, v.Level, v.Day}
		all[of] = append(all[of], client.UnusableValue{Field: v.Field, Kind: string(v.Kind), Number: v.Number, Why: v.Why})
	}
	return all, nil
}

// whyNoHole returns why a day that was never pulled is not a hole, so that no run is ordered for it; "" for a hole.
func whyNoHole(reach upkeep.Reach, account settings.Account, d day.Day, now time.Time) string {
	zone := zoneOf(account)
	switch first := reach.First(now, zone); {
	case account.Parked != "":
		return "no hole: the account is parked"
	case !account.Bound:
		return "no hole: the account is not bound, so it is not pulled"
	case account.Tier == settings.TierInvalid:
		return "no hole: accounts of the tier invalid are not pulled"
	case reach.Days == 0:
		return "no hole: no enabled task pulls it for accounts of the tier " + account.Tier
	case d < first:
		return "no hole: " + reach.Task + " reaches back to " + first.String()
	}
	if from := upkeep.HoleFrom(d, zone); now.Before(from) {
		return "no hole before " + from.UTC().Format(time.RFC3339) + ": until then " + reach.Task + " may still pull it"
	}
	return ""
}

// days reads from and to. Without them it returns the last n days up to the day of now in a zone.
func days(errs *httpapi.Refusals, givenFrom, givenTo string, now time.Time, zone *time.Location, n int) (from,
	to day.Day) {
	to = givenDay(errs, "to", givenTo, now, day.Of(now, zone))
	from = givenDay(errs, "from", givenFrom, now, to.Add(1-n))
	switch {
	case from > to:
		errs.Refuse("from", "%s is refused: want a day up to %s", from, to)
	case from < to.Add(1-coverageDaysMax):
		errs.Refuse("from", "%s is refused: want %s or later, at most %d days at a time", from, to.Add(1-coverageDaysMax),
			coverageDaysMax)
	}
	return from, to
}

// givenDay reads a day that has begun in some time zone, or that begins next. Without one it returns the fallback.
func givenDay(errs *httpapi.Refusals, name, text string, now time.Time, fallback day.Day) day.Day {
	if text == "" {
		return fallback
	}
	d, err := day.Given(text, now)
	if err != nil {
		errs.Refuse(name, "%q is refused: %s", text, err)
		return fallback
	}
	return d
}

// describeCoverage lists the rows of coverage. Days of the platform's reports and cash flow without a row are listed as
// never pulled, and so are its lists and balances.
func describeCoverage(platform media.Platform, rows []results.Coverage, unusable map[scope][]client.UnusableValue,
	days []day.Day, today day.Day) []client.Coverage {
	missing := map[scope]bool{}
	for _, r := range platform.Reports() {
		for _, d := range days {
			missing[scope{r.Name, r.Level, d}] = true
		}
	}
	for _, l := range platform.Lists() {
		missing[scope{l.Name, l.Level, day.Epoch}] = true
	}
	funds := platform.Funds()
	if funds.Balance.Fetch != nil {
		missing[scope{media.BalanceName, media.FundLevel, day.Epoch}] = true
	}
	if funds.Daily.Page != nil {
		for _, d := range days {
			// The present day has no cash flow yet.
			if d < today {
				missing[scope{media.FundDailyName, media.FundLevel, d}] = true
			}
		}
	}
	all := make([]client.Coverage, 0, len(rows)+len(missing))
	for i := range rows {
		r := &rows[i]
		delete(missing, scope{r.Report, r.Level, r.Day})
		j := client.Coverage{
			Report: r.Report, Level: r.Level, Day: string(r.Day), State: cmp.Or(string(r.State), stateNever),
			PulledAt: r.PulledAt.Time,
			RunID:    idOrNone(r.RunID), Rows: r.RowCount, Note: r.Note, Unusable: r.Unusable,
			UnusableValues: unusable[scope{r.Report, r.Level, r.Day}], SummaryPending: r.Dirty != nil,
		}
		all = append(all, j)
	}
	for s := range missing {
		all = append(all, client.Coverage{Report: s.report, Level: s.level, Day: string(s.day), State: stateNever})
	}
	slices.SortFunc(all, func(x, y client.Coverage) int {
		return cmp.Or(cmp.Compare(x.Report, y.Report), cmp.Compare(x.Level, y.Level), cmp.Compare(x.Day, y.Day))
	})
	for i := range all {
		if all[i].Day == string(day.Epoch) {
			all[i].Day = ""
		}
	}
	return all
}
