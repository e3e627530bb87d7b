package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adsync/base/config"
	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/client"
	"adsync/publish"
	"adsync/publish/place"
)

// ListSubscriptions answers with all subscriptions.
func (r *Routes) ListSubscriptions(c *gin.Context) (any, error) {
	rows, err := r.Store.AllSubscriptions(c.Request.Context())
	if err != nil {
		return nil, err
	}
	all := make([]client.Subscription, len(rows))
	for i, row := range rows {
		all[i] = describeSubscription(row)
	}
	return client.SubscriptionList{Subscriptions: all}, nil
}

// rowSource is the column source of a row.
type rowSource struct {
	Query string                    `json:"query,omitempty"`
	Files *client.SubscriptionFiles `json:"files,omitempty"`
}

// sourceOf returns the source of a row; the zero one if it cannot be read.
func sourceOf(row publishing.Subscription) (s rowSource) {
	_ = json.Unmarshal([]byte(row.Source), &s)
	return s
}

func describeSubscription(row publishing.Subscription) client.Subscription {
	source := sourceOf(row)
	shown := client.Subscription{
		Name: row.Name, Path: row.Path, Destination: row.Destination, Cron: row.Cron, Timezone: row.Timezone,
		Period: row.Period, OnEmpty: row.OnEmpty, OnExists: row.OnExists, Verify: row.Verify, Manifest: row.Manifest,
		RowsMax: row.RowsMax, Lane: row.Lane, Owner: row.Owner, Customer: row.Customer, Enabled: row.Enabled,
		Since: row.Since, Format: map[string]any{}, Application: row.Application, Webhook: row.Webhook,
		HasWebhookSecret: row.WebhookSecret != "",
	}
	// What cannot be read is in Error.
	_ = json.Unmarshal([]byte(row.Scope), &shown.Scope)
	_ = json.Unmarshal([]byte(row.Format), &shown.Format)
	_ = json.Unmarshal([]byte(row.Completeness), &shown.Completeness)
	_ = json.Unmarshal([]byte(row.Corrections), &shown.Corrections)
	shown.Query = source.Query
	shown.Files = source.Files
	if _, err := publish.Check(row); err != nil {
		shown.Error = err.Error()
	}
	return shown
}

// GetSubscription answers with one subscription.
func (r *Routes) GetSubscription(c *gin.Context) (any, error) {
	row, err := r.row(c)
	if err != nil {
		return nil, err
	}
	return describeSubscription(row), nil
}

func (r *Routes) row(c *gin.Context) (publishing.Subscription, error) {
	name := c.Param("name")
	if !utf8.ValidString(name) { // A database refuses such a text.
		return publishing.Subscription{}, noSubscription(name)
	}
	row, err := r.Store.Subscription(c.Request.Context(), name)
	if errors.Is(err, sqldb.ErrNotFound) {
		return row, noSubscription(name)
	}
	return row, err
}

func noSubscription(name string) error {
	return httpapi.NewProblem(http.StatusNotFound, "There is no subscription %q: want one in the list of subscriptions.",
		name)
}

// PutSubscription makes a subscription, or changes one.
func (r *Routes) PutSubscription(c *gin.Context, request *client.SubscriptionRequest) (any, error) {
	ctx := c.Request.Context()
	name, err := newName(c)
	if err != nil {
		return nil, err
	}
	err = r.Store.PutSubscription(ctx, editor(c, "subscription.put"), name, r.Clock.Now(),
		func(row publishing.Subscription, known bool, around publishing.Around) (publishing.Subscription, error) {
			if !known {
				row = publish.Defaults(name)
			}
			if err := change(&row, request); err != nil {
				return row, err
			}
			if request.WebhookSecret != nil {
				var err error
				if row.WebhookSecret, err = publish.SealWebhook(r.Box, name, *request.WebhookSecret); err != nil {
					return row, refusals(err)
				}
			}
			s, err := publish.Check(row)
			if err != nil {
				return row, refusals(err)
			}
			var errs []error
			named := func(name string, ofKind func(kind string) bool) bool {
				return slices.ContainsFunc(around.Destinations, func(d publishing.Destination) bool {
					return d.Name == name && ofKind(d.Kind)
				})
			}
			if !named(row.Destination, func(string) bool { return true }) {
				errs = append(errs, &config.FieldError{Key: "destination", Value: row.Destination,
					Want: "the name of a destination"})
			}
			readable := func(kind string) bool { return kind == place.KindDir || kind == place.KindS3 }
			if from := s.SourceDestination(); from != "" && !named(from, readable) {
				errs = append(errs, &config.FieldError{Key: "source.files.destination", Value: from,
					Want: "the name of a destination of the kind dir or s3"})
			}
			laned := row.Lane == ""
			for _, l := range around.Lanes {
				laned = laned || l.Carries(publish.Media, row.Lane)
			}
			if !laned {
				errs = append(errs, &config.FieldError{Key: "lane", Value: row.Lane, Want: "a lane of " + publish.Media +
					", such as " + publish.Lane + " or " + publish.LargeLane})
			}
			if other := s.Clash(around.Others); other != "" {
				errs = append(errs, &config.FieldError{Key: "path", Value: row.Path,
					Want: fmt.Sprintf("other names than those of the subscription %s at the same destination", other)})
			}
			return row, refusals(errors.Join(errs...))
		})
	if err != nil {
		return nil, err
	}
	return r.GetSubscription(c)
}

// change applies a request to a row.
func change(row *publishing.Subscription, request *client.SubscriptionRequest) error {
	for into, value := range map[*string]*string{
		&row.Path: request.Path, &row.Destination: request.Destination, &row.Cron: request.Cron,
		&row.Timezone: request.Timezone, &row.Period: request.Period, &row.OnEmpty: request.OnEmpty,
		&row.OnExists: request.OnExists, &row.Verify: request.Verify, &row.Lane: request.Lane,
		&row.Owner: request.Owner, &row.Customer: request.Customer, &row.Webhook: request.Webhook,
		&row.Application: request.Application,
	} {
		set(into, value)
	}
	set(&row.Manifest, request.Manifest)
	set(&row.RowsMax, request.RowsMax)
	set(&row.Enabled, request.Enabled)
	var err error
	if err := changeSource(row, request); err != nil {
		return err
	}
	if request.Scope != nil {
		if row.Scope, err = jsonText(request.Scope); err != nil {
			return err
		}
	}
	if request.Completeness != nil {
		if row.Completeness, err = jsonText(request.Completeness); err != nil {
			return err
		}
	}
	if request.Corrections != nil {
		if row.Corrections, err = jsonText(request.Corrections); err != nil {
			return err
		}
	}
	if request.Format != nil {
		row.Format, err = jsonText(request.Format)
	}
	return err
}

// changeSource applies the query or the files of a request to a row. An empty query next to files is that of a
// subscription as it is shown.
func changeSource(row *publishing.Subscription, request *client.SubscriptionRequest) error {
	source := rowSource{Files: request.Files}
	set(&source.Query, request.Query)
	switch {
	case source.Files != nil && source.Query != "":
		return httpapi.Refused("files", "a query is given too: want a query or files")
	case source.Files != nil || request.Query != nil:
		text, err := json.Marshal(source)
		row.Source = string(text)
		return err
	}
	return nil
}

// DeleteSubscription deletes a subscription. The kind system.files cancels its open files.
func (r *Routes) DeleteSubscription(c *gin.Context) (any, error) {
	row, err := r.row(c)
	if err != nil {
		return nil, err
	}
	err = r.Store.DeleteSubscription(c.Request.Context(), editor(c, "subscription.delete"), row.Name)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, noSubscription(row.Name)
	}
	return describeSubscription(row), err
}

// OrderPublications orders the files of a range of days.
func (r *Routes) OrderPublications(c *gin.Context, request *client.PublicationOrder) (any, error) {
	ctx := c.Request.Context()
	row, err := r.row(c)
	if err != nil {
		return nil, err
	}
	s, err := publish.Check(row)
	if err != nil {
		return nil, httpapi.NewProblem(http.StatusConflict, "The subscription cannot be used: %s.",
			strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	periods, err := s.Periods(request.From, request.To, r.Clock.Now())
	if err != nil {
		return nil, refusals(err)
	}
	made, err := r.Store.FilesOfPeriods(ctx, s.Name, string(periods[0].From), string(periods[len(periods)-1].To))
	if err != nil {
		return nil, err
	}
	progress, err := r.Store.FileProgress(ctx)
	if err != nil {
		return nil, err
	}
	files := s.Order(periods, made, progress[s.Name], r.Clock.Now())
	if !request.DryRun {
		if err := r.audit(c, "publications.order", "subscription/"+s.Name, request); err != nil {
			return nil, err
		}
		if _, err := r.Store.PlanFiles(ctx, files); err != nil {
			return nil, err
		}
	}
	return client.OrderedPublications{Publications: describeAll(files), Ordered: !request.DryRun}, nil
}
