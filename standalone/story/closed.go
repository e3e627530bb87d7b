package story

import (
	"context"
	"time"

	"adsync/base/store/settings"
)

// accountFrozen is the event that a platform closes an account for some time.
func accountFrozen(media string) Event {
	return Event{Name: "account frozen", what: "parked with the platform's message, and not pulled",
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			return p.closeAccount(ctx, media, "frozen")
		}}
}

// accountRevoked is the event that a login loses its permission for an account permanently.
func accountRevoked(media string) Event {
	return Event{Name: "permission revoked", what: "parked with the platform's message: its figures stay",
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			return p.closeAccount(ctx, media, "revoked")
		}}
}

// accountOpened ends the event of accountFrozen.
func accountOpened(media string) Event {
	return Event{Name: "account opened again", what: "found by the probe, and its missed days are pulled", lasting: true,
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			externalID, id, err := p.otherAccount(ctx, media)
			if err != nil || id == 0 {
				return nil, err
			}
			// The complete pulls of the day that ended while the account was frozen.
			const query = "SELECT COALESCE(MAX(complete_version), 0) FROM coverage" +
				" WHERE account_id = ? AND report = 'report_daily' AND level = 'account' AND day = ?"
			pulled := counted(p.store.Data, query, id, p.yesterday())
			before, err := pulled(ctx)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (int64, error) {
				account, err := p.store.Account(ctx, id)
				if err != nil || account.Parked != "" {
					return 0, err
				}
				if now, err := pulled(ctx); err != nil || now == before {
					return 0, err
				}
				return 1, nil
			}, p.orderLife(ctx, media, externalID, "open")
		}}
}

// closeAccount sets a state of the simulator in which the account cannot be read. The event is met when the account was
// parked.
func (p *Story) closeAccount(ctx context.Context, media, state string) (metFunc, error) {
	externalID, id, err := p.otherAccount(ctx, media)
	if err != nil || id == 0 {
		return nil, err
	}
	// parked_since stays when the account is opened again.
	const query = "SELECT COUNT(*) FROM media_account WHERE id = ? AND parked_since IS NOT NULL"
	return counted(p.store.Config, query, id), p.orderLife(ctx, media, externalID, state)
}

func (p *Story) orderLife(ctx context.Context, media, externalID, state string) error {
	return p.sim.Post(ctx, "accounts", map[string]string{"media": media, "account": externalID, "state": state})
}

// otherAccount returns the platform's id and our id of the account, other than the first, that had the most
// impressions at the first call. Our id is 0 if there is no other account.
func (p *Story) otherAccount(ctx context.Context, media string) (externalID string, id int64, err error) {
	if known, ok := p.others[media]; ok {
		return known.ExternalID, known.ID, nil
	}
	ids := p.stack.Accounts[media][1:]
	accounts, err := p.store.FindAccounts(ctx, media, ids)
	if err != nil {
		return "", 0, err
	}
	var sums []struct{ AccountID, Impressions int64 }
	const query = "SELECT account_id, COALESCE(SUM(impressions), 0) AS impressions FROM report_daily WHERE level = " +
		"'account' AND day = ? GROUP BY account_id"
	if err := p.store.Data.Writer(ctx).Raw(query, p.yesterday()).Scan(&sums).Error; err != nil {
		return "", 0, err
	}
	impressions := map[int64]int64{}
	for _, s := range sums {
		impressions[s.AccountID] = s.Impressions
	}
	best, most := settings.Account{}, int64(-1)
	for _, externalID := range ids {
		if a := accounts[externalID]; impressions[a.ID] > most {
			best, most = a, impressions[a.ID]
		}
	}
	p.others[media] = best
	return best.ExternalID, best.ID, nil
}
