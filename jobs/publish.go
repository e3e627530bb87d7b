package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/store/jobstore"
)

const (
	bodyMax    = 1 << 20 // of a job, in bytes
	bulkMax    = 64      // jobs
	ttlDefault = 24 * time.Hour

	// bodyTimeout is how long a body may take to arrive.
	bodyTimeout = 30 * time.Second
)

// Attributes are headers of a publication that come back with the job.
const (
	attributesHeader = "Enable-Job-Version" // YES
	attributePrefix  = "Job-Attr-"
	attributesMax    = 16
	attributeKeyMax  = 32
	attributeMax     = 128
)

// requestError is the reason for which a request is refused.
type requestError struct {
	status int
	reason string
}

func (e *requestError) Error() string { return e.reason }

func invalid(format string, args ...any) error {
	return &requestError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// answerError answers a request that failed.
func (a *api) answerError(c *gin.Context, what string, err error) {
	if e, ok := errors.AsType[*requestError](err); ok {
		refuse(c, e.status, e.reason)
		return
	}
	a.failed(c, what, err)
}

// number reads a parameter of a request.
func number(c *gin.Context, name string, bits int, absent uint64) (uint64, error) {
	text, given := c.GetQuery(name)
	if !given {
		return absent, nil
	}
	n, err := strconv.ParseUint(text, 10, bits)
	if err != nil {
		return 0, invalid("invalid %s", name)
	}
	return n, nil
}

func seconds(c *gin.Context, name string, absent time.Duration) (time.Duration, error) {
	n, err := number(c, name, 32, uint64(absent/time.Second)) //nolint:gosec // It is not negative.
	return time.Duration(n) * time.Second, err                //nolint:gosec // 32 bits.
}

// orderOf reads the parameters of a publication.
func orderOf(c *gin.Context) (o order, err error) {
	if o.delay, err = seconds(c, "delay", 0); err != nil {
		return o, err
	}
	if o.ttl, err = seconds(c, "ttl", ttlDefault); err != nil {
		return o, err
	}
	if o.ttl > 0 && o.ttl < o.delay {
		return o, invalid("ttl is shorter than delay")
	}
	tries, err := number(c, "tries", 16, 1)
	if err != nil {
		return o, err
	}
	if tries == 0 {
		return o, invalid("tries shouldn't be zero")
	}
	priority, err := number(c, "priority", 8, jobstore.PriorityDefault)
	if err != nil || priority > jobstore.PriorityMax {
		return o, invalid("invalid priority")
	}
	o.tries, o.priority = int(tries), int(priority) //nolint:gosec // 16 and 8 bits.
	if o.backoff, err = backoffOf(c); err != nil {
		return o, err
	}
	if o.key = c.Query("dedupe"); len(o.key) > keyMax {
		return o, invalid("invalid dedupe: a key has up to %d bytes", keyMax)
	}
	if o.keyFor, err = seconds(c, "dedupe_ttl", keyDefault); err != nil || o.keyFor == 0 || o.keyFor > keyForMax {
		return o, invalid("invalid dedupe_ttl: want 1 to %d seconds", int(keyForMax/time.Second))
	}
	if o.wait, err = seconds(c, "wait", 0); err != nil {
		return o, err
	}
	if o.written, err = writtenOf(c); err != nil {
		return o, err
	}
	o.attributes, err = attributesOf(c.Request.Header)
	return o, err
}

// writtenOf reads how many rows the worker of a subtask has written.
func writtenOf(c *gin.Context) (int64, error) {
	n, err := number(c, "rows", 31, 0)
	return int64(n), err //nolint:gosec // 31 bits.
}

const (
	keyMax     = 255
	keyDefault = 24 * time.Hour
	keyForMax  = 30 * 24 * time.Hour

	factorDefault = "2"
	capDefault    = 3600 // seconds
)

// backoffOf reads the backoff of a publication; "" without one.
func backoffOf(c *gin.Context) (string, error) {
	base, given := c.GetQuery("backoff")
	if !given {
		return "", nil
	}
	cap := c.Query("backoff_cap")
	if n, err := strconv.ParseInt(base, 10, 64); cap == "" && err == nil {
		cap = strconv.FormatInt(max(n, capDefault), 10)
	}
	b, err := jobstore.ParseBackoff(base + " " + c.DefaultQuery("backoff_factor", factorDefault) + " " + cap)
	if err != nil {
		return "", invalid("invalid backoff: %v", err)
	}
	return b.String(), nil
}

// attributesOf returns the attributes of a publication as JSON; nil without any.
func attributesOf(h http.Header) ([]byte, error) {
	if h.Get(attributesHeader) != "YES" {
		return nil, nil
	}
	all := map[string]string{}
	for name := range h {
		if !strings.HasPrefix(name, attributePrefix) {
			continue
		}
		key, value := strings.ToLower(strings.TrimPrefix(name, attributePrefix)), h.Get(name)
		if key == "" || len(key) > attributeKeyMax || len(value) > attributeMax {
			return nil, invalid("attribute %q: a key has 1 to %d letters, and a value up to %d", key, attributeKeyMax,
				attributeMax)
		}
		all[key] = value
	}
	if len(all) > attributesMax {
		return nil, invalid("too many attributes, cannot exceed %d", attributesMax)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return json.Marshal(all)
}

// readBody reads a body of up to limit bytes.
func readBody(c *gin.Context, limit int64, tooLarge string) ([]byte, error) {
	control := http.NewResponseController(c.Writer)
	// A server without deadlines, as in tests, needs none.
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) //nolint:forbidigo // It is read by this machine alone.
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	var b bytes.Buffer
	if n := c.Request.ContentLength; n > 0 && n <= limit {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(io.LimitReader(c.Request.Body, limit+1))
	if err != nil {
		return nil, invalid("failed to read body")
	}
	if int64(b.Len()) > limit {
		return nil, &requestError{http.StatusRequestEntityTooLarge, tooLarge}
	}
	return b.Bytes(), nil
}

// publish is also republish, if the path names a job.
func (a *api) publish(c *gin.Context) {
	o, err := orderOf(c)
	var body []byte
	if err == nil {
		body, err = readBody(c, bodyMax, "body too large")
	}
	if err == nil && c.Param("job_id") == "" {
		err = a.quotas.allow(c.Request.Context(), c.Param("namespace"), 1, int64(len(body)))
	}
	var id jobstore.ID
	isNew := true
	switch {
	case err != nil:
	case o.key != "" && c.Param("job_id") == "":
		id, isNew, err = a.queues.publishOnce(c.Request.Context(), queueOf(c), o, body)
	default:
		id, err = a.publishOne(c, o, body)
	}
	if err != nil {
		a.answerError(c, "publish a job", err)
		return
	}
	answer := gin.H{"msg": "published", "job_id": id.String()}
	if !isNew {
		answer["msg"] = "published before"
	}
	if o.wait == 0 {
		c.JSON(http.StatusCreated, answer)
		return
	}
	a.answerResult(c, id, o.wait, answer)
}

// resultTTR is how long a result belongs to the answer that is written with it.
const resultTTR = time.Minute

// answerResult waits for a job in the queue that is named by a job's id, answers with it and acknowledges it. The job
// is published whether a result comes or not.
func (a *api) answerResult(c *gin.Context, id jobstore.ID, wait time.Duration, answer gin.H) {
	ctx := c.Request.Context()
	results := jobstore.Queue{Namespace: c.Param("namespace"), Name: id.String()}
	jobs, err := a.queues.desks.consume(ctx, []jobstore.QueueID{results.ID()}, 1, resultTTR, wait)
	if err != nil && ctx.Err() == nil {
		a.queues.logger.WarnContext(ctx, "the result of a job could not be waited for", "job", id, "err", err)
	}
	answer["result"] = nil
	if len(jobs) > 0 {
		answer["result"] = answerOf(results.Namespace, results.Name, jobs[0], a.queues.clock.Now())
	}
	if !deliver(c, http.StatusCreated, answer) {
		a.queues.desks.giveBack(ctx, jobs)
		return
	}
	if len(jobs) == 0 {
		return
	}
	if err := a.queues.acks.do(context.WithoutCancel(ctx), jobs[0].Key()); err != nil {
		a.queues.logger.WarnContext(ctx, "a result that was answered could not be deleted", "job", id, "err", err)
	}
}

func (a *api) publishOne(c *gin.Context, o order, body []byte) (jobstore.ID, error) {
	if o.key != "" {
		return jobstore.ID{}, invalid("dedupe is not for a republication")
	}
	into := queueOf(c)
	if to, given := c.GetQuery("to"); given && c.Param("job_id") != "" {
		if into.Name = to; !isQueueName(to) || len(to) > nameMax {
			return jobstore.ID{}, invalid("invalid to")
		}
	}
	if old, known := jobstore.ParseID(c.Param("job_id")); known {
		return a.queues.republish(c.Request.Context(), into, jobstore.Key{Queue: queueOf(c).ID(), ID: old}, o, body)
	}
	ids, err := a.queues.publish(c.Request.Context(), into, o, body)
	if err != nil {
		return jobstore.ID{}, err
	}
	return ids[0], nil
}

func (a *api) publishBulk(c *gin.Context) {
	ids, err := a.publishAll(c)
	if err != nil {
		a.answerError(c, "publish jobs", err)
		return
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	c.JSON(http.StatusCreated, gin.H{"msg": "published", "job_ids": texts})
}

func (a *api) publishAll(c *gin.Context) ([]jobstore.ID, error) {
	o, err := orderOf(c)
	if err != nil {
		return nil, err
	}
	if o.key != "" || o.wait > 0 {
		return nil, invalid("dedupe and wait are for one job")
	}
	text, err := readBody(c, bulkMax*(bodyMax+1)+1, "job too large")
	if err != nil {
		return nil, err
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil || parts == nil {
		return nil, invalid("request body should be an array of objects")
	}
	if len(parts) == 0 {
		return nil, invalid("no jobs")
	}
	if len(parts) > bulkMax {
		return nil, invalid("too many jobs")
	}
	bodies, size := make([][]byte, len(parts)), int64(0)
	for i, part := range parts {
		if len(part) > bodyMax {
			return nil, &requestError{http.StatusRequestEntityTooLarge, "job too large"}
		}
		bodies[i] = part
		size += int64(len(part))
	}
	if err := a.quotas.allow(c.Request.Context(), c.Param("namespace"), int64(len(bodies)), size); err != nil {
		return nil, err
	}
	return a.queues.publish(c.Request.Context(), queueOf(c), o, bodies...)
}
