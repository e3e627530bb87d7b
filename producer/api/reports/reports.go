// Package reports serves report files: destinations, subscriptions and publications.
package reports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/httpapi"
	"adsync/base/secret"
	"adsync/base/store/publishing"
	"adsync/base/store/settings"
)

// Store is what the routes need of the store.
type Store interface {
	Destinations(ctx context.Context) ([]publishing.Destination, error)
	Destination(ctx context.Context, name string) (publishing.Destination, error)
	PutDestination(ctx context.Context, e settings.Editor, name string,
		change func(before publishing.Destination, known bool) (publishing.Destination, error)) error
	DeleteDestination(ctx context.Context, e settings.Editor, name string,
		check func([]publishing.Subscription) error) error
	AllSubscriptions(ctx context.Context) ([]publishing.Subscription, error)
	Subscription(ctx context.Context, name string) (publishing.Subscription, error)
	PutSubscription(ctx context.Context, e settings.Editor, name string, now time.Time,
		change func(before publishing.Subscription, known bool, around publishing.Around) (publishing.Subscription,
			error)) error
	DeleteSubscription(ctx context.Context, e settings.Editor, name string) error
	SearchFiles(ctx context.Context, f publishing.Search) ([]publishing.Publication, error)
	File(ctx context.Context, id int64) (publishing.Publication, error)
	EndFile(ctx context.Context, id int64, state publishing.State, reason string, now time.Time) (bool, error)
	ReopenFile(ctx context.Context, id int64, now time.Time) (bool, error)
	PlanFiles(ctx context.Context, files []publishing.Publication) (added int, err error)
	FileProgress(ctx context.Context) (map[string]publishing.Progress, error)
	FilesOfPeriods(ctx context.Context, subscription, from, to string) ([]publishing.Publication, error)
	AddAudit(ctx context.Context, a settings.Audit) (int64, error)
}

// Routes serve the operations.
type Routes struct {
	Store Store
	Box   *secret.Box
	Clock clock.Clock
}

func editor(c *gin.Context, action string) settings.Editor {
	return settings.Editor{Actor: httpapi.CallerOf(c).Name, Action: action}
}

// audit records an action that the store does not record, before it is carried out. request may be nil.
func (r *Routes) audit(c *gin.Context, action, object string, request any) error {
	entry := settings.Audit{Actor: httpapi.CallerOf(c).Name, Action: action, Object: object}
	if request != nil {
		text, err := json.Marshal(request)
		if err != nil {
			return err
		}
		entry.After = string(text)
	}
	_, err := r.Store.AddAudit(c.Request.Context(), entry)
	return err
}

// reportName matches the names of destinations and subscriptions.
var reportName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,47}$`)

// newName returns the name in the path of a request that may make a row. Its error is the problem of a name that no row
// can have.
func newName(c *gin.Context) (string, error) {
	name := c.Param("name")
	switch {
	case !utf8.ValidString(name):
		return "", httpapi.NewProblem(http.StatusBadRequest, "The name %q is not text: want UTF-8.", name)
	case !reportName.MatchString(name):
		return "", httpapi.Refused("name",
			"%q is refused: want up to 48 lower-case letters, digits, dashes and underscores, a letter first", name)
	}
	return name, nil
}

// fieldNames are the names of a request's fields where the keys of errors differ.
var fieldNames = map[string]string{"user": "login"}

// refusals turns joined field errors into a refusal of the request. Other errors stay as they are.
func refusals(err error) error {
	if err == nil {
		return nil
	}
	var all httpapi.Refusals
	for _, e := range config.Flatten(err) {
		f, ok := errors.AsType[*config.FieldError](e)
		if !ok {
			return err
		}
		key := strings.TrimPrefix(f.Key, "source.") // A request has the fields of the source next to the others.
		all.Refuse(cmp.Or(fieldNames[key], key), "%s", strings.TrimPrefix(f.Error(), f.Key+": "))
	}
	return all.Err()
}

// set changes a value to another one, unless that is nil.
func set[T any](into, value *T) {
	if value != nil {
		*into = *value
	}
}

// jsonText returns a value as JSON; "" for an empty object.
func jsonText(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil || string(text) == "{}" || string(text) == "null" {
		return "", err
	}
	return string(text), nil
}
