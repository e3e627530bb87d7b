package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/client"
)

// ListPublications answers with files, the newest first.
func (r *Routes) ListPublications(c *gin.Context, params *client.ListPublicationsParams) (any, error) {
	before, err := httpapi.IDAfter(params.After)
	if err != nil {
		return nil, err
	}
	limit := int(params.Limit)
	found, err := r.Store.SearchFiles(c.Request.Context(), publishing.Search{
		Subscription: params.Subscription, Destination: params.Destination, Customer: params.Customer, Name: params.Name,
		State: publishing.State(params.State), From: day.Day(params.From), To: day.Day(params.To), Before: before,
		Limit: limit + 1,
	})
	if err != nil {
		return nil, err
	}
	list := client.PublicationList{}
	if len(found) > limit {
		found = found[:limit]
		list.Next = strconv.FormatInt(found[limit-1].ID, 10)
	}
	list.Publications = describeAll(found)
	return list, nil
}

func describeAll(found []publishing.Publication) []client.Publication {
	all := make([]client.Publication, len(found))
	for i := range found {
		all[i] = describe(&found[i])
	}
	return all
}

func describe(p *publishing.Publication) client.Publication {
	shown := client.Publication{
		ID: strconv.FormatInt(p.ID, 10), Subscription: p.Subscription, From: string(p.FromDay), To: string(p.ToDay),
		Revision: int64(p.Revision), Sequence: p.Sequence, Destination: p.Destination, Name: p.Name, Customer: p.Customer,
		State: client.PublicationState(p.State), Rows: p.RowCount, Bytes: p.ByteSize, Sha256: p.SHA256,
		Incomplete: p.Incomplete, Error: p.ErrorText, PlannedAt: p.PlannedAt,
		DueAt: p.DueAt, RenderedAt: p.RenderedAt, UploadedAt: p.UploadedAt, VerifiedAt: p.VerifiedAt,
		VisibleAt: p.VisibleAt, PublishedAt: p.PublishedAt, Lane: p.Lane, LatestAt: p.LatestAt, CompareAt: p.CompareAt,
		CorrectUntil: p.CorrectUntil, WebhookAt: p.WebhookAt, WebhookError: p.WebhookError,
	}
	if p.RunID != 0 {
		shown.RunID = strconv.FormatInt(p.RunID, 10)
	}
	if p.ColumnCount != nil {
		n := int64(*p.ColumnCount)
		shown.Columns = &n
	}
	return shown
}

// GetPublication answers with one file.
func (r *Routes) GetPublication(c *gin.Context) (any, error) {
	p, err := r.publication(c)
	if err != nil {
		return nil, err
	}
	shown := describe(&p)
	if p.Missing != "" {
		if err := json.Unmarshal([]byte(p.Missing), &shown.Missing); err != nil {
			return nil, fmt.Errorf("read what the file %s lacks: %w", p.Part(), err)
		}
	}
	return shown, nil
}

func (r *Routes) publication(c *gin.Context) (p publishing.Publication, err error) {
	id, wrong := httpapi.ParseID(c.Param("id"))
	if wrong == nil {
		p, err = r.Store.File(c.Request.Context(), id)
	}
	if wrong != nil || errors.Is(err, sqldb.ErrNotFound) {
		return p, httpapi.NewProblem(http.StatusNotFound, "There is no file %q: want the id of one in the list of files.",
			c.Param("id"))
	}
	return p, err
}

// RedeliverPublication makes a file again.
func (r *Routes) RedeliverPublication(c *gin.Context) (any, error) {
	return r.act(c, "publication.redeliver", false, "It is open: it will be delivered. Cancel it first to make it again.",
		func(id int64, now time.Time) (bool, error) { return r.Store.ReopenFile(c.Request.Context(), id, now) })
}

// CancelPublication ends an open file.
func (r *Routes) CancelPublication(c *gin.Context) (any, error) {
	return r.act(c, "publication.cancel", true, "It is not open: there is nothing to cancel.",
		func(id int64, now time.Time) (bool, error) {
			return r.Store.EndFile(c.Request.Context(), id, publishing.Cancelled,
				"cancelled by "+httpapi.CallerOf(c).Name, now)
		})
}

// act changes a file that is open, or one that is not, and answers with it. not is the sentence for the caller of a
// file in the other state.
func (r *Routes) act(c *gin.Context, action string, open bool, not string,
	do func(id int64, now time.Time) (bool, error)) (any, error) {
	p, err := r.publication(c)
	if err != nil {
		return nil, err
	}
	conflict := httpapi.NewProblem(http.StatusConflict, "%s", not)
	if p.State.Open() != open {
		return nil, conflict
	}
	if err := r.audit(c, action, "publication/"+p.Part(), nil); err != nil {
		return nil, err
	}
	done, err := do(p.ID, r.Clock.Now())
	if err != nil {
		return nil, err
	}
	if !done { // It has changed since it was read.
		return nil, conflict
	}
	return r.GetPublication(c)
}
