package configure

import (
	"context"
	"errors"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/config"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/producer/binding"
)

// Bindings serves the bindings of an account: the game that its days belong to, and whether the account is pulled.
type Bindings struct {
	Store binding.Store
	// Account finds the account that the path names.
	Account func(c *gin.Context) (settings.Account, error)
	// Now reads the database's time.
	Now func(ctx context.Context) (time.Time, error)
}

// List answers with the account's bindings, and the sums of each binding's days.
func (b *Bindings) List(c *gin.Context) (any, error) {
	account, err := b.Account(c)
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	have, err := b.Store.AccountBindings(ctx, account.ID)
	if err != nil {
		return nil, err
	}
	shown, err := binding.WithSums(ctx, b.Store, account.ID, have)
	return client.AccountBindings{Media: account.Media, ExternalID: account.ExternalID, Bindings: shown}, err
}

// Bind carries out a bind order, or only plans it.
func (b *Bindings) Bind(c *gin.Context, request *client.BindRequest) (any, error) {
	change, err := b.change(c, request.DryRun)
	if err != nil {
		return nil, err
	}
	order := binding.Order(*request)
	if err := httpapi.RefusedFields(order.Check(change.Now)...); err != nil {
		return nil, err
	}
	answer, err := change.Bind(c.Request.Context(), order)
	if wrong, is := errors.AsType[*config.FieldError](err); is {
		return nil, httpapi.RefusedFields(wrong)
	}
	return answer, err
}

// Unbind ends the pulling of the account, or only plans that.
func (b *Bindings) Unbind(c *gin.Context, params *client.UnbindAccountParams) (any, error) {
	change, err := b.change(c, params.DryRun == "true")
	if err != nil {
		return nil, err
	}
	if params.From != "" {
		if _, err := day.GivenAhead(params.From, change.Now); err != nil {
			return nil, httpapi.Refused("from", "%q is refused: %s", params.From, err)
		}
	}
	return change.Unbind(c.Request.Context(), day.Day(params.From))
}

// change returns a change of the account that the path names.
func (b *Bindings) change(c *gin.Context, dryRun bool) (binding.Change, error) {
	account, err := b.Account(c)
	if err != nil {
		return binding.Change{}, err
	}
	now, err := b.Now(c.Request.Context())
	return binding.Change{Store: b.Store, Actor: httpapi.CallerOf(c).Name, Account: account, Now: now, DryRun: dryRun}, err
}
