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

const (
	changesPerPage    = 100
	changesPerPageMax = 1000
)

// changesPage is the token of a page: where the one before ended.
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
	ConfigChanges(ctx context.Context, f results.ChangeFilter, after results.ConfigChange, limit int) ([]results.ConfigChange, error)
}

// changeRoutes are the changes of configuration objects.
type changeRoutes struct {
	store    changeStore
	accounts accountFinder
	clock    clock.Clock
}

func (a *changeRoutes) listChanges(c *gin.Context, q *httpapi.Query, _ media.Platform, account settings.Account) (any, error) {
	zone := zoneOf(account)
	from, to := days(q, a.clock.Now(), zone)
	filter := results.ChangeFilter{
		AccountID: account.ID, Level: q.Get("level"), Object: q.Get("object"), Field: q.Get("field"),
	}
	var place results.ConfigChange
	if p, ok := httpapi.PageAfter(q, func(p changesPage) bool { return p.Version != 0 && isASCII(p.Level) && isASCII(p.Object) }); ok {
		place = results.ConfigChange{Version: p.Version, Level: p.Level, Object: p.Object, Field: p.Field}
	}
	for _, name := range []string{"level", "object"} { // So are the columns: MySQL refuses to compare them with anything else.
		if !isASCII(q.Get(name)) {
			q.Refuse(name, "%q is refused: want ASCII", q.Get(name))
		}
	}
	limit := q.Limit(changesPerPage, changesPerPageMax)
	if err := q.Err(); err != nil {
		return nil, err
	}
	filter.From, filter.To = from.Start(zone), to.Add(1).Start(zone)
	rows, err := a.store.ConfigChanges(c.Request.Context(), filter, place, limit+1) // One more tells whether there is a next page.
	if err != nil {
		return nil, err
	}
	rows, next := httpapi.PageOf(rows, limit, func(last results.ConfigChange) changesPage {
		return changesPage{Version: last.Version, Level: last.Level, Object: last.Object, Field: last.Field}
	})
	shown := make([]client.Change, len(rows))
	for i, r := range rows {
		shown[i] = client.Change{SeenAt: r.SeenAt, Level: r.Level, Object: r.Object, Field: r.Field, Before: r.Before, After: r.After}
	}
	return client.AccountChanges{Account: describeAccount(account), From: string(from), To: string(to), Changes: shown, Next: next}, nil
}
