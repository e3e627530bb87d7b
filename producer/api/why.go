package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"adsync/base/store/settings"
	"adsync/client"
	"adsync/media"
	"adsync/producer/overview"
)

// whyRoutes explain why accounts are late.
type whyRoutes struct {
	why func(ctx context.Context, account settings.Account) (overview.Why, error)
}

// explainAccount shows in one line whether an account is late, and why.
func (a *whyRoutes) explainAccount(
	c *gin.Context, _ *none, _ media.Platform, account settings.Account,
) (any, error) {
	why, err := a.why(c.Request.Context(), account)
	if err != nil {
		return nil, err
	}
	return client.AccountWhy{
		Account: describeAccount(account), Late: why.Late, Kind: string(why.Kind), Why: why.Line,
		PulledAt: why.PulledAt, LateAfterSeconds: why.LateAfter.Seconds(), Task: why.Task, RunID: idOrNone(why.RunID),
		Until: why.Until, Command: why.Command,
	}, nil
}
