package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/client"
)

// anyState selects the differences in every state.
const anyState = "all"

// differencePage is the token of a page: the end of the page before it.
type differencePage struct {
	AccountID int64   `json:"account_id"`
	Day       day.Day `json:"day"`
	Level     string  `json:"level"`
	Metric    string  `json:"metric"`
}

// differenceStore is what these routes need of the store.
type differenceStore interface {
	Differences(ctx context.Context, f results.DifferenceFilter, after results.Difference,
		limit int) ([]results.Difference, error)
	AccountsByID(ctx context.Context, ids []int64) (map[int64]settings.Account, error)
}

// differenceRoutes serve the differences: figures of accounts that are not the sums of a level below.
type differenceRoutes struct {
	store     differenceStore
	platforms platformList
	clock     clock.Clock
}

func (a *differenceRoutes) listDifferences(c *gin.Context, params *client.ListDifferencesParams) (any, error) {
	var errs httpapi.Refusals
	on := givenDay(&errs, "day", params.Day, a.clock.Now(), "")
	filter := results.DifferenceFilter{Media: params.Media, State: params.State, Day: on}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	if filter.State == anyState {
		filter.State = ""
	}
	p, err := httpapi.PageAfter(params.After, func(p differencePage) bool {
		_, err := day.Parse(string(p.Day))
		return p.AccountID != 0 && err == nil
	})
	if err != nil {
		return nil, err
	}
	var place results.Difference
	if p != nil {
		place = results.Difference{AccountID: p.AccountID, Day: p.Day, Level: p.Level, Metric: p.Metric}
	}
	limit := int(params.Limit)
	if _, err := a.platforms.named(filter.Media); err != nil {
		return nil, err
	}
	// One more shows whether there is a next page.
	rows, err := a.store.Differences(c.Request.Context(), filter, place, limit+1)
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
			Media: r.Media, Account: accounts[r.AccountID].ExternalID, Currency: accounts[r.AccountID].Currency,
			Day: string(r.Day), Level: r.Level, Metric: r.Metric,
			AccountValue: r.AccountValue, SumValue: r.SumValue, State: r.State,
			FirstSeenAt: r.FirstSeenAt.Time, LastSeenAt: r.LastSeenAt.Time, ConfirmedAt: r.ConfirmedAt.Time,
			PulledAgainRunID: idOrNone(r.PulledAgainRunID),
		}
	}
	return shown, nil
}
