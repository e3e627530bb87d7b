package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/media"
	"adsync/media/field"
)

// fieldTrying is the state of a field that an operator requested and that its platform has not accepted yet: pulls do
// not request it.
const fieldTrying = "trying"

func fieldStateOf(r settings.ReportField) string {
	if r.Trying() {
		return fieldTrying
	}
	return string(r.State)
}

// fieldStore is what these routes need of the store.
type fieldStore interface {
	ReportFields(ctx context.Context, media string) ([]settings.ReportField, error)
	PutReportField(ctx context.Context, actor string, f settings.ReportField, more ...settings.ReportField) error
}

// fieldRoutes serve the fields of the platforms' reports.
type fieldRoutes struct {
	store     fieldStore
	platforms platformList
}

func (a *fieldRoutes) listFields(c *gin.Context, params *client.ListFieldsParams) (any, error) {
	platforms, err := a.platforms.named(params.Media)
	if err != nil {
		return nil, err
	}
	shown := []client.Field{}
	for _, p := range platforms {
		all, err := a.fieldsOf(c, p)
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			if params.State == "" || f.State == params.State {
				shown = append(shown, f)
			}
		}
	}
	return client.FieldList{Fields: shown}, nil
}

// fieldsOf lists the rows of a platform's fields, and the fields that its package requests and that have no row for all
// reports.
func (a *fieldRoutes) fieldsOf(c *gin.Context, p media.Platform) ([]client.Field, error) {
	rows, err := a.store.ReportFields(c.Request.Context(), p.Name())
	if err != nil {
		return nil, err
	}
	metrics := metricsOf(p)
	var all []client.Field
	overridden := map[string]bool{} // by a row for all reports
	for _, r := range rows {
		overridden[r.Field] = overridden[r.Field] || r.Report == "" && r.Level == ""
		all = append(all, client.Field{
			Media: r.Media, Field: r.Field, Report: r.Report, Level: r.Level, State: fieldStateOf(r), Metric: metrics[r.Field],
			Reason: r.Reason, Note: r.TrialNote, By: r.ChangedBy, RetiredAt: r.RetiredAt.Time, UpdatedAt: r.UpdatedAt.Time,
		})
	}
	for name, metric := range metrics {
		if !overridden[name] {
			all = append(all, client.Field{Media: p.Name(), Field: name, State: string(settings.FieldAsked), Metric: metric})
		}
	}
	slices.SortFunc(all, func(x, y client.Field) int {
		return cmp.Or(strings.Compare(x.Field, y.Field), strings.Compare(x.Report, y.Report),
			strings.Compare(x.Level, y.Level))
	})
	return all, nil
}

// metricsOf returns the metric of each field of a platform's package.
func metricsOf(p media.Platform) map[string]string {
	metrics := map[string]string{}
	for _, r := range p.Reports() {
		for _, f := range r.Figures {
			metrics[f.Field] = f.Metric
		}
	}
	return metrics
}

func (a *fieldRoutes) putField(c *gin.Context, request *client.FieldRequest) (any, error) {
	by, err := signedBy(c, request.By)
	if err != nil {
		return nil, err
	}
	platforms, err := a.platforms.named(request.Media)
	if err != nil {
		return nil, err
	}
	row := settings.ReportField{
		Media: request.Media, Report: request.Report, Level: request.Level, Field: request.Field,
		State: settings.FieldState(request.State), Reason: strings.TrimSpace(request.Reason), ChangedBy: by,
	}
	if e, bad := errors.AsType[*field.RowError](field.Check(platforms[0], row)); bad {
		return nil, httpapi.Refused(e.Column, "%q is refused: want %s", e.Value, e.Want)
	}
	have, err := a.store.ReportFields(c.Request.Context(), request.Media)
	if err != nil {
		return nil, err
	}
	if err := checkFieldCount(have, platforms[0], row); err != nil {
		return nil, err
	}
	row, more := field.Rows(platforms[0], have, row)
	if err := a.store.PutReportField(c.Request.Context(), httpapi.CallerOf(c).Name, row, more...); err != nil {
		return nil, err
	}
	all, err := a.fieldsOf(c, platforms[0])
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(f client.Field) bool {
		return f.Field == row.Field && f.Report == row.Report && f.Level == row.Level
	})
	if at < 0 { // Another caller has replaced the row since.
		return nil, httpapi.NewProblem(http.StatusConflict,
			"Another caller changed the field %s of %s at the same time: read it again.",
			row.Field, row.Media)
	}
	return all[at], nil
}

// fieldsAddedMax is how many fields a report may have in addition to those of the platform's package: each is tried
// with a call, and makes all answers larger.
const fieldsAddedMax = 20

// checkFieldCount refuses a field above fieldsAddedMax.
func checkFieldCount(rows []settings.ReportField, p media.Platform, row settings.ReportField) error {
	metrics := metricsOf(p)
	if _, known := metrics[row.Field]; known || row.State != settings.FieldAsked {
		return nil
	}
	overlap := func(one, other string) bool { return one == "" || other == "" || one == other }
	added := map[string]bool{}
	for _, r := range rows {
		if _, known := metrics[r.Field]; !known && r.State == settings.FieldAsked && r.Field != row.Field &&
			overlap(r.Report, row.Report) && overlap(r.Level, row.Level) {
			added[r.Field] = true
		}
	}
	if len(added) < fieldsAddedMax {
		return nil
	}
	return httpapi.Refused("field",
		"the report already has %d fields in addition to those of the package, the maximum: switch one off first",
		len(added))
}
