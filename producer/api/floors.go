package api

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/store/exclusion"
	"adsync/client"
)

// floorStore reads the floors of exclusive subtasks.
type floorStore interface {
	ListFloors(ctx context.Context) (now time.Time, turns []exclusion.Turn, err error)
}

// floorRoutes serve the floors of exclusive subtasks.
type floorRoutes struct{ store floorStore }

func (a *floorRoutes) listFloors(c *gin.Context) (any, error) {
	now, turns, err := a.store.ListFloors(c.Request.Context())
	if err != nil {
		return nil, err
	}
	shown := make([]client.Floor, len(turns))
	for i, t := range turns {
		shown[i] = describeFloor(t, now)
	}
	return client.FloorList{Floors: shown}, nil
}

func describeFloor(t exclusion.Turn, now time.Time) client.Floor {
	f := client.Floor{
		RunID: formatID(t.RunID), AccountID: formatID(t.AccountID), Part: t.Part, Task: t.TaskName, Media: t.Media,
		Lane: t.Lane, Over: string(t.Scope), State: "queued", AskedAt: t.AskedAt, Since: t.FrontAt, HeldAt: t.HeldAt,
		NotIdle: make([]client.NotIdle, len(t.NotIdle)),
	}
	switch {
	case t.Holds(now):
		f.State, f.Until = "holding", t.HeldAt.Add(t.Hold)
	case t.Drains(now):
		f.State, f.Until = "draining", t.FrontAt.Add(t.Drain)
	case !t.FrontAt.IsZero():
		f.State = "ended"
	}
	for i, n := range t.NotIdle {
		f.NotIdle[i] = client.NotIdle{Consumer: n.Node, Unread: n.Unread, Subtasks: int64(n.Running)}
	}
	return f
}
