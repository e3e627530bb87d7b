package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/store"
)

const (
	auditPerPage    = 50
	auditPerPageMax = 500
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

// auditStore is what these routes need of the store.
type auditStore interface {
	ListAudit(ctx context.Context, f store.AuditFilter) ([]store.Audit, error)
}

// auditRoutes are the audit log.
type auditRoutes struct{ store auditStore }

func (a *auditRoutes) routes() []httpapi.Route {
	return []httpapi.Route{{Method: http.MethodGet, Path: "/api/v1/audit", Role: httpapi.Viewer, Handler: a.listAudit}}
}

func (a *auditRoutes) listAudit(c *gin.Context) error {
	q, err := queryOf(c, "actor", "object", "since", "until", "after", "limit")
	if err != nil {
		return err
	}
	filter := store.AuditFilter{
		Actor: q.values.Get("actor"), Object: q.values.Get("object"), Since: q.time("since", time.Time{}), Until: q.time("until", time.Time{}),
	}
	filter.Before = q.idAfter()
	page := q.limit(auditPerPage, auditPerPageMax)
	if err := q.err(); err != nil {
		return err
	}
	filter.Limit = page + 1 // One more tells whether there is a next page.
	entries, err := a.store.ListAudit(c.Request.Context(), filter)
	if err != nil {
		return err
	}
	entries, next := pageByID(entries, page, func(e *store.Audit) int64 { return e.ID })
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
