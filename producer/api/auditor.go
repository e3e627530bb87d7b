package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/store/settings"
)

// auditTimeout limits the time for completing an entry after the caller has disconnected.
const auditTimeout = 5 * time.Second

// auditLog stores entries of the audit log.
type auditLog interface {
	AddAudit(ctx context.Context, a settings.Audit) (int64, error)
	EndAudit(ctx context.Context, id int64, after, failure string) error
}

// auditor records what callers do.
type auditor struct{ auditLog }

// do calls apply and records it: the caller, the action, the object, and the object before and after. It is for the
// data database; changes of the config database are recorded by the store, see settings.Editor. The entry is written
// first: an entry of an action that then fails misleads less than an action without an entry. The entry is completed
// with what apply returns, unless that is nil, and with its error, so that changes before an error are recorded too.
// If before and after are equal there is no entry.
func (a auditor) do(c *gin.Context, action, object string, before, after any,
	apply func(ctx context.Context) (after any, err error)) error {
	return a.doOnce(c, action, object, before, after, func(ctx context.Context, begin func() error) (any, error) {
		if err := begin(); err != nil {
			return nil, err
		}
		return apply(ctx)
	})
}

// doOnce is do for an apply that first finds out whether there is anything to do. It calls begin before it changes
// anything, any number of times and from several goroutines, and stops when begin fails. Without a call of begin
// there is no entry.
func (a auditor) doOnce(
	c *gin.Context, action, object string, before, after any,
	apply func(ctx context.Context, begin func() error) (after any, err error),
) error {
	entry := settings.Audit{Actor: httpapi.CallerOf(c).Name, Action: action, Object: object}
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
	result, err := apply(ctx, sync.OnceValue(func() (err error) {
		if entry.Before != entry.After { // Otherwise nothing changes.
			id, err = a.AddAudit(ctx, entry)
		}
		return err
	}))
	if id == 0 || err == nil && result == nil {
		return err
	}
	return errors.Join(err, a.end(c, id, action, object, result, err))
}

// end completes an entry with what apply returned.
func (a auditor) end(c *gin.Context, id int64, action, object string, result any, err error) error {
	// The entry is completed even after the caller has disconnected: then it is the only record of the outcome.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), auditTimeout)
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
		// The text of other errors is only for the log.
		failure = "it failed, or its outcome is unknown: see request " + httpapi.RequestID(c) + " in the log"
		if p, ok := errors.AsType[*httpapi.Problem](err); ok {
			failure = p.Detail
		}
	}
	return a.EndAudit(ctx, id, text, failure)
}
