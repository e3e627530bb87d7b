package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/store/jobstore"
)

// userKey is where a request's context has the user of the admin port.
const userKey = "user"

// auditTimeout limits the time for completing an entry after the client has disconnected.
const auditTimeout = 5 * time.Second

// audited makes a change for a request, and notes it with who sent the request. The entry is written first and
// completed after the change: no change lacks one, and nothing is changed while none can be written. detail and what
// change returns instead, unless that is nil, are shown as JSON. An empty target is the request's queue.
func (a *api) audited(c *gin.Context, action, target string, detail any,
	change func() (result any, err error)) error {
	entry := jobstore.Change{At: a.queues.clock.Now(), Namespace: c.Param("namespace"), Actor: c.GetString(userKey),
		Action: action, Target: cmp.Or(target, c.Param("queue")), Detail: detailText(detail)}
	if t, is := c.Value(tokenKey).(*jobstore.Token); is {
		entry.Actor = t.Prefix + "…"
	}
	if entry.Actor == "" {
		entry.Actor = "nobody" // No token and no password are needed.
	}
	id, err := a.queues.store.Begin(c.Request.Context(), entry)
	if err != nil {
		return err
	}
	result, err := change()
	failure := ""
	if err != nil {
		// The text of other errors is only for the log.
		failure = "it failed, or its outcome is unknown: see request " + c.Writer.Header().Get(requestHeader) + " in the log"
		if refused, ok := errors.AsType[*requestError](err); ok {
			failure = refused.reason
		}
	}
	// The entry is completed even after the client has disconnected: then it is the only record of the outcome.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), auditTimeout)
	defer cancel()
	if wrong := a.queues.store.End(ctx, id, detailText(result), failure); wrong != nil {
		a.queues.logger.ErrorContext(ctx, "the audit does not know how a change ended", "change", id, "action", action,
			"namespace", entry.Namespace, "failure", failure, "err", wrong)
	}
	return err
}

// changed is audited for a change without a result.
func (a *api) changed(c *gin.Context, action, target string, detail any, change func() error) error {
	return a.audited(c, action, target, detail, func() (any, error) { return nil, change() })
}

// detailText returns what an entry shows of a detail.
func detailText(detail any) string {
	if detail == nil {
		return ""
	}
	text, _ := json.Marshal(detail) // Its types can be encoded.
	return string(text)
}

const changesPage = 1000

// audit lists changes, the newest first.
func (a *admin) audit(c *gin.Context) {
	limit, err := pageLimit(c, changesPage)
	before := int64(0)
	if text := c.Query("before"); err == nil && text != "" {
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			err = invalid("invalid before: want the id of a change")
		}
	}
	var all []jobstore.Change
	if err == nil {
		all, err = a.api.queues.store.Changes(c.Request.Context(), c.Query("namespace"), before, limit)
	}
	if err != nil {
		a.api.answerError(c, "list changes", err)
		return
	}
	if all == nil {
		all = []jobstore.Change{}
	}
	c.JSON(http.StatusOK, gin.H{"changes": all})
}
