package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/store"
)

const (
	auditPerPage    = 50
	auditPerPageMax = 500
	// auditPatience is how long an entry is completed for after its request was given up.
	auditPatience = 5 * time.Second
)

// auditJSON is one thing that somebody did.
type auditJSON struct {
	ID     string          `json:"id"`
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor"`
	Action string          `json:"action"`
	Object string          `json:"object"`
	Before json.RawMessage `json:"before,omitempty"` // of a row that was edited only the columns that changed
	After  json.RawMessage `json:"after,omitempty"`
	Error  string          `json:"error,omitempty"` // why it was not done after all
}

func (a *api) listAudit(c *gin.Context) error {
	q, err := queryOf(c, "actor", "object", "since", "until", "after", "limit")
	if err != nil {
		return err
	}
	filter := store.AuditFilter{
		Actor: q.values.Get("actor"), Object: q.values.Get("object"), Since: q.time("since", time.Time{}), Until: q.time("until", time.Time{}),
	}
	if text := q.values.Get("after"); text != "" {
		if filter.Before, err = parseID(text); err != nil {
			q.refuse("after", "%q is refused: want the value of next in the page before", text)
		}
	}
	page := q.limit(auditPerPage, auditPerPageMax)
	if err := q.err(); err != nil {
		return err
	}
	filter.Limit = page + 1 // One more tells whether there is a next page.
	entries, err := a.Store.ListAudit(c.Request.Context(), filter)
	if err != nil {
		return err
	}
	next := ""
	if len(entries) > page {
		entries = entries[:page]
		next = formatID(entries[page-1].ID)
	}
	shown := make([]auditJSON, len(entries))
	for i, e := range entries {
		shown[i] = auditJSON{
			ID: formatID(e.ID), At: e.At, Actor: e.Actor, Action: e.Action, Object: e.Object,
			Before: rawJSON(e.Before), After: rawJSON(e.After), Error: e.Error,
		}
	}
	c.JSON(http.StatusOK, gin.H{"audit": shown, "next": next})
	return nil
}

// rawJSON is a text that is JSON as it is, and any other as a string.
func rawJSON(text string) json.RawMessage {
	switch {
	case text == "":
		return nil
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // A text can always be written.
	return quoted
}

// audited carries out a deed and notes it: who does what to which object, what that was before, and what it is to be after. Rows of the
// config database note their changes themselves, see store.Editor; this is for the data database. The entry comes before the deed, for one
// of something that then failed misleads less than a deed without an entry. It is completed by what the deed returns, unless that is nil,
// and by why it failed, so that what a deed did before it failed is noted too. A deed that leaves everything as it was has no entry.
func (a *api) audited(c *gin.Context, action, object string, before, after any, deed func(ctx context.Context) (after any, err error)) error {
	return a.auditedOnce(c, action, object, before, after, func(ctx context.Context, changes func() error) (any, error) {
		if err := changes(); err != nil {
			return nil, err
		}
		return deed(ctx)
	})
}

// auditedOnce is audited for a deed that first finds out whether there is anything to do: it calls changes before it changes anything,
// as often as it likes and from several goroutines, and stops when that fails. A deed that never calls it has no entry.
func (a *api) auditedOnce(
	c *gin.Context, action, object string, before, after any, deed func(ctx context.Context, changes func() error) (after any, err error),
) error {
	entry := store.Audit{Actor: httpapi.CallerOf(c).Name, Action: action, Object: object}
	for _, v := range []struct {
		value any
		into  *string
	}{{before, &entry.Before}, {after, &entry.After}} {
		if v.value == nil {
			continue
		}
		text, err := json.Marshal(v.value)
		if err != nil {
			return fmt.Errorf("audit %s of %s: %w", action, object, err)
		}
		*v.into = string(text)
	}
	ctx := c.Request.Context()
	id := int64(0)
	result, err := deed(ctx, sync.OnceValue(func() (err error) {
		if entry.Before != entry.After { // Else nothing changes.
			id, err = a.Store.AddAudit(ctx, entry)
		}
		return err
	}))
	if id == 0 || err == nil && result == nil {
		return err
	}
	return errors.Join(err, a.endAudit(c, id, action, object, result, err))
}

// endAudit completes an entry by what a deed returned.
func (a *api) endAudit(c *gin.Context, id int64, action, object string, result any, err error) error {
	// Also when the request was given up: that is when it matters what became of it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), auditPatience)
	defer cancel()
	text, failure := "", ""
	if result != nil {
		j, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("audit %s of %s: %w", action, object, err)
		}
		text = string(j)
	}
	if err != nil {
		// The text of other errors is for the log alone.
		failure = "it failed, or nobody knows whether it did: the log tells more under request " + httpapi.RequestID(c)
		if p, ok := errors.AsType[*httpapi.Problem](err); ok {
			failure = p.Detail
		}
	}
	return a.Store.EndAudit(ctx, id, text, failure)
}
