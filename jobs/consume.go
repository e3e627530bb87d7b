package jobs

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/failpoint"
	"adsync/base/store/jobstore"
)

const (
	ttrDefault = 2 * time.Minute
	countMax   = 100

	// answerTimeout is how long a worker may take to read its jobs.
	answerTimeout = 10 * time.Second
)

// jobAnswer is a job as the protocol shows it.
type jobAnswer struct {
	Msg         string          `json:"msg,omitempty"`
	Namespace   string          `json:"namespace"`
	Queue       string          `json:"queue"`
	JobID       string          `json:"job_id"`
	Data        []byte          `json:"data"` // base64
	TTL         int64           `json:"ttl"`  // the seconds that are left, rounded up; 0 forever
	ElapsedMS   int64           `json:"elapsed_ms"`
	RemainTries int             `json:"remain_tries"`
	Attributes  json.RawMessage `json:"attributes"`
	Claim       int64           `json:"claim,omitempty"` // if it was asked for
	State       []byte          `json:"state,omitempty"` // base64; that of the last release
}

func answerOf(namespace, queue string, j jobstore.Job, now time.Time) jobAnswer {
	a := jobAnswer{Namespace: namespace, Queue: queue, JobID: j.ID.String(), Data: j.Body,
		ElapsedMS: max(0, now.Sub(j.ID.Published()).Milliseconds()), RemainTries: j.Tries, Attributes: j.Attributes,
		State: j.State}
	if !j.ExpiresAt.IsZero() {
		a.TTL = max(0, int64((j.ExpiresAt.Sub(now)+time.Second-1)/time.Second))
		if a.TTL == 0 {
			a.Data = nil
		}
	}
	return a
}

func (a *api) consume(c *gin.Context) {
	jobs, names, several, err := a.claim(c)
	if err != nil {
		a.answerError(c, "consume jobs", err)
		return
	}
	if len(jobs) == 0 {
		c.JSON(http.StatusNotFound, gin.H{"msg": "no job available"})
		return
	}
	now := a.queues.clock.Now()
	all := make([]jobAnswer, len(jobs))
	for i, j := range jobs {
		all[i] = answerOf(c.Param("namespace"), names[j.Queue], j, now)
		all[i].Msg = "new job"
		if c.Query("claim") == "true" {
			all[i].Claim = j.Claims
		}
	}
	a.queues.counts.lmstfy.consumedFrom(jobstore.Queue{Namespace: c.Param("namespace"), Name: all[0].Queue}, jobs, several,
		now)
	var answer any = all[0]
	if several {
		answer = all
	}
	if !deliver(c, http.StatusOK, answer) {
		a.queues.desks.giveBack(c.Request.Context(), jobs)
	}
}

// deliver writes an answer with claimed jobs, and returns false if the worker cannot have got it whole.
func deliver(c *gin.Context, status int, answer any) bool {
	text, err := json.Marshal(answer)
	// With a length the worker may close the connection as soon as it has the whole answer, so what the connection says
	// afterwards means nothing.
	if err != nil || c.Request.Context().Err() != nil {
		return false
	}
	// gin's own Flush drops the error.
	control := http.NewResponseController(c.Writer.(interface{ Unwrap() http.ResponseWriter }).Unwrap())
	// A worker that does not read must not keep the jobs. A server without deadlines, as in tests, needs none.
	_ = control.SetWriteDeadline(time.Now().Add(answerTimeout)) //nolint:forbidigo // It is read by this machine alone.
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	c.Header("Content-Type", "application/json; charset=utf-8")
	c.Header("Content-Length", strconv.Itoa(len(text)))
	c.Status(status)
	if _, err := c.Writer.Write(text); err != nil {
		return false
	}
	err = control.Flush()
	failpoint.Hit("jobs.delivered")
	return err == nil || errors.Is(err, http.ErrNotSupported)
}

// claim claims what a request asks for. several reports whether it asked for more than one job.
func (a *api) claim(c *gin.Context) (jobs []jobstore.Job, names map[jobstore.QueueID]string, several bool, err error) {
	names = map[jobstore.QueueID]string{}
	var queues []jobstore.QueueID
	for name := range strings.SplitSeq(c.Param("queue"), ",") {
		id := jobstore.Queue{Namespace: c.Param("namespace"), Name: name}.ID()
		if name != "" && names[id] == "" {
			names[id], queues = name, append(queues, id)
		}
	}
	ttr, err := seconds(c, "ttr", ttrDefault)
	if err != nil {
		return nil, nil, false, err
	}
	wait, err := seconds(c, "timeout", 0)
	if err != nil {
		return nil, nil, false, err
	}
	count, err := number(c, "count", 32, 1)
	if err != nil || count == 0 || count > countMax {
		return nil, nil, false, invalid("invalid count")
	}
	if len(queues) == 0 {
		return nil, nil, false, invalid("invalid queue name(s)")
	}
	jobs, err = a.queues.desks.consume(c.Request.Context(), queues, int(count), ttr, wait)
	return jobs, names, count > 1, err
}

func (a *api) ack(c *gin.Context) {
	if id, known := jobstore.ParseID(c.Param("job_id")); known {
		written, err := writtenOf(c)
		if err != nil {
			a.answerError(c, "acknowledge a job", err)
			return
		}
		if written > 0 && id.Watched() {
			a.ackRows(c, jobstore.Key{Queue: queueOf(c).ID(), ID: id}, written)
			return
		}
		if err := a.queues.acks.do(c.Request.Context(), jobstore.Key{Queue: queueOf(c).ID(), ID: id}); err != nil {
			a.failed(c, "acknowledge a job", err)
			return
		}
		a.queues.counts.lmstfy.endedIn(queueOf(c), []jobstore.ID{id}, a.queues.clock.Now())
	}
	c.Status(http.StatusNoContent)
}

// ackRows acknowledges the job of a subtask, whose worker has written some rows.
func (a *api) ackRows(c *gin.Context, k jobstore.Key, written int64) {
	now := a.queues.clock.Now()
	failpoint.Hit("jobs.acking")
	if err := a.queues.store.AckRows(c.Request.Context(), []jobstore.Key{k}, written, now); err != nil {
		a.failed(c, "acknowledge a job", err)
		return
	}
	failpoint.Hit("jobs.acked")
	a.queues.counts.acknowledged.Inc()
	a.queues.desks.freed([]jobstore.Key{k})
	a.queues.counts.lmstfy.endedIn(queueOf(c), []jobstore.ID{k.ID}, now)
	c.Status(http.StatusNoContent)
}

func (a *api) destroy(c *gin.Context) {
	err := a.changed(c, "ready jobs deleted", "", nil, func() error {
		return a.queues.store.Destroy(c.Request.Context(), queueOf(c).ID(), a.queues.clock.Now())
	})
	if err != nil {
		a.failed(c, "destroy a queue", err)
		return
	}
	c.Status(http.StatusNoContent)
}

func (a *api) peekJob(c *gin.Context) {
	id, known := jobstore.ParseID(c.Param("job_id"))
	if !known {
		refuse(c, http.StatusNotFound, "job not found")
		return
	}
	now := a.queues.clock.Now()
	j, err := a.queues.store.Peek(c.Request.Context(), jobstore.Key{Queue: queueOf(c).ID(), ID: id}, now)
	switch {
	case err != nil:
		a.failed(c, "read a job", err)
	case j == nil || j.Expired(now):
		refuse(c, http.StatusNotFound, "job not found")
	default:
		c.JSON(http.StatusOK, answerOf(c.Param("namespace"), c.Param("queue"), *j, now))
	}
}

func (a *api) peek(c *gin.Context) {
	ctx, now := c.Request.Context(), a.queues.clock.Now()
	j, err := a.queues.store.First(ctx, queueOf(c).ID(), now)
	switch {
	case err != nil:
		a.failed(c, "read the first job of a queue", err)
	case j == nil:
		refuse(c, http.StatusNotFound, "the queue is empty")
	default:
		c.JSON(http.StatusOK, answerOf(c.Param("namespace"), c.Param("queue"), *j, now))
	}
}

func (a *api) size(c *gin.Context) {
	n, err := a.queues.store.Size(c.Request.Context(), queueOf(c).ID(), a.queues.clock.Now())
	if err != nil {
		a.failed(c, "count the jobs of a queue", err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"namespace": c.Param("namespace"), "queue": c.Param("queue"), "size": n})
}
