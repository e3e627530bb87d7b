package reports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
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

// testTimeout bounds a test of a destination. It is shorter than api.request_timeout is by default, so that the answer
// names the step that took too long.
const testTimeout = 20 * time.Second

// ListDestinations answers with all destinations.
func (r *Routes) ListDestinations(c *gin.Context) (any, error) {
	rows, err := r.Store.Destinations(c.Request.Context())
	if err != nil {
		return nil, err
	}
	users, err := r.users(c.Request.Context())
	if err != nil {
		return nil, err
	}
	all := make([]client.Destination, len(rows))
	for i, d := range rows {
		all[i] = describeDestination(d, users[d.Name])
	}
	return client.DestinationList{Destinations: all}, nil
}

// users returns the names of the subscriptions that deliver to each destination, or read from it.
func (r *Routes) users(ctx context.Context) (map[string][]string, error) {
	rows, err := r.Store.AllSubscriptions(ctx)
	return usersIn(rows), err
}

// usersIn returns which subscriptions deliver to each destination, or read from it.
func usersIn(rows []publishing.Subscription) map[string][]string {
	all := map[string][]string{}
	for _, s := range rows {
		all[s.Destination] = append(all[s.Destination], s.Name)
		if of := sourceOf(s).Files; of != nil && of.Destination != s.Destination {
			all[of.Destination] = append(all[of.Destination], s.Name)
		}
	}
	return all
}

func describeDestination(d publishing.Destination, users []string) client.Destination {
	options := map[string]any{}
	_ = json.Unmarshal([]byte(d.Options), &options) // What cannot be read is shown as nothing.
	if users == nil {
		users = []string{}
	}
	return client.Destination{
		Name: d.Name, Kind: client.DestinationKind(d.Kind), Address: d.Address, Prefix: d.Prefix, Login: d.Login,
		HasCredentials: d.Credentials != "", HostKey: d.HostKey, Ca: d.CA, Options: options, Enabled: d.Enabled,
		Subscriptions: users,
	}
}

// GetDestination answers with one destination.
func (r *Routes) GetDestination(c *gin.Context) (any, error) {
	d, err := r.destination(c.Request.Context(), c.Param("name"))
	if err != nil {
		return nil, err
	}
	users, err := r.users(c.Request.Context())
	return describeDestination(d, users[d.Name]), err
}

// destination returns a row. Its error is the problem of a name that no row has.
func (r *Routes) destination(ctx context.Context, name string) (d publishing.Destination, err error) {
	if !utf8.ValidString(name) { // A database refuses such a text.
		return d, noDestination(name)
	}
	d, err = r.Store.Destination(ctx, name)
	if errors.Is(err, sqldb.ErrNotFound) {
		return d, noDestination(name)
	}
	return d, err
}

func noDestination(name string) error {
	return httpapi.NewProblem(http.StatusNotFound, "There is no destination %q: want one in the list of destinations.",
		name)
}

// PutDestination makes a destination, or changes one.
func (r *Routes) PutDestination(c *gin.Context, request *client.DestinationRequest) (any, error) {
	name, err := newName(c)
	if err != nil {
		return nil, err
	}
	err = r.Store.PutDestination(c.Request.Context(), editor(c, "destination.put"), name,
		func(d publishing.Destination, _ bool) (publishing.Destination, error) {
			if request.Kind != "" {
				d.Kind = string(request.Kind)
			}
			set(&d.Address, request.Address)
			set(&d.Prefix, request.Prefix)
			set(&d.Login, request.Login)
			set(&d.HostKey, request.HostKey)
			set(&d.CA, request.Ca)
			set(&d.Enabled, request.Enabled)
			if request.Options != nil {
				text, err := jsonText(request.Options)
				if err != nil {
					return d, err
				}
				d.Options = text
			}
			if err := r.seal(&d, request); err != nil {
				return d, err
			}
			settings, err := publish.PlaceConfig(r.Box, d)
			if _, wrong := errors.AsType[*config.FieldError](err); err != nil && !wrong {
				return d, unopened(err)
			}
			if err == nil {
				err = settings.Validate()
			}
			return d, refusals(err)
		})
	if err != nil {
		return nil, err
	}
	return r.GetDestination(c)
}

// seal replaces the credentials that a request has; those that it leaves out stay.
func (r *Routes) seal(d *publishing.Destination, request *client.DestinationRequest) error {
	if request.Password == nil && request.Key == nil {
		return nil
	}
	secrets, err := publish.OpenCredentials(r.Box, *d)
	// New credentials replace those that no key opens.
	if err != nil && (request.Password == nil || d.Kind == place.KindSFTP && request.Key == nil) {
		return unopened(err)
	}
	set(&secrets.Password, request.Password)
	set(&secrets.Key, request.Key)
	d.Credentials, err = publish.Seal(r.Box, d.Name, secrets)
	return err
}

// unopened returns the problem of credentials that are stored and cannot be opened.
func unopened(err error) error {
	return httpapi.NewProblem(http.StatusConflict,
		"Its credentials cannot be read (%v). Add the key that sealed them, or set the password, and the key of sftp.", err)
}

// DeleteDestination deletes a destination that no subscription uses.
func (r *Routes) DeleteDestination(c *gin.Context) (any, error) {
	d, err := r.destination(c.Request.Context(), c.Param("name"))
	if err != nil {
		return nil, err
	}
	err = r.Store.DeleteDestination(c.Request.Context(), editor(c, "destination.delete"), d.Name,
		func(all []publishing.Subscription) error {
			if users := usersIn(all)[d.Name]; len(users) > 0 {
				return httpapi.NewProblem(http.StatusConflict,
					"Subscriptions use it: %s. Give them another destination first, or delete them.",
					strings.Join(users, ", "))
			}
			return nil
		})
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, noDestination(d.Name)
	}
	return describeDestination(d, nil), err
}

// TestDestination answers whether a file can be written, read and deleted at a destination.
func (r *Routes) TestDestination(c *gin.Context) (any, error) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), testTimeout)
	defer cancel()
	d, err := r.destination(ctx, c.Param("name"))
	if err != nil {
		return nil, err
	}
	if err := r.audit(c, "destination.test", "destination/"+d.Name, nil); err != nil {
		return nil, err
	}
	if err := r.probe(ctx, d); err != nil {
		return client.DestinationTest{Detail: err.Error()}, nil
	}
	return client.DestinationTest{Ok: true, Detail: "A file was written, read back and deleted."}, nil
}

func (r *Routes) probe(ctx context.Context, d publishing.Destination) error {
	settings, err := publish.PlaceConfig(r.Box, d)
	if err != nil {
		return err
	}
	at, err := place.Open(ctx, settings)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = at.Close() }()
	return at.Probe(ctx)
}
