package jobs

import (
	"bytes"
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
	o.attributes, err = attributesOf(c.Request.Header)
	return o, err
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
	var id jobstore.ID
	if err == nil {
		id, err = a.publishOne(c, o, body)
	}
	if err != nil {
		a.answerError(c, "publish a job", err)
		return
	}
	c.JSON(http.StatusCreated, gin.H{"msg": "published", "job_id": id.String()})
}

func (a *api) publishOne(c *gin.Context, o order, body []byte) (jobstore.ID, error) {
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
	bodies := make([][]byte, len(parts))
	for i, part := range parts {
		if len(part) > bodyMax {
			return nil, &requestError{http.StatusRequestEntityTooLarge, "job too large"}
		}
		bodies[i] = part
	}
	return a.queues.publish(c.Request.Context(), queueOf(c), o, bodies...)
}
