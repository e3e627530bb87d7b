package api

import (
	"context"
	"encoding/json"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/store/settings"
	"adsync/client"
)

// auditStore is what these routes need of the store.
type auditStore interface {
	ListAudit(ctx context.Context, f settings.AuditFilter) ([]settings.Audit, error)
}

// auditRoutes serve the audit log.
type auditRoutes struct{ store auditStore }

func (a *auditRoutes) listAudit(c *gin.Context, params *client.ListAuditParams) (any, error) {
	before, err := httpapi.IDAfter(params.After)
	if err != nil {
		return nil, err
	}
	page := int(params.Limit)
	filter := settings.AuditFilter{
		Actor: params.Actor, Object: params.Object, Since: params.Since, Until: params.Until,
		Before: before, Limit: page + 1, // One more shows whether there is a next page.
	}
	entries, err := a.store.ListAudit(c.Request.Context(), filter)
	if err != nil {
		return nil, err
	}
	entries, next := httpapi.PageByID(entries, page, func(e *settings.Audit) int64 { return e.ID })
	shown := make([]client.AuditEntry, len(entries))
	for i, e := range entries {
		shown[i] = client.AuditEntry{
			ID: formatID(e.ID), At: e.At, Actor: e.Actor, Action: e.Action, Object: e.Object,
			Before: rawJSON(e.Before), After: rawJSON(e.After), Error: e.Error,
		}
	}
	return client.AuditList{Audit: shown, Next: next}, nil
}

// rawJSON returns a text that is JSON unchanged, and any other text as a JSON string.
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
