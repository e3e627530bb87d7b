package engine

import (
	"context"
	"fmt"

	"adsync/base/lookup"
	"adsync/base/schedule"
	"adsync/media"
)

// accounts finds accounts by our id, for handlers.
type accounts struct{ lookup *lookup.Accounts }

// Account implements pull.Accounts. Pulls of an account that its platform has closed to us wait, without a call,
// until the account is accessible again.
func (a accounts) Account(ctx context.Context, id int64) (media.Account, error) {
	row, err := a.lookup.Account(ctx, id)
	if err != nil {
		return media.Account{}, err
	}
	if row.Closed != "" {
		return media.Account{}, media.WaitForParked(id, row.Closed)
	}
	zone, err := schedule.Zone(row.Timezone)
	if err != nil {
		return media.Account{}, &media.Error{Class: media.Invalid,
			Message: fmt.Sprintf("account %d has the time zone %q, which is unknown", id, row.Timezone)}
	}
	return media.Account{ID: row.ID, Media: row.Media, ExternalID: row.ExternalID, Name: row.Name, TokenID: row.TokenID,
		Zone: zone, Currency: row.Currency}, nil
}
