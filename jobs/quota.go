package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/ulule/limiter/v3"

	"adsync/base/store/jobstore"
)

// quotas knows the quotas of namespaces, and about how much of them is used.
type quotas struct {
	queues *queues
	limits *limits

	mu   sync.Mutex
	all  map[string]jobstore.Quota // by namespace, as they were at the last look
	used map[string]*usage
}

// usage is what a namespace had when it was counted, and what this process has published there since.
type usage struct {
	sync.Mutex
	jobstore.Usage

	countedAt time.Time
}

const (
	// recountAfter is how old a count may be that allows a publication: other processes publish in the meantime.
	recountAfter = 10 * time.Second
	// refusedFor is how old a count may be that refuses one: jobs may have ended in the meantime.
	refusedFor = time.Second
)

// load reads the quotas. Each look does.
func (q *quotas) load(ctx context.Context) error {
	all, err := q.queues.store.AllQuotas(ctx)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = all
	for namespace := range q.used {
		if _, has := all[namespace]; !has {
			delete(q.used, namespace)
		}
	}
	return nil
}

// allow returns an error if a namespace may not publish jobs with some bytes.
func (q *quotas) allow(ctx context.Context, namespace string, jobs, bytes int64) error {
	q.mu.Lock()
	quota, has := q.all[namespace]
	if !has {
		q.mu.Unlock()
		return nil
	}
	u := q.used[namespace]
	if u == nil {
		if u = new(usage); q.used == nil {
			q.used = map[string]*usage{}
		}
		q.used[namespace] = u
	}
	q.mu.Unlock()
	counted := func(n int64) (full bool) {
		r := quota.Rate
		return r != nil && q.limits.count(ctx, "quota:"+namespace, n, limiter.Rate{Limit: r.Jobs,
			Period: time.Duration(r.Seconds) * time.Second})
	}
	if counted(jobs) {
		counted(-jobs)
		return &requestError{http.StatusTooManyRequests, fmt.Sprintf(
			"the namespace may publish %d jobs in %d s, please retry later", quota.Rate.Jobs, quota.Rate.Seconds)}
	}
	if quota.Jobs == 0 && quota.Bytes == 0 {
		return nil
	}
	err := q.room(ctx, namespace, quota, u, jobs, bytes)
	if err != nil {
		counted(-jobs)
	}
	return err
}

// room returns an error if a namespace has no room for jobs, and otherwise counts them.
func (q *quotas) room(ctx context.Context, namespace string, quota jobstore.Quota, u *usage, jobs, bytes int64) error {
	u.Lock()
	defer u.Unlock()
	full := func() string {
		switch {
		case quota.Jobs > 0 && u.Jobs+jobs > quota.Jobs:
			return fmt.Sprintf("the quota of the namespace is %d jobs, and it has %d", quota.Jobs, u.Jobs)
		case quota.Bytes > 0 && u.Bytes+bytes > quota.Bytes:
			return fmt.Sprintf("the quota of the namespace is %d bytes, and it has %d", quota.Bytes, u.Bytes)
		}
		return ""
	}
	age := q.queues.clock.Now().Sub(u.countedAt)
	if age > recountAfter || age > refusedFor && full() != "" {
		counted, err := q.queues.store.UsageOf(ctx, namespace, quota.Bytes > 0)
		if err != nil {
			return err
		}
		u.Usage, u.countedAt = counted, q.queues.clock.Now()
	}
	if reason := full(); reason != "" {
		return &requestError{http.StatusTooManyRequests, reason}
	}
	u.Jobs, u.Bytes = u.Jobs+jobs, u.Bytes+bytes
	return nil
}

const quotaBodyMax = 4096

// quota shows the quota of a namespace and how much of it is used.
func (a *admin) quota(c *gin.Context) {
	namespace := c.Param("namespace")
	all, err := a.api.queues.store.AllQuotas(c.Request.Context())
	q, has := all[namespace]
	var u jobstore.Usage
	if err == nil && has {
		u, err = a.api.queues.store.UsageOf(c.Request.Context(), namespace, true)
	}
	switch {
	case err != nil:
		a.api.failed(c, "read a quota", err)
	case !has:
		refuse(c, http.StatusNotFound, "the namespace has no quota")
	default:
		c.JSON(http.StatusOK, gin.H{"namespace": namespace, "quota": q, "jobs": u.Jobs, "bytes": u.Bytes})
	}
}

func (a *admin) setQuota(c *gin.Context) {
	text, err := readBody(c, quotaBodyMax, "body too large")
	var q jobstore.Quota
	if err == nil && json.Unmarshal(text, &q) != nil {
		err = invalid("the body is not a quota: want jobs, bytes and rate as JSON")
	}
	if wrong := q.Validate(); err == nil && wrong != nil {
		err = invalid("invalid quota: %v", wrong)
	}
	a.changeQuota(c, q, err)
}

func (a *admin) deleteQuota(c *gin.Context) { a.changeQuota(c, jobstore.Quota{}, nil) }

func (a *admin) changeQuota(c *gin.Context, q jobstore.Quota, err error) {
	namespace := c.Param("namespace")
	if err == nil && (!isName(namespace) || len(namespace) > nameMax) {
		err = invalid("namespace name contains forbidden characters")
	}
	if err == nil {
		err = a.api.changed(c, "quota", "", q, func() error {
			return a.api.queues.store.SetQuota(c.Request.Context(), namespace, q)
		})
	}
	if err != nil {
		a.api.answerError(c, "change a quota", err)
		return
	}
	c.Status(http.StatusNoContent)
}
