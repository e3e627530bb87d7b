package standalone

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/media/token"
	"adsync/simulator/control"
	"adsync/simulator/limit"
	"adsync/standalone/verify"
)

// Binding is the result of Bind.
type Binding struct {
	// BaseURLs holds the addresses of the simulated platforms by media name, as for the setting media.base_url.
	BaseURLs map[string]string
	// AuthoriseURLs holds the addresses where their logins are authorised, as for the setting media.authorise_url.
	AuthoriseURLs map[string]string
	// Accounts is how many accounts were bound; 0 if the config database already had all platforms' bindings. Then it was
	// not changed.
	Accounts int
}

// Bind binds a deployment to the world of the simulator at address, such as http://127.0.0.1:9090. It writes the
// simulated apps, logins, accounts, limits and bindings of each platform that has no bindings in the config database,
// as a person would copy them from the platforms' developer consoles. The box must be the deployment's.
func Bind(ctx context.Context, s *store.Store, box *secret.Box, address string) (Binding, error) {
	address = strings.TrimSuffix(address, "/")
	creds, err := askCredentials(ctx, address)
	if err != nil {
		return Binding{}, err
	}
	b := Binding{BaseURLs: creds.baseURLs(address), AuthoriseURLs: creds.authoriseURLs(address)}
	b.Accounts, _, err = bind(ctx, s, box, address, creds)
	return b, err
}

// credentials holds the simulator's credentials for a client of each platform.
type credentials map[string]control.Credentials

func askCredentials(ctx context.Context, address string) (credentials, error) {
	var creds credentials
	return creds, control.Client{Address: address}.Get(ctx, "credentials", &creds)
}

// baseURLs returns the addresses of the platforms that the simulator at address serves.
func (c credentials) baseURLs(address string) map[string]string {
	urls := map[string]string{}
	for name, platform := range c {
		urls[name] = address + platform.BasePath
	}
	return urls
}

// authoriseURLs returns the addresses of their pages where logins are authorised.
func (c credentials) authoriseURLs(address string) map[string]string {
	urls := map[string]string{}
	for name, platform := range c {
		urls[name] = address + platform.AuthorisePath
	}
	return urls
}

// games are the games that the simulated accounts advertise. Some accounts stay unassigned, as in reality.
var games = []struct{ code, name string }{{"starfall", "Starfall 星坠"}, {"tinyfarm", "Tiny Farm 迷你农场"},
	{"nightraid", "Night Raid 夜袭"}}

var systems = []string{"ios", "android"}

// unassignedEvery is n if one account in n has no binding.
const unassignedEvery = 10

// bind binds the accounts of platforms that have no bindings. Existing rows stay, because refreshed tokens are newer
// than the simulator's first ones. It returns how many accounts it bound, and whether the config database had no
// bindings.
func bind(ctx context.Context, s *store.Store, box *secret.Box, address string, creds credentials) (bound int,
	isNew bool, err error) {
	var have []struct {
		Media string
		Bound bool
	}
	const query = "SELECT a.media, MAX(b.account_id) IS NOT NULL AS bound FROM media_account a" +
		" LEFT JOIN account_binding b ON b.account_id = a.id GROUP BY a.media"
	if err := s.Config.Writer(ctx).Raw(query).Scan(&have).Error; err != nil {
		return 0, false, fmt.Errorf("read account_binding: %w", err)
	}
	missing := maps.Clone(creds)
	for _, h := range have {
		if h.Bound || unassigned(h.Media, creds[h.Media]) {
			delete(missing, h.Media)
		}
	}
	isNew = len(missing) == len(creds)
	if len(missing) == 0 {
		return 0, isNew, nil
	}
	var rows [][]any
	for _, g := range games {
		rows = append(rows, []any{g.code, g.name})
	}
	if err := s.Config.Upsert(s.Config.Writer(ctx),
		sqldb.Table{Name: "game", Key: []string{"code"}, Columns: []string{"name"}}, rows); err != nil {
		return 0, false, err
	}
	if err := bindLimits(ctx, s, address, missing); err != nil {
		return 0, false, err
	}
	for name, c := range missing {
		n, err := bindPlatform(ctx, s, box, address, name, c)
		if err != nil {
			return bound, isNew, err
		}
		bound += n
	}
	return bound, isNew, nil
}

// unassigned reports whether all accounts of a platform stay without a binding.
func unassigned(name string, c control.Credentials) bool {
	for _, app := range c.Apps {
		for _, l := range app.Logins {
			for _, id := range l.AccountIDs {
				if _, _, bound := gameOf(name, id); bound {
					return false
				}
			}
		}
	}
	return true
}

func bindPlatform(ctx context.Context, s *store.Store, box *secret.Box, address, name string, c control.Credentials) (
	accounts int, err error) {
	// Most platforms do not tell an account's zone and currency; a person knows them.
	homes, err := verify.Homes(ctx, http.DefaultClient, address, name)
	if err != nil {
		return 0, err
	}
	var bindings [][]any
	for _, app := range c.Apps {
		if err := token.PutApp(ctx, s, box, name, app.AppID, secret.NewText(app.Secret)); err != nil {
			return 0, err
		}
		for _, l := range app.Logins {
			id, err := putLogin(ctx, s, box, name, app.AppID, l)
			if err != nil {
				return 0, err
			}
			bound, err := bindAccounts(ctx, s, name, id, l.AccountIDs, homes)
			if err != nil {
				return 0, err
			}
			bindings, accounts = append(bindings, bound...), accounts+len(l.AccountIDs)
		}
	}
	// These rows are written last, because they mark the rest as complete.
	return accounts, s.Config.Upsert(s.Config.Writer(ctx), sqldb.Table{
		Name: "account_binding", Key: []string{"account_id", "from_day"}, Columns: []string{"to_day", "game", "os"},
	}, bindings)
}

// putLogin stores the simulator's tokens of a login, which is authorised with them.
func putLogin(ctx context.Context, s *store.Store, box *secret.Box, media, app string, l control.LoginCredentials) (
	id int64, err error) {
	return token.PutLogin(ctx, s, box, settings.Token{
		// This is the name that an authorisation uses, so that a later one is of the same login.
		Media: media, AppID: app, Login: l.UserID, Name: l.UserName, AccessExpires: l.AccessExpiresAt,
		RefreshExpires: l.RefreshExpiresAt,
	}, secret.NewText(l.AccessToken), secret.NewText(l.RefreshToken))
}

// gameOf returns the game that an account advertises, and whether the account is bound to it.
func gameOf(platform, externalID string) (game, system string, bound bool) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(platform + externalID))
	n := int(h.Sum32() >> 1)
	return games[n%len(games)].code, systems[n/7%len(systems)], n%unassignedEvery != 0
}

// bindLimits writes the simulator's limits of platforms into rate_limit.
func bindLimits(ctx context.Context, s *store.Store, address string, platforms credentials) error {
	var limits struct {
		Rules  []limit.Rule `json:"rules"`
		Shared []string     `json:"shared"`
	}
	if err := (control.Client{Address: address}).Get(ctx, "limits", &limits); err != nil {
		return err
	}
	for _, r := range limits.Rules {
		if _, ok := platforms[r.Media]; !ok || r.Limit == 0 {
			continue
		}
		if err := s.AddRateLimit(ctx, LimitOf(r, slices.Contains(limits.Shared, r.Media))); err != nil {
			return err
		}
	}
	return nil
}

// LimitOf returns a limit of the simulator as adsync's rule. shared means that all endpoints of the platform that have
// no limit of their own count together.
func LimitOf(r limit.Rule, shared bool) grant.Rule {
	rule := grant.Rule{
		Media: r.Media, Endpoint: r.Endpoint, Each: !shared || r.Endpoint != "*", Scope: grant.Scope(r.Scope),
		Period: time.Duration(r.Seconds) * time.Second, Limit: r.Limit,
	}
	if r.Scope == limit.ScopeRows {
		rule.Scope, rule.Unit = grant.ScopeApp, grant.UnitRows
	}
	return rule
}

func bindAccounts(ctx context.Context, s *store.Store, platform string, tokenID int64, externalIDs []string,
	homes map[string]verify.Home) ([][]any, error) {
	found := make([]settings.Account, len(externalIDs))
	for i, id := range externalIDs {
		found[i] = settings.Account{ExternalID: id, Name: homes[id].Name, Timezone: homes[id].Timezone,
			Currency: homes[id].Currency}
	}
	ids, err := s.PutAccounts(ctx, platform, tokenID, found)
	if err != nil {
		return nil, err
	}
	// A demo does not need a month of every account's past.
	now, err := s.Config.Now(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.SetInitialised(ctx, slices.Collect(maps.Values(ids)), now); err != nil {
		return nil, err
	}
	var rows [][]any
	for externalID, id := range ids {
		if game, system, bound := gameOf(platform, externalID); bound {
			rows = append(rows, []any{id, day.Day("2020-01-01"), day.Day("9999-12-31"), game, system})
		}
	}
	return rows, nil
}
