package api

import (
	"cmp"
	"context"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/client"
)

const (
	differencesPerPage    = 100
	differencesPerPageMax = 1000
	anyState              = "all"
)

// differencePage is the token of a page: where the one before ended.
type differencePage struct {
	AccountID int64   `json:"account_id"`
	Day       day.Day `json:"day"`
	Level     string  `json:"level"`
	Metric    string  `json:"metric"`
}

// differenceStore is what these routes need of the store.
type differenceStore interface {
	Differences(ctx context.Context, f results.DifferenceFilter, after results.Difference, limit int) ([]results.Difference, error)
	AccountsByID(ctx context.Context, ids []int64) (map[int64]settings.Account, error)
}

// differenceRoutes are the figures that are not the sums of their levels.
type differenceRoutes struct {
	store     differenceStore
	platforms platformList
	clock     clock.Clock
}

func (a *differenceRoutes) listDifferences(c *gin.Context, q *httpapi.Query) (any, error) {
	filter := results.DifferenceFilter{Media: q.Get("media"), State: cmp.Or(q.Get("state"), results.DifferenceOpen), Day: q.Day("day", a.clock.Now(), "")}
	switch filter.State {
	case results.DifferenceOpen, results.DifferenceMended:
	case anyState:
		filter.State = ""
	default:
		q.Refuse("state", "%q is refused: want %s, %s or %s", filter.State, results.DifferenceOpen, results.DifferenceMended, anyState)
	}
	var place results.Difference
	if p, ok := httpapi.PageAfter(q, func(p differencePage) bool {
		_, err := day.Parse(string(p.Day))
		return p.AccountID != 0 && err == nil
	}); ok {
		place = results.Difference{AccountID: p.AccountID, Day: p.Day, Level: p.Level, Metric: p.Metric}
	}
	limit := q.Limit(differencesPerPage, differencesPerPageMax)
	if err := q.Err(); err != nil {
		return nil, err
	}
	if _, err := a.platforms.named(filter.Media); err != nil {
		return nil, err
	}
	rows, err := a.store.Differences(c.Request.Context(), filter, place, limit+1) // One more tells whether there is a next page.
	if err != nil {
		return nil, err
	}
	rows, next := httpapi.PageOf(rows, limit, func(last results.Difference) differencePage {
		return differencePage{AccountID: last.AccountID, Day: last.Day, Level: last.Level, Metric: last.Metric}
	})
	shown, err := a.describeDifferences(c, rows)
	if err != nil {
		return nil, err
	}
	return client.DifferenceList{Differences: shown, Next: next}, nil
}

func (a *differenceRoutes) describeDifferences(c *gin.Context, rows []results.Difference) ([]client.Difference, error) {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].AccountID
	}
	accounts, err := a.store.AccountsByID(c.Request.Context(), ids)
	if err != nil {
		return nil, err
	}
	shown := make([]client.Difference, len(rows))
	for i := range rows {
		r := &rows[i]
		shown[i] = client.Difference{
			Media: r.Media, Account: accounts[r.AccountID].ExternalID, Currency: accounts[r.AccountID].Currency, Day: string(r.Day), Level: r.Level, Metric: r.Metric,
			AccountValue: r.AccountValue, SumValue: r.SumValue, State: r.State,
			FirstSeenAt: r.FirstSeenAt.Time, LastSeenAt: r.LastSeenAt.Time, ConfirmedAt: r.ConfirmedAt.Time, PulledAgainRunID: idOrNone(r.PulledAgainRunID),
		}
	}
	return shown, nil
}
