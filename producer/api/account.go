package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/schedule"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/media"
)

type accountJSON struct {
	ID         string `json:"id"`
	Media      string `json:"media"`
	ExternalID string `json:"external_id"`
	Name       string `json:"name"`
	Tier       string `json:"tier"`
	Timezone   string `json:"timezone"`
	Currency   string `json:"currency"`
	// Bound tells whether it is pulled at all.
	Bound  bool   `json:"bound"`
	Parked string `json:"parked,omitempty"`
}

func describeAccount(account store.Account) accountJSON {
	return accountJSON{
		ID: formatID(account.ID), Media: account.Media, ExternalID: account.ExternalID, Name: account.Name,
		Tier: account.Tier, Timezone: account.Timezone, Currency: account.Currency, Bound: account.Bound, Parked: account.Parked,
	}
}

// zoneOf is the zone of an account's days. Where it cannot be told what is known of them still can.
func zoneOf(account store.Account) *time.Location {
	zone, err := schedule.Zone(account.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// anyMedia stands in a path for the platform of an account whose id alone says which it is.
const anyMedia = "-"

// account finds the account that the path names, and its platform.
func (a *api) account(c *gin.Context) (media.Platform, store.Account, error) {
	name, externalID := c.Param("media"), c.Param("external_id")
	var names []string
	for _, p := range a.Platforms {
		names = append(names, p.Name())
		if p.Name() != name && name != anyMedia {
			continue
		}
		found, err := a.Store.NamedAccounts(c.Request.Context(), strings.TrimPrefix(name, anyMedia), []string{externalID})
		if err != nil {
			return nil, store.Account{}, err
		}
		account, ok := found[externalID]
		if ok && account.Media != p.Name() {
			continue
		}
		if !ok && name == anyMedia {
			return nil, store.Account{}, httpapi.NewProblem(http.StatusNotFound,
				"%q is no account that is known here, or one of several platforms: want MEDIA/ACCOUNT, such as tencent/20000001.", externalID)
		}
		if !ok {
			return nil, store.Account{}, httpapi.NewProblem(http.StatusNotFound,
				"%s has no account %q that is known here: accounts come in with the task %s.account_list.", name, externalID, name)
		}
		return p, account, nil
	}
	return nil, store.Account{}, httpapi.NewProblem(http.StatusNotFound, "There is no media %q: want %s.", name, strings.Join(names, " or "))
}

// subtaskAccount finds the account of a subtask, or refuses account_id. Lists of subtasks print our ids, so these go before the platform's;
// "0" is work of no account.
func (a *api) subtaskAccount(ctx context.Context, q *query, name string, key *task.Key) error {
	id, err := strconv.ParseInt(name, 10, 64)
	ours := err == nil
	if ours {
		key.AccountID = id
		known, err := a.Store.AccountsByID(ctx, []int64{id})
		if _, ok := known[id]; ok || id == 0 || err != nil {
			return err
		}
	}
	found, err := a.Store.NamedAccounts(ctx, "", []string{name})
	if err != nil {
		return err
	}
	switch account, ok := found[name]; {
	case ok:
		key.AccountID = account.ID
	case !ours:
		q.refuse("account_id", "%q is refused: want the account_id of a subtask, or its account, such as tencent/20000001", name)
	}
	return nil
}
