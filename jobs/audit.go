package jobs

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"adsync/base/store/jobstore"
)

// userKey is where a request's context has the user of the admin port.
const userKey = "user"

// note notes what a request has changed, and who sent it. detail is shown as JSON.
func (a *api) note(c *gin.Context, action, target string, detail any) {
	change := jobstore.Change{At: a.queues.clock.Now(), Namespace: c.Param("namespace"), Actor: c.GetString(userKey),
		Action: action, Target: target}
	if t, is := c.Value(tokenKey).(*jobstore.Token); is {
		change.Actor = t.Prefix + "…"
	}
	if change.Actor == "" {
		change.Actor = "nobody" // No token and no password are needed.
	}
	if target == "" {
		change.Target = c.Param("queue")
	}
	if detail != nil {
		text, _ := json.Marshal(detail) // Its types can be encoded.
		change.Detail = string(text)
	}
	if err := a.queues.store.Note(c.Request.Context(), change); err != nil {
		a.queues.logger.ErrorContext(c.Request.Context(), "a change is missing in the audit", "action", action,
			"namespace", change.Namespace, "target", change.Target, "actor", change.Actor, "err", err)
	}
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
