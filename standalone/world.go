package standalone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/ratelimit"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/media/simulator"
	"adsync/media/token"
	"adsync/standalone/verify"
)

// credentials are what the simulator tells a client of each platform, as a person would copy it from the platforms'
// developer consoles.
type credentials map[string]struct {
	BasePath string `json:"base_url_path"`
	Apps     []struct {
		AppID  string `json:"app_id"`
		Secret string `json:"secret"`
		Logins []struct {
			Login            string    `json:"login"`
			AccessToken      string    `json:"access_token"`
			RefreshToken     string    `json:"refresh_token"`
			AccessExpiresAt  time.Time `json:"access_expires_at"`
			RefreshExpiresAt time.Time `json:"refresh_expires_at"`
			AccountIDs       []string  `json:"account_ids"`
		} `json:"logins"`
	} `json:"apps"`
}

// getJSON reads an answer of the simulator's control API.
func getJSON(ctx context.Context, client *http.Client, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the simulator: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the simulator for %s: %s", url, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("read the simulator's answer for %s: %w", url, err)
	}
	return nil
}

// postJSON gives the simulator an order.
func postJSON(ctx context.Context, client *http.Client, url string, order any) error {
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("order of the simulator: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("order of the simulator at %s: %s", url, resp.Status)
	}
	return nil
}

// games are what the simulated accounts advertise. Some accounts stay unassigned, as in life.
// worldZone is where people of the simulated world look at their watches.
var worldZone = verify.AccountZone

var games = []struct{ code, name string }{{"starfall", "Starfall 星坠"}, {"tinyfarm", "Tiny Farm 迷你农场"}, {"nightraid", "Night Raid 夜袭"}}

var systems = []string{"ios", "android"}

// unassignedEvery leaves one account in so many without a binding.
const unassignedEvery = 10

// world is the simulated platforms: inside this process, or at an address.
type world struct {
	sim     *simulator.Simulator // nil when it runs elsewhere
	address string               // of the control API, without a trailing slash
	clock   clock.Clock
	speed   float64
	creds   credentials
	close   func() error
}

// openWorld starts the simulator, or asks the one at Options.Simulator. With Once the world's clock stands still from
// here on.
func openWorld(ctx context.Context, o Options, dir *dataDir) (*world, error) {
	if o.Simulator != "" {
		return askWorld(ctx, o)
	}
	sim, err := simulator.New(simulator.Config{
		Accounts: o.Accounts, Seed: o.Seed, Speed: o.Speed, DataDir: dir.file("world"), Frozen: o.Once, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	w := &world{sim: sim, clock: sim.Clock(), speed: sim.Clock().Speed()}
	if !o.Once && sim.Clock().Frozen() {
		// An earlier --once stopped the clock of a world that now goes on.
		if err := sim.Clock().Resume(); err != nil {
			return nil, errors.Join(err, sim.Close())
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, sim.Close())
	}
	server := &http.Server{Handler: sim.Handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	w.close = func() error {
		err := server.Close()
		<-served // http.ErrServerClosed
		return errors.Join(err, sim.Close())
	}
	w.address = "http://" + listener.Addr().String()
	if err := getJSON(ctx, http.DefaultClient, w.address+"/_sim/credentials", &w.creds); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// askWorld works with a simulator that runs elsewhere, whose clock only the simulator knows.
func askWorld(ctx context.Context, o Options) (*world, error) {
	w := &world{address: strings.TrimSuffix(o.Simulator, "/"), close: func() error { return nil }}
	if o.Once {
		if err := postJSON(ctx, http.DefaultClient, w.address+"/_sim/clock", map[string]any{"frozen": true}); err != nil {
			return nil, err
		}
	}
	var state struct {
		Now    time.Time `json:"now"`
		Speed  float64   `json:"speed"`
		Frozen bool      `json:"frozen"`
	}
	if err := getJSON(ctx, http.DefaultClient, w.address+"/_sim/clock", &state); err != nil {
		return nil, err
	}
	w.speed = state.Speed
	w.clock = clock.NewScaled(state.Now, state.Speed, state.Frozen)
	return w, getJSON(ctx, http.DefaultClient, w.address+"/_sim/credentials", &w.creds)
}

// baseURLs are the platforms' addresses in the world.
func (w *world) baseURLs() map[string]string {
	urls := map[string]string{}
	for name, c := range w.creds {
		urls[name] = w.address + c.BasePath
	}
	return urls
}

// real is how long a time of the world lasts in real time.
func (w *world) real(d time.Duration) time.Duration {
	if w.speed <= 0 {
		return d
	}
	return time.Duration(float64(d) / w.speed)
}

// bind writes the simulated apps, logins, accounts, limits and bindings into an empty config database. What is there
// already stays: tokens that were refreshed since are newer than the simulator's first ones.
func (w *world) bind(ctx context.Context, s *store.Store, box *secret.Box) error {
	var have int
	if err := s.Config.Writer(ctx).Raw("SELECT COUNT(*) FROM account_binding").Row().Scan(&have); err != nil {
		return fmt.Errorf("read account_binding: %w", err)
	}
	if have > 0 {
		return nil
	}
	var rows [][]any
	for _, g := range games {
		rows = append(rows, []any{g.code, g.name})
	}
	if err := s.Config.Upsert(s.Config.Writer(ctx), store.Table{Name: "game", Key: []string{"code"}, Columns: []string{"name"}}, rows); err != nil {
		return err
	}
	if err := w.bindLimits(ctx, s); err != nil {
		return err
	}
	var bindings [][]any
	for name, c := range w.creds {
		for _, app := range c.Apps {
			if err := token.PutApp(ctx, s, box, name, app.AppID, secret.NewText(app.Secret)); err != nil {
				return err
			}
			for _, l := range app.Logins {
				id, err := token.PutLogin(ctx, s, box, store.Token{
					Media: name, AppID: app.AppID, Login: l.Login, AccessExpires: l.AccessExpiresAt, RefreshExpires: l.RefreshExpiresAt,
				}, secret.NewText(l.AccessToken), secret.NewText(l.RefreshToken))
				if err != nil {
					return err
				}
				bound, err := bindAccounts(ctx, s, name, id, l.AccountIDs)
				if err != nil {
					return err
				}
				bindings = append(bindings, bound...)
			}
		}
	}
	// Last: it says that the rest is there.
	return s.Config.Upsert(s.Config.Writer(ctx), store.Table{
		Name: "account_binding", Key: []string{"account_id", "from_day"}, Columns: []string{"to_day", "game", "os"},
	}, bindings)
}

// bindLimits writes the simulator's limits into rate_limit, as an operator copies them from a developer console.
func (w *world) bindLimits(ctx context.Context, s *store.Store) error {
	var limits struct {
		Rules []limitRule `json:"rules"`
	}
	if err := getJSON(ctx, http.DefaultClient, w.address+"/_sim/limits", &limits); err != nil {
		return err
	}
	for _, r := range limits.Rules {
		if r.Limit == 0 {
			continue
		}
		err := s.AddRateLimit(ctx, ratelimit.Rule{
			Media: r.Media, Endpoint: r.Endpoint, Each: true, Scope: ratelimit.Scope(r.Scope), Period: time.Duration(r.Seconds) * time.Second, Limit: int(r.Limit),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func bindAccounts(ctx context.Context, s *store.Store, platform string, tokenID int64, externalIDs []string) ([][]any, error) {
	found := make([]store.Account, len(externalIDs))
	for i, id := range externalIDs {
		found[i] = store.Account{ExternalID: id, Timezone: "Asia/Shanghai", Currency: "CNY"}
	}
	ids, err := s.PutAccounts(ctx, platform, tokenID, found)
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for externalID, id := range ids {
		h := fnv.New32a()
		_, _ = h.Write([]byte(platform + externalID))
		n := int(h.Sum32() >> 1)
		if n%unassignedEvery == 0 {
			continue
		}
		rows = append(rows, []any{id, day.Day("2020-01-01"), day.Day("9999-12-31"), games[n%len(games)].code, systems[n/7%len(systems)]})
	}
	return rows, nil
}
