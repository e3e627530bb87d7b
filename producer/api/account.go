package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/openapi"
	"adsync/base/schedule"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
	"adsync/media"
)

func describeAccount(account settings.Account) client.Account {
	return client.Account{
		ID: formatID(account.ID), Media: account.Media, ExternalID: account.ExternalID, Name: account.Name,
		Tier: client.Tier(account.Tier), Timezone: account.Timezone, Currency: account.Currency, Bound: account.Bound,
		Parked: account.Parked,
	}
}

// zoneOf returns the time zone of an account's days, or UTC if the account's zone is not usable: its data can still be
// read.
func zoneOf(account settings.Account) *time.Location {
	zone, err := schedule.Zone(account.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// anyMedia in a path means that the account's id alone identifies the account.
const anyMedia = "-"

// accountNames finds accounts by the names that callers write, and by our ids.
type accountNames interface {
	NamedAccounts(ctx context.Context, media string, names []string) (map[string]settings.Account, error)
	AccountsByID(ctx context.Context, ids []int64) (map[int64]settings.Account, error)
}

// accountFinder finds the accounts that requests name.
type accountFinder struct {
	accountNames
	platforms platformList
}

// example returns an account in the form in which callers may write it.
func (f accountFinder) example() string {
	if len(f.platforms) == 0 {
		return "MEDIA/ACCOUNT"
	}
	return f.platforms[0].Name() + "/20000001"
}

// named finds the account with this name; media may be empty.
func (f accountFinder) named(ctx context.Context, media, name string) (account settings.Account, known bool,
	err error) {
	found, err := f.NamedAccounts(ctx, media, []string{name})
	account, known = found[name]
	return account, known, err
}

// inPath finds the account that the path names, and its platform.
func (f accountFinder) inPath(c *gin.Context) (media.Platform, settings.Account, error) {
	name, externalID := c.Param("media"), c.Param("external_id")
	for _, p := range f.platforms {
		if p.Name() != name && name != anyMedia {
			continue
		}
		account, ok, err := f.named(c.Request.Context(), strings.TrimPrefix(name, anyMedia), externalID)
		switch {
		case err != nil:
			return nil, settings.Account{}, err
		case ok && account.Media != p.Name():
			continue
		case ok:
			return p, account, nil
		case name == anyMedia:
			return nil, settings.Account{}, httpapi.NewProblem(http.StatusNotFound,
				"%q is not a known account, or several platforms have it: want MEDIA/ACCOUNT, such as %s.", externalID, f.example())
		}
		return nil, settings.Account{}, httpapi.NewProblem(http.StatusNotFound,
			"%s has no account %q that is known here: the task %s.account_list adds accounts.", name, externalID, name)
	}
	return nil, settings.Account{}, httpapi.NewProblem(http.StatusNotFound, "There is no media %q: want %s.", name,
		f.platforms.names())
}

// ofAccount handles requests about the account that their path names. P has their parameters.
func ofAccount[P any](
	f accountFinder, answer func(c *gin.Context, params *P, platform media.Platform, account settings.Account) (any,
		error),
) handler {
	return func(op *openapi.Operation) httpapi.HandlerFunc {
		mustHaveQuery[P](op)
		return func(c *gin.Context) error {
			platform, account, err := f.inPath(c)
			if err != nil {
				return err
			}
			params := new(P)
			if err := httpapi.ReadQuery(c, op.Query, params); err != nil {
				return err
			}
			return write(c)(answer(c, params, platform, account))
		}
	}
}

// subtask returns the key of a subtask, or refuses the parts that are not usable. The refusal names what the caller
// meant by the words in of, such as "a dead subtask".
func (f accountFinder) subtask(ctx context.Context, run, account, part, of string) (key task.Key, err error) {
	var errs httpapi.Refusals
	key.Part = part
	if key.RunID, err = httpapi.ParseID(run); err != nil {
		errs.Refuse("run", "%q is refused: want the run_id of %s", run, of)
	}
	if key.AccountID, err = f.ofSubtask(ctx, &errs, account); err != nil {
		return key, err
	}
	return key, errs.Err()
}

// ofSubtask finds the account of a subtask, or refuses account_id. Lists of subtasks print our ids, so a number is
// first read as our id, then as the platform's. "0" is work without an account.
func (f accountFinder) ofSubtask(ctx context.Context, errs *httpapi.Refusals, name string) (int64, error) {
	id, notOurs := strconv.ParseInt(name, 10, 64)
	if notOurs == nil {
		known, err := f.AccountsByID(ctx, []int64{id})
		if _, ok := known[id]; ok || id == 0 || err != nil {
			return id, err
		}
	}
	account, ok, err := f.named(ctx, "", name)
	switch {
	case ok:
		return account.ID, err
	case notOurs != nil && err == nil:
		errs.Refuse("account_id", "%q is refused: want the account_id of a subtask, or its account, such as %s", name,
			f.example())
	}
	return id, err
}

// externalIDs returns the platforms' ids of accounts, by our ids.
func (f accountFinder) externalIDs(ctx context.Context, ids []int64) (map[int64]string, error) {
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id int64) bool { return id == 0 })
	accounts, err := f.AccountsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[int64]string, len(accounts))
	for id, account := range accounts {
		found[id] = account.ExternalID
	}
	return found, nil
}
