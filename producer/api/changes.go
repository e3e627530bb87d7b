package api

import (
	"context"
	"strings"
	"unicode"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/media"
)

// changesPage is the token of a page: the end of the page before it.
type changesPage struct {
	Version int64  `json:"version"`
	Level   string `json:"level"`
	Object  string `json:"object"`
	Field   string `json:"field"`
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// changeStore is what these routes need of the store.
type changeStore interface {
	ConfigChanges(ctx context.Context, f results.ChangeFilter, after results.ConfigChange,
		limit int) ([]results.ConfigChange, error)
}

// changeRoutes serve the changes of configuration objects.
type changeRoutes struct {
	store    changeStore
	accounts accountFinder
	clock    clock.Clock
}

func (a *changeRoutes) listChanges(
	c *gin.Context, params *client.ListChangesParams, _ media.Platform, account settings.Account,
) (any, error) {
	zone := zoneOf(account)
	var errs httpapi.Refusals
	from, to := days(&errs, params.From, params.To, a.clock.Now(), zone, coverageDays)
	// The columns are ASCII too: MySQL refuses to compare them with anything else.
	for _, p := range [][2]string{{"level", params.Level}, {"object", params.Object}} {
		if !isASCII(p[1]) {
			errs.Refuse(p[0], "%q is refused: want ASCII", p[1])
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	var place results.ConfigChange
	isPlace := func(p changesPage) bool { return p.Version != 0 && isASCII(p.Level) && isASCII(p.Object) }
	switch p, err := httpapi.PageAfter(params.After, isPlace); {
	case err != nil:
		return nil, err
	case p != nil:
		place = results.ConfigChange{Version: p.Version, Level: p.Level, Object: p.Object, Field: p.Field}
	}
	limit := int(params.Limit)
	filter := results.ChangeFilter{AccountID: account.ID, Level: params.Level, Object: params.Object, Field: params.Field}
	filter.From, filter.To = from.Start(zone), to.Add(1).Start(zone)
	// One more shows whether there is a next page.
	rows, err := a.store.ConfigChanges(c.Request.Context(), filter, place, limit+1)
	if err != nil {
		return nil, err
	}
	rows, next := httpapi.PageOf(rows, limit, func(last results.ConfigChange) changesPage {
		return changesPage{Version: last.Version, Level: last.Level, Object: last.Object, Field: last.Field}
	})
	shown := make([]client.Change, len(rows))
	for i, r := range rows {
		shown[i] = client.Change{SeenAt: r.SeenAt, Level: r.Level, Object: r.Object, Field: r.Field, Before: r.Before,
			After: r.After, ChangedAt: r.ChangedAt, ChangedBy: r.By}
	}
	return client.AccountChanges{Account: describeAccount(account), From: string(from), To: string(to), Changes: shown,
		Next: next}, nil
}
