package jobs

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adsync/base/failpoint"
	"adsync/base/httpapi"
	"adsync/base/store/jobstore"
)

// The routes that lmstfy does not have. Those about a claim name it by the number that a consumer gets with claim=true.

const (
	ackMax     = 1000 // ids
	ackBodyMax = 64 << 10
	reasonMax  = 4000 // bytes of a worker's error
	queuesPage = 100
	deadPage   = 100
)

// ackMany acknowledges the jobs of a JSON list of ids.
func (a *api) ackMany(c *gin.Context) {
	text, err := readBody(c, ackBodyMax, "body too large")
	var ids []string
	if err == nil && (json.Unmarshal(text, &ids) != nil || ids == nil) {
		err = invalid("request body should be an array of job ids")
	}
	if err == nil && len(ids) > ackMax {
		err = invalid("too many jobs")
	}
	var keys []jobstore.Key
	for _, id := range ids {
		if read, known := jobstore.ParseID(id); known {
			keys = append(keys, jobstore.Key{Queue: queueOf(c).ID(), ID: read})
		}
	}
	if err == nil && len(keys) > 0 {
		err = a.queues.acks.do(c.Request.Context(), keys...)
	}
	if err != nil {
		a.answerError(c, "acknowledge jobs", err)
		return
	}
	acked := make([]jobstore.ID, len(keys))
	for i, k := range keys {
		acked[i] = k.ID
	}
	a.queues.counts.lmstfy.endedIn(queueOf(c), acked, a.queues.clock.Now())
	c.Status(http.StatusNoContent)
}

// claimOf reads which claim a request is about.
func claimOf(c *gin.Context) (k jobstore.Key, claim int64, err error) {
	n, err := number(c, "claim", 32, 0)
	if err == nil && n == 0 {
		err = invalid("invalid claim")
	}
	id, known := jobstore.ParseID(c.Param("job_id"))
	if err == nil && !known {
		err = &requestError{http.StatusNotFound, "job not found"}
	}
	return jobstore.Key{Queue: queueOf(c).ID(), ID: id}, int64(n), err //nolint:gosec // 32 bits.
}

// outcome answers a request about a claim.
func (a *api) outcome(c *gin.Context, what string, o jobstore.Outcome, err error) {
	switch {
	case err != nil:
		a.answerError(c, what, err)
	case o == jobstore.Stale:
		refuse(c, http.StatusConflict, "the claim is not the job's present one")
	case o == jobstore.NotFound:
		refuse(c, http.StatusNotFound, "job not found")
	default:
		c.Status(http.StatusNoContent)
	}
}

// nack ends a claim without success. The body is the reason, which a dead letter shows.
func (a *api) nack(c *gin.Context) {
	k, claim, err := claimOf(c)
	delay := jobstore.ByBackoff
	if _, given := c.GetQuery("delay"); err == nil && given {
		delay, err = seconds(c, "delay", 0)
	}
	var reason []byte
	if err == nil {
		reason, err = readBody(c, reasonMax, "body too large")
	}
	if err == nil && !utf8.Valid(reason) {
		err = invalid("the body is not UTF-8")
	}
	var o jobstore.Outcome
	if err == nil {
		o, err = a.queues.store.Nack(c.Request.Context(), k, claim, delay, string(reason), a.queues.clock.Now())
		failpoint.Hit("jobs.nacked")
		a.queues.desks.freed([]jobstore.Key{k})
		if o == jobstore.Died {
			a.queues.counts.buried.Inc()
		}
	}
	a.outcome(c, "end a claim", o, err)
}

// touch gives a claim ttr more seconds from now on.
func (a *api) touch(c *gin.Context) {
	k, claim, err := claimOf(c)
	var ttr time.Duration
	if err == nil {
		ttr, err = seconds(c, "ttr", ttrDefault)
	}
	var o jobstore.Outcome
	if now := a.queues.clock.Now(); err == nil {
		o, err = a.queues.store.Touch(c.Request.Context(), k, claim, now.Add(ttr), now)
	}
	a.outcome(c, "extend a claim", o, err)
}

// stateMax bounds what a worker keeps with a job that it releases, in bytes.
const stateMax = 64 << 10

// release ends a claim at no try: the job is delivered again after a delay, with the body of the request as its state.
func (a *api) release(c *gin.Context) {
	k, claim, err := claimOf(c)
	var how jobstore.Again
	if err == nil {
		how.Delay, err = seconds(c, "delay", 0)
	}
	if err == nil {
		how.State, err = readBody(c, stateMax, "body too large")
	}
	if len(how.State) == 0 {
		how.State = nil
	}
	var r jobstore.Released
	if now := a.queues.clock.Now(); err == nil {
		r, err = a.queues.store.Release(c.Request.Context(), k, claim, how, now)
		failpoint.Hit("jobs.released")
		a.queues.desks.freed([]jobstore.Key{k})
	}
	if err == nil && r.Outcome == jobstore.Done {
		a.queues.announce([]jobstore.Job{r.Job})
	}
	a.outcome(c, "release a claim", r.Outcome, err)
}

// pause stops the claims of a queue, or lets them continue. Claims that are under way stay as they are.
func (a *api) pause(paused bool) gin.HandlerFunc {
	action := "queue resumed"
	if paused {
		action = "queue paused"
	}
	return func(c *gin.Context) {
		err := a.changed(c, action, "", nil, func() error {
			return a.queues.store.Pause(c.Request.Context(), queueOf(c), paused, a.queues.clock.Now())
		})
		if err != nil {
			a.failed(c, "pause or resume a queue", err)
			return
		}
		c.Status(http.StatusNoContent)
	}
}

// pageLimit reads how many rows a page has.
func pageLimit(c *gin.Context, most uint64) (int, error) {
	n, err := number(c, "limit", 32, most)
	if err != nil || n == 0 || n > most {
		return 0, invalid("invalid limit")
	}
	return int(n), nil //nolint:gosec // It is at most most.
}

// listQueues lists the queues of a namespace, with their jobs counted.
func (a *api) listQueues(c *gin.Context) {
	limit, err := pageLimit(c, queuesPage)
	var states []jobstore.QueueState
	now := a.queues.clock.Now()
	if err == nil {
		states, err = a.queues.store.Queues(c.Request.Context(), c.Param("namespace"), c.Query("after"), limit, now)
	}
	if err != nil {
		a.answerError(c, "list queues", err)
		return
	}
	list := make([]gin.H, len(states))
	for i, s := range states {
		list[i] = gin.H{"queue": s.Name, "ready": s.Ready, "waiting": s.Waiting, "deadletter_size": s.Dead,
			"paused": s.Paused, "oldest_ready_seconds": nil}
		if !s.Oldest.IsZero() {
			list[i]["oldest_ready_seconds"] = int64(now.Sub(s.Oldest) / time.Second)
		}
	}
	next := ""
	if len(states) == limit {
		next = states[limit-1].Name
	}
	c.JSON(http.StatusOK, gin.H{"namespace": c.Param("namespace"), "queues": list, "next": next})
}

// deadPlace is where a page of dead letters begins.
type deadPlace struct {
	At time.Time
	ID string
}

func placeOf(text string) (deadPlace, error) {
	place, err := httpapi.PageAfter(text, func(p deadPlace) bool {
		_, known := jobstore.ParseID(p.ID)
		return known
	})
	if err != nil {
		return deadPlace{}, err
	}
	return *place, nil
}

// listDead lists dead letters with their bodies and errors, the oldest first.
func (a *api) listDead(c *gin.Context) {
	limit, err := pageLimit(c, deadPage)
	var place deadPlace
	if text := c.Query("after"); err == nil && text != "" {
		if place, err = placeOf(text); err != nil {
			err = invalid("invalid after")
		}
	}
	id, _ := jobstore.ParseID(place.ID)
	var dead []jobstore.DeadJob
	if err == nil {
		dead, err = a.queues.store.ListDead(c.Request.Context(), queueOf(c).ID(), place.At, id, limit)
	}
	if err != nil {
		a.answerError(c, "list dead letters", err)
		return
	}
	list := make([]gin.H, len(dead))
	for i, d := range dead {
		list[i] = gin.H{"job_id": d.ID.String(), "data": d.Body, "attributes": json.RawMessage(d.Attributes),
			"claims": d.Claims, "error": strings.TrimSpace(d.Error), "published_at": d.ID.Published(), "died_at": d.DiedAt}
		if d.Attributes == nil {
			list[i]["attributes"] = nil
		}
	}
	next := ""
	if len(dead) == limit {
		last := dead[limit-1]
		next = httpapi.PageToken(deadPlace{last.DiedAt, last.ID.String()})
	}
	c.JSON(http.StatusOK, gin.H{"namespace": c.Param("namespace"), "queue": c.Param("queue"), "jobs": list, "next": next})
}

// settings answers with the settings of a queue.
func (a *api) settings(c *gin.Context) {
	s, err := a.queues.store.SettingsOf(c.Request.Context(), queueOf(c))
	if err != nil {
		a.failed(c, "read the settings of a queue", err)
		return
	}
	c.JSON(http.StatusOK, s)
}

const settingsMax = 4096 // bytes

// setSettings replaces the settings of a queue. Those that are absent have their defaults.
func (a *api) setSettings(c *gin.Context) {
	text, err := readBody(c, settingsMax, "body too large")
	var s jobstore.Settings
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if wrong := decoder.Decode(&s); wrong != nil || decoder.More() {
			err = invalid("the body is not the settings of a queue: want backoff, rate, concurrency and keep_dead as JSON")
		}
	}
	if wrong := s.Validate(); err == nil && wrong != nil {
		err = invalid("invalid settings: %v", wrong)
	}
	if err == nil {
		err = a.changed(c, "settings of a queue", "", s, func() error {
			return a.queues.store.SetQueue(c.Request.Context(), queueOf(c), s, a.queues.clock.Now())
		})
	}
	if err != nil {
		a.answerError(c, "change the settings of a queue", err)
		return
	}
	c.Status(http.StatusNoContent)
}

// dueHours is how many hours of a histogram are listed, and how many if nothing else is asked for.
const (
	dueHours    = 1000
	dueHoursFew = 48
)

// due counts the jobs of a queue that wait, by the hour in which they become ready.
func (a *api) due(c *gin.Context) {
	n, err := number(c, "hours", 32, dueHoursFew)
	if err != nil || n == 0 || n > dueHours {
		a.answerError(c, "count jobs by hour", invalid("invalid hours: want 1 to %d", dueHours))
		return
	}
	all, err := a.queues.store.DueByHour(c.Request.Context(), queueOf(c).ID(), int(n), a.queues.clock.Now())
	if err != nil {
		a.failed(c, "count jobs by hour", err)
		return
	}
	hours := make([]gin.H, len(all))
	for i, d := range all {
		hours[i] = gin.H{"hour": d.Hour, "jobs": d.Jobs}
	}
	c.JSON(http.StatusOK, gin.H{"namespace": c.Param("namespace"), "queue": c.Param("queue"), "hours": hours})
}
