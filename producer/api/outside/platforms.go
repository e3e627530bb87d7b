package outside

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/schedule"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/media"
	"adsync/media/external"
)

// PlatformStore is what Platforms needs of the store.
type PlatformStore interface {
	ExternalMedias(ctx context.Context) ([]settings.ExternalMedia, error)
	PutExternalMedia(ctx context.Context, e settings.Editor, name string,
		change func(m *settings.ExternalMedia, known bool) error) error
	PutExternalAccounts(ctx context.Context, e settings.Editor, media string, accounts []settings.Account) error
	FindAccounts(ctx context.Context, media string, externalIDs []string) (map[string]settings.Account, error)
}

// Platforms shows and changes the platforms without Go code, and their accounts.
type Platforms struct {
	Store PlatformStore
	// InForce are all platforms of this process.
	InForce []media.Platform
}

// mediaName is what the name of a platform looks like in topics and tables.
var mediaName = regexp.MustCompile(`^[a-z]{1,32}$`)

// ours are names that adsync uses itself.
var ours = []string{"system", "external"}

// List answers with all platforms without Go code.
func (h *Platforms) List(c *gin.Context) (any, error) {
	rows, err := h.Store.ExternalMedias(c.Request.Context())
	if err != nil {
		return nil, err
	}
	answer := client.ExternalPlatformList{Platforms: []client.ExternalPlatform{}}
	for i := range rows {
		shown, err := h.describe(&rows[i])
		if err != nil {
			return nil, err
		}
		answer.Platforms = append(answer.Platforms, shown)
	}
	return answer, nil
}

// Get answers with one platform.
func (h *Platforms) Get(c *gin.Context) (any, error) {
	row, err := h.inPath(c)
	if err != nil {
		return nil, err
	}
	return h.describe(&row)
}

// inPath returns the row that the path names.
func (h *Platforms) inPath(c *gin.Context) (settings.ExternalMedia, error) {
	rows, err := h.Store.ExternalMedias(c.Request.Context())
	if err != nil {
		return settings.ExternalMedia{}, err
	}
	for _, row := range rows {
		if row.Name == c.Param("media") {
			return row, nil
		}
	}
	return settings.ExternalMedia{}, httpapi.NewProblem(http.StatusNotFound,
		"There is no platform without Go code of the name %q: want one of GET /api/v1/platforms.", c.Param("media"))
}

func (h *Platforms) describe(row *settings.ExternalMedia) (client.ExternalPlatform, error) {
	shown := client.ExternalPlatform{Media: row.Name, Timezone: row.Timezone, Currency: row.Currency,
		Enabled: row.Enabled, Limits: []client.ExternalLimit{},
		InForce: slices.ContainsFunc(h.InForce, func(p media.Platform) bool { return p.Name() == row.Name })}
	if err := json.Unmarshal([]byte(row.Limits), &shown.Limits); err != nil {
		return shown, fmt.Errorf("read the limits of %s: %w", row.Name, err)
	}
	return shown, nil
}

// Put makes a platform, or changes one.
func (h *Platforms) Put(c *gin.Context, request *client.ExternalPlatformRequest) (any, error) {
	name := c.Param("media")
	isOurs := slices.ContainsFunc(h.InForce, func(p media.Platform) bool {
		_, external := p.(*external.Platform)
		return p.Name() == name && !external
	})
	if !mediaName.MatchString(name) || isOurs || slices.Contains(ours, name) {
		return nil, httpapi.Refused("media",
			"%q is refused: want up to 32 lower-case letters, and no name of a platform that adsync pulls itself", name)
	}
	edit := settings.Editor{Actor: httpapi.CallerOf(c).Name, Action: "platform.put"}
	err := h.Store.PutExternalMedia(c.Request.Context(), edit, name,
		func(m *settings.ExternalMedia, _ bool) error { return apply(m, request) })
	if err != nil {
		return nil, err
	}
	return h.Get(c)
}

// apply changes a row as a request says, or refuses that.
func apply(m *settings.ExternalMedia, request *client.ExternalPlatformRequest) error {
	m.Timezone, m.Currency = cmp.Or(request.Timezone, m.Timezone), cmp.Or(request.Currency, m.Currency)
	if request.Enabled != nil {
		m.Enabled = *request.Enabled
	}
	if request.Limits != nil {
		text, err := json.Marshal(request.Limits)
		if err != nil {
			return err
		}
		m.Limits = string(text)
	}
	var errs httpapi.Refusals
	if m.Timezone == "" {
		errs.Refuse("timezone", "is missing: want the zone of the accounts' days, such as Asia/Shanghai")
	} else if _, err := schedule.Zone(m.Timezone); err != nil {
		errs.Refuse("timezone", "%q is refused: want a time zone such as Asia/Shanghai", m.Timezone)
	}
	if m.Currency == "" {
		errs.Refuse("currency", "is missing: want one such as CNY")
	}
	rules, err := m.Rules()
	if err != nil {
		return err
	}
	for i, r := range rules {
		for _, f := range r.Faults() {
			errs.Refuse(fmt.Sprintf("limits[%d].%s", i, f.Column), "%s", strings.TrimPrefix(f.Detail, f.Column+" "))
		}
	}
	return errs.Err()
}

// PutAccounts adds accounts of a platform, or changes them.
func (h *Platforms) PutAccounts(c *gin.Context, request *client.ExternalAccountsRequest) (any, error) {
	ctx := c.Request.Context()
	row, err := h.inPath(c)
	if err != nil {
		return nil, err
	}
	var errs httpapi.Refusals
	accounts, ids := make([]settings.Account, len(request.Accounts)), make([]string, len(request.Accounts))
	for i, a := range request.Accounts {
		accounts[i] = settings.Account{Media: row.Name, ExternalID: a.ExternalID, Name: a.Name,
			Timezone: cmp.Or(a.Timezone, row.Timezone), Currency: cmp.Or(a.Currency, row.Currency)}
		if _, err := schedule.Zone(accounts[i].Timezone); err != nil {
			errs.Refuse(fmt.Sprintf("accounts[%d].timezone", i), "%q is refused: want a time zone such as Asia/Shanghai",
				a.Timezone)
		}
		if slices.Contains(ids, a.ExternalID) {
			errs.Refuse(fmt.Sprintf("accounts[%d].external_id", i), "%q is given twice", a.ExternalID)
		}
		ids[i] = a.ExternalID
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	edit := settings.Editor{Actor: httpapi.CallerOf(c).Name, Action: "platform.accounts"}
	if err := h.Store.PutExternalAccounts(ctx, edit, row.Name, accounts); err != nil {
		return nil, err
	}
	found, err := h.Store.FindAccounts(ctx, row.Name, ids)
	if err != nil {
		return nil, err
	}
	answer := client.ExternalAccounts{Accounts: []client.Account{}}
	for _, id := range ids {
		a := found[id]
		answer.Accounts = append(answer.Accounts, client.Account{ID: fmt.Sprint(a.ID), Media: a.Media,
			ExternalID: a.ExternalID, Name: a.Name, Tier: client.Tier(a.Tier), Timezone: a.Timezone, Currency: a.Currency,
			Bound: a.Bound, Parked: a.Parked})
	}
	return answer, nil
}
