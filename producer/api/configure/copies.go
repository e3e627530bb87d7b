package configure

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adsync/base/config"
	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/copies"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/client"
)

// checkTimeout bounds a check of a copy. It is shorter than api.request_timeout is by default, so that the answer names
// what took too long.
const checkTimeout = 20 * time.Second

// CopyStore is what Copies needs of the store.
type CopyStore interface {
	TableCopies(ctx context.Context) ([]copies.TableCopy, error)
	TableCopy(ctx context.Context, name string) (copies.TableCopy, error)
	PutTableCopy(ctx context.Context, e settings.Editor, name string, change func(c *copies.TableCopy) error) error
	DeleteTableCopy(ctx context.Context, e settings.Editor, name string) error
	CopyStates(ctx context.Context) (map[string]copies.State, error)
	PlanCopy(ctx context.Context, c copies.TableCopy, sources copies.Sources) (*copies.Plan, error)
	AddAudit(ctx context.Context, a settings.Audit) (int64, error)
}

// Copies shows, changes and checks the rows of table_copy.
type Copies struct {
	Store   CopyStore
	Sources copies.Sources
}

// List answers with all copies.
func (h *Copies) List(c *gin.Context) (any, error) {
	rows, err := h.Store.TableCopies(c.Request.Context())
	if err != nil {
		return nil, err
	}
	states, err := h.Store.CopyStates(c.Request.Context())
	if err != nil {
		return nil, err
	}
	all := make([]client.TableCopy, len(rows))
	for i := range rows {
		all[i] = describeCopy(&rows[i], states)
	}
	return client.TableCopyList{Copies: all}, nil
}

func describeCopy(c *copies.TableCopy, states map[string]copies.State) client.TableCopy {
	state := states[c.StateName()]
	return client.TableCopy{
		Name: c.Name, Source: c.Source, SourceTable: c.SourceTable, Target: c.Target(), KeyColumns: c.Keys(),
		CursorColumn: c.CursorColumn, OverlapSeconds: int64(c.OverlapSeconds), WindowDays: c.WindowDays.Int64,
		DayColumn: c.DayColumn, Enabled: c.Enabled, Cursor: state.CursorValue, Rows: state.RowCount, Error: state.ErrorText,
		RunAt: state.RunAt,
	}
}

// Get answers with one copy.
func (h *Copies) Get(c *gin.Context) (any, error) {
	row, err := h.inPath(c)
	if err != nil {
		return nil, err
	}
	states, err := h.Store.CopyStates(c.Request.Context())
	return describeCopy(&row, states), err
}

// inPath returns the row that the path names. Its error is the problem of a name that no row has.
func (h *Copies) inPath(c *gin.Context) (row copies.TableCopy, err error) {
	name := c.Param("name")
	if utf8.ValidString(name) { // A database refuses other texts.
		row, err = h.Store.TableCopy(c.Request.Context(), name)
	}
	if !utf8.ValidString(name) || errors.Is(err, sqldb.ErrNotFound) {
		return row, httpapi.NewProblem(http.StatusNotFound, "There is no copy %q: want one in the list of copies.", name)
	}
	return row, err
}

// Put makes a copy, or changes one.
func (h *Copies) Put(c *gin.Context, request *client.TableCopyRequest) (any, error) {
	name := c.Param("name")
	if !utf8.ValidString(name) {
		return nil, httpapi.NewProblem(http.StatusBadRequest, "The name %q is not text: want UTF-8.", name)
	}
	err := h.Store.PutTableCopy(c.Request.Context(), editor(c, "copy.put"), name, func(row *copies.TableCopy) error {
		change(&row.Source, request.Source)
		change(&row.SourceTable, request.SourceTable)
		if request.Target != nil {
			row.SetTarget(*request.Target)
		}
		change(&row.CursorColumn, request.CursorColumn)
		change(&row.DayColumn, request.DayColumn)
		change(&row.Enabled, request.Enabled)
		set(&row.OverlapSeconds, request.OverlapSeconds)
		if request.KeyColumns != nil {
			row.KeyColumns = strings.Join(request.KeyColumns, ",")
		}
		if days := request.WindowDays; days != nil {
			row.WindowDays = sql.NullInt64{Int64: *days, Valid: *days != 0}
		}
		row.Complete()
		return refusals(row.Validate())
	})
	if err != nil {
		return nil, refusals(err)
	}
	return h.Get(c)
}

// change changes a value to another one, unless that is nil.
func change[T any](into, value *T) {
	if value != nil {
		*into = *value
	}
}

// refusals turns joined field errors into a refusal of the request.
func refusals(err error) error {
	var all httpapi.Refusals
	for _, e := range config.Flatten(err) {
		f, ok := errors.AsType[*config.FieldError](e)
		if !ok {
			return err
		}
		all.Refuse(f.Key, "%s", strings.TrimPrefix(f.Error(), f.Key+": "))
	}
	return all.Err()
}

// Delete deletes a copy. Its table stays.
func (h *Copies) Delete(c *gin.Context) (any, error) {
	before, err := h.Get(c)
	if err != nil {
		return nil, err
	}
	err = h.Store.DeleteTableCopy(c.Request.Context(), editor(c, "copy.delete"), c.Param("name"))
	if errors.Is(err, sqldb.ErrNotFound) { // Another caller was faster.
		_, err = h.inPath(c)
	}
	return before, err
}

// Check answers whether a copy can run, from the process that answers: it reads the columns of both tables.
func (h *Copies) Check(c *gin.Context) (any, error) {
	row, err := h.inPath(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), checkTimeout)
	defer cancel()
	by := editor(c, "copy.check")
	if _, err := h.Store.AddAudit(ctx, settings.Audit{Actor: by.Actor, Action: by.Action,
		Object: settings.AuditCopies + "/" + row.Name}); err != nil {
		return nil, err
	}
	answer := client.TableCopyCheck{Problems: []string{}, Columns: []string{}, LeftOut: []string{}}
	columns, leftOut, err := h.columns(ctx, &row)
	if err != nil {
		for _, e := range config.Flatten(err) {
			answer.Problems = append(answer.Problems, e.Error())
		}
		return answer, nil
	}
	answer.Ok, answer.Columns = true, columns
	answer.LeftOut = append(answer.LeftOut, leftOut...)
	return answer, nil
}

// columns returns the columns that a copy copies, and those of the source that it leaves out, or joined errors.
func (h *Copies) columns(ctx context.Context, row *copies.TableCopy) (columns, leftOut []string, err error) {
	if row.IsPartner() {
		from, err := summaries.OpenPartner(row, h.Sources)
		if err == nil {
			err = from.Check(ctx)
		}
		return summaries.PartnerColumns, nil, err
	}
	plan, err := h.Store.PlanCopy(ctx, *row, h.Sources)
	if err != nil {
		return nil, nil, err
	}
	return plan.Columns(), plan.LeftOut, nil
}
