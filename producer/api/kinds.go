package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/roster"
	"adsync/client"
	"adsync/media"
)

// kindRoutes serve the kinds of work.
type kindRoutes struct {
	registry  *media.Registry
	producer  Producer
	consumers Consumers
}

// listKinds answers with the kinds of work, the tasks of each and the consumers that do them.
func (a *kindRoutes) listKinds(c *gin.Context, params *client.ListKindsParams) (any, error) {
	alive, err := liveConsumers(c.Request.Context(), a.consumers)
	if err != nil {
		return nil, err
	}
	of := map[string][]client.KindTask{}
	for _, t := range a.producer.Tasks() {
		if !t.Usable || !t.Enabled {
			continue
		}
		shown := client.KindTask{Name: t.Name, Media: t.Media, Lane: t.Lane,
			ServedBy: servedBy(alive, t.Handler, t.Media, t.Lane)}
		if !params.Unserved || len(shown.ServedBy) == 0 {
			of[t.Handler] = append(of[t.Handler], shown)
		}
	}
	kinds := []client.Kind{}
	for _, name := range a.registry.Names() {
		if params.Unserved && of[name] == nil {
			continue
		}
		handler, _ := a.registry.Get(name)
		kind := client.Kind{Name: name, Target: targets[handler.Target], Tasks: of[name], ServedBy: []string{}}
		slices.SortFunc(kind.Tasks, func(a, b client.KindTask) int { return strings.Compare(a.Name, b.Name) })
		for _, t := range kind.Tasks {
			kind.ServedBy = append(kind.ServedBy, t.ServedBy...)
		}
		slices.Sort(kind.ServedBy)
		kind.ServedBy = slices.Compact(kind.ServedBy)
		if kind.Tasks == nil {
			kind.Tasks = []client.KindTask{}
		}
		kinds = append(kinds, kind)
	}
	return client.KindList{Kinds: kinds}, nil
}

// targets are the words for what runs of a kind fan out over.
var targets = map[media.Target]string{media.Accounts: "accounts", media.Logins: "logins", media.Once: "none"}

// servedBy returns the ids of the consumers that do a kind of work on a lane of a platform.
func servedBy(alive []roster.Process, kind, media, lane string) []string {
	ids := []string{}
	for _, p := range alive {
		if p.Serves(kind, media, lane) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

func liveConsumers(ctx context.Context, consumers Consumers) ([]roster.Process, error) {
	alive, err := consumers.List(ctx)
	if err != nil {
		return nil, httpapi.NewProblem(http.StatusServiceUnavailable, "The list of consumers cannot be read from Redis: %v.",
			err)
	}
	return alive, nil
}
