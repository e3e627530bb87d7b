package configure

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer"
	"adsync/producer/brake"
	"adsync/publish"
)

// laneName matches the name of a lane, which becomes part of a topic's name.
var laneName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// openRunsMax is how many open runs a deletion searches: far more than there are.
const openRunsMax = 10_000

// LaneStore is what Lanes needs of the store.
type LaneStore interface {
	Lanes(ctx context.Context) ([]settings.Lane, error)
	PutLane(ctx context.Context, e settings.Editor, media, name string,
		change func(before settings.Lane, known bool) (settings.Lane, error)) error
	DeleteLane(ctx context.Context, e settings.Editor, media, name string,
		check func(table settings.TaskTable, subscriptions []string) error) error
	SearchRuns(ctx context.Context, f ledger.RunSearch) ([]ledger.Run, error)
}

// Producer is what Lanes needs of the process's producer.
type Producer interface {
	// Tasks returns the rows of cron_task as this process last loaded them.
	Tasks() []producer.Task
	// Reload reads the tables again and applies the changes.
	Reload(ctx context.Context) error
}

// Lanes shows and changes the rows of lane.
type Lanes struct {
	Store    LaneStore
	Producer Producer
	// Platforms returns the platforms of the tasks' handlers, system among them.
	Platforms func() []string
}

// List answers with all lanes.
func (h *Lanes) List(c *gin.Context) (any, error) {
	lanes, err := h.Store.Lanes(c.Request.Context())
	if err != nil {
		return nil, err
	}
	shown := make([]client.Lane, len(lanes))
	for i := range lanes {
		shown[i] = h.describe(lanes[i], lanes)
	}
	return client.LaneList{Lanes: shown}, nil
}

// Get answers with one lane.
func (h *Lanes) Get(c *gin.Context) (any, error) { return h.answer(c) }

// Put makes a lane, or changes one.
func (h *Lanes) Put(c *gin.Context, request *client.LaneRequest) (any, error) {
	media, name := c.Param("media"), c.Param("lane")
	var errs httpapi.Refusals
	if known := append([]string{settings.AnyMedia}, h.Platforms()...); !slices.Contains(known, media) {
		errs.Refuse("media", "%q is refused: want one of %s", media, strings.Join(known, ", "))
	}
	if !laneName.MatchString(name) {
		errs.Refuse("lane", "%q is refused: want up to 32 lower-case letters, digits, dashes and underscores, a letter first",
			name)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	err := h.Store.PutLane(c.Request.Context(), editor(c, "lane.put"), media, name,
		func(row settings.Lane, known bool) (settings.Lane, error) {
			if !known && request.PoolSize == nil {
				return row,
					httpapi.Refused("pool_size", "is missing: want how many subtasks of the new lane one consumer does at a time")
			}
			set(&row.PoolSize, request.PoolSize)
			set(&row.WorkersMax, request.WorkersMax)
			set(&row.Partitions, request.Partitions)
			set(&row.BacklogMax, request.BacklogMax)
			set(&row.LateSeconds, request.LateSeconds)
			set(&row.Importance, request.Importance)
			return row, nil
		})
	if err != nil {
		return nil, err
	}
	if err := h.Producer.Reload(c.Request.Context()); err != nil {
		return nil, err
	}
	return h.answer(c)
}

// set changes a number to a value, unless the value is nil.
func set[T int | int64](into *T, value *int64) {
	if value != nil {
		*into = T(*value)
	}
}

// Delete deletes a lane that no task, subscription or open run uses.
func (h *Lanes) Delete(c *gin.Context) (any, error) {
	ctx, media, name := c.Request.Context(), c.Param("media"), c.Param("lane")
	before, err := h.answer(c)
	if err != nil {
		return nil, err
	}
	deleted := settings.Lane{Media: media, Name: name}
	// The runs are read before the transaction, which would hold its locks while the other database answers.
	states := []task.RunState{task.RunFanningOut, task.RunRunning}
	open, err := h.Store.SearchRuns(ctx, ledger.RunSearch{States: states, Limit: openRunsMax})
	if err != nil {
		return nil, err
	}
	open = slices.DeleteFunc(open, func(r ledger.Run) bool { return !deleted.Carries(r.Media, r.Settings.Lane) })
	check := func(table settings.TaskTable, users []string) error {
		stays := func(of string) bool {
			return slices.ContainsFunc(table.Lanes, func(l settings.Lane) bool { return l.Carries(of, name) })
		}
		var tasks []string
		for _, row := range table.Rows {
			if deleted.Carries(row.Media, row.Lane) && !stays(row.Media) {
				tasks = append(tasks, row.Name)
			}
		}
		if len(tasks) > 0 {
			return httpapi.NewProblem(http.StatusConflict,
				"Tasks use this lane: %s. Give them another lane first, or delete them.", strings.Join(tasks, ", "))
		}
		if len(users) > 0 && deleted.Carries(publish.Media, name) && !stays(publish.Media) {
			return httpapi.NewProblem(http.StatusConflict,
				"Subscriptions use this lane: %s. Give them another lane first, or delete them.", strings.Join(users, ", "))
		}
		// The messages of an open run are in the lane's topic, which nobody would read.
		at := slices.IndexFunc(open, func(r ledger.Run) bool { return !stays(r.Media) })
		if at < 0 {
			return nil
		}
		return httpapi.NewProblem(http.StatusConflict,
			"The run %d of the task %s uses this lane and is still open: wait for its end, or cancel it.",
			open[at].ID, open[at].TaskName)
	}
	err = h.Store.DeleteLane(ctx, editor(c, "lane.delete"), media, name, check)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, noLane(media, name)
	}
	if err != nil {
		return nil, err
	}
	return before, h.Producer.Reload(ctx)
}

// answer returns the current state of the lane that the path names.
func (h *Lanes) answer(c *gin.Context) (any, error) {
	media, name := c.Param("media"), c.Param("lane")
	lanes, err := h.Store.Lanes(c.Request.Context())
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(lanes, func(l settings.Lane) bool { return l.Media == media && l.Name == name })
	if at < 0 {
		return nil, noLane(media, name)
	}
	return h.describe(lanes[at], lanes), nil
}

func noLane(media, name string) error {
	return httpapi.NewProblem(http.StatusNotFound,
		"There is no lane %q of %q: want one in the list of lanes. Lanes of all platforms have the media %q.",
		name, media, settings.AnyMedia)
}

// describe returns a lane with the values in force where its row has 0, and the tasks whose work uses it.
func (h *Lanes) describe(l settings.Lane, all []settings.Lane) client.Lane {
	rule, _ := brake.RuleOf(l.Name, l)
	shown := client.Lane{
		Media: l.Media, Name: l.Name, PoolSize: int64(l.PoolSize), WorkersMax: int64(l.WorkersMax),
		Partitions: int64(l.Partitions), BacklogMax: l.BacklogMax, LateSeconds: int64(l.LateSeconds),
		Importance: int64(l.Importance), Tasks: []string{},
		InForce: client.LaneRule{BacklogMax: rule.BacklogMax, LateSeconds: int64(rule.Late / time.Second),
			Importance: int64(rule.Importance)},
	}
	for _, t := range h.Producer.Tasks() {
		overridden := l.Media == settings.AnyMedia &&
			slices.ContainsFunc(all, func(o settings.Lane) bool { return o.Name == l.Name && o.Media == t.Media })
		if t.Usable && l.Carries(t.Media, t.Lane) && !overridden {
			shown.Tasks = append(shown.Tasks, t.Name)
		}
	}
	slices.Sort(shown.Tasks)
	return shown
}
