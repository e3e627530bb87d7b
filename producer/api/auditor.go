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

// auditPatience is how long an entry is completed for after its request was given up.
const auditPatience = 5 * time.Second

// auditLog takes entries of the audit log.
type auditLog interface {
	AddAudit(ctx context.Context, a settings.Audit) (int64, error)
	EndAudit(ctx context.Context, id int64, after, failure string) error
}

// auditor notes what callers do.
type auditor struct{ auditLog }

// do carries out a deed and notes it: who does what to which object, what that was before, and what it is to be
// after. Rows of the config database note their changes themselves, see settings.Editor; this is for the data
// database. The entry comes before the deed, for one of something that then failed misleads less than a deed without
// an entry. It is completed by what the deed returns, unless that is nil, and by why it failed, so that what a deed
// did before it failed is noted too. A deed that leaves everything as it was has no entry.
func (a auditor) do(c *gin.Context, action, object string, before, after any,
	deed func(ctx context.Context) (after any, err error)) error {
	return a.doOnce(c, action, object, before, after, func(ctx context.Context, changes func() error) (any, error) {
		if err := changes(); err != nil {
			return nil, err
		}
		return deed(ctx)
	})
}

// doOnce is do for a deed that first finds out whether there is anything to do: it calls changes before it changes
// anything, as often as it likes and from several goroutines, and stops when that fails. A deed that never calls it
// has no entry.
func (a auditor) doOnce(
	c *gin.Context, action, object string, before, after any,
	deed func(ctx context.Context, changes func() error) (after any, err error),
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
	result, err := deed(ctx, sync.OnceValue(func() (err error) {
		if entry.Before != entry.After { // Else nothing changes.
			id, err = a.AddAudit(ctx, entry)
		}
		return err
	}))
	if id == 0 || err == nil && result == nil {
		return err
	}
	return errors.Join(err, a.end(c, id, action, object, result, err))
}

// end completes an entry by what a deed returned.
func (a auditor) end(c *gin.Context, id int64, action, object string, result any, err error) error {
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
	return a.EndAudit(ctx, id, text, failure)
}
