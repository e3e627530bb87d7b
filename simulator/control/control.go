package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"adsync/base/strictjson"

	"adsync/simulator/fault"
	"adsync/simulator/ledger"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// Prefix is the path of the control API.
const Prefix = "/_sim/"

// control is the control API, with which tests and people read and change the world.
type control struct {
	sim    *platform.Simulation
	ledger *ledger.Ledger
	faults *fault.Faults
	traps  *fault.Traps
	save   func() error // saves the orders

	ordering sync.Mutex // serialises orders, so that the saved state is the current one
}

// New returns the control API of a simulation. save saves the orders.
func New(s *platform.Simulation, l *ledger.Ledger, f *fault.Faults, t *fault.Traps, save func() error) http.Handler {
	c := &control{sim: s, ledger: l, faults: f, traps: t, save: save}
	return c.routes()
}

func (c *control) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET /_sim/{$}", c.serveIndex)
	m.HandleFunc("GET /_sim/credentials", c.serveCredentials)
	m.HandleFunc("POST /_sim/codes", c.orderCode)
	m.HandleFunc("GET /_sim/clock", c.serveClock)
	m.HandleFunc("POST /_sim/clock", c.orderClock)
	m.HandleFunc("GET /_sim/ledger", c.serveLedger)
	m.HandleFunc("GET /_sim/tasks", c.serveTasks)
	m.HandleFunc("GET /_sim/truth", c.serveTruth)
	m.HandleFunc("POST /_sim/truth/correct", c.orderCorrection)
	m.HandleFunc("GET /_sim/accounts", c.serveLives)
	m.HandleFunc("POST /_sim/accounts", c.orderLife)
	m.HandleFunc("POST /_sim/edits", c.orderEdit)
	m.HandleFunc("GET /_sim/limits", c.serveLimits)
	m.HandleFunc("POST /_sim/limits", c.orderLimits)
	m.HandleFunc("GET /_sim/traps", c.serveTraps)
	m.HandleFunc("POST /_sim/traps", c.orderTraps)
	m.HandleFunc("GET /_sim/traps/misled", c.serveMisled)
	m.HandleFunc("GET /_sim/faults", c.serveFaults)
	m.HandleFunc("POST /_sim/faults", c.orderFault)
	m.HandleFunc("DELETE /_sim/faults", c.cancelFaults)
	m.HandleFunc("DELETE /_sim/faults/{id}", c.cancelFaults)
	m.HandleFunc("/_sim/", func(w http.ResponseWriter, _ *http.Request) {
		WriteProblem(w, http.StatusNotFound, "no control call has this method and path; see GET /_sim/ for a list")
	})
	return m
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // an error means that the caller has gone
}

// WriteProblem answers with an error.
func WriteProblem(w http.ResponseWriter, status int, detail string) {
	writeJSON(w, status, map[string]string{"error": detail})
}

// keep saves the orders, and answers with the current state.
func (c *control) keep(w http.ResponseWriter, status int, answer any) {
	if err := c.save(); err != nil {
		WriteProblem(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, status, answer)
}

// readOrder decodes the body of an order. Unknown fields, repeated fields and null are refused, as a mistyped
// selector would match all calls.
func readOrder(w http.ResponseWriter, r *http.Request, v any) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, platform.BodyMax))
	if err == nil {
		err = strictjson.Unmarshal(body, v)
	}
	if err != nil {
		WriteProblem(w, http.StatusBadRequest, "cannot read the order: "+err.Error())
		return false
	}
	return true
}

func (c *control) serveIndex(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"seed": c.sim.World.Seed, "accounts": c.sim.World.Accounts, "media": c.sim.World.Names(),
		"calls": []string{
			"GET credentials", "POST codes", "GET|POST clock", "GET ledger", "GET tasks", "GET truth", "POST truth/correct",
			"GET|POST accounts", "POST edits", "GET|POST limits",
			"GET|POST traps", "GET traps/misled", "GET|POST|DELETE faults",
		},
	})
}

// Credentials holds what a client of a platform is configured with.
type Credentials struct {
	BasePath      string           `json:"base_url_path"`
	AuthorisePath string           `json:"authorise_url_path"`
	Apps          []AppCredentials `json:"apps"`
}

// AppCredentials holds a developer's app and the logins that authorised it.
type AppCredentials struct {
	AppID  string             `json:"app_id"`
	Secret string             `json:"secret"`
	Logins []LoginCredentials `json:"logins"`
}

// LoginCredentials holds the tokens of a user and the accounts that they reach. Times are the world's.
type LoginCredentials struct {
	Login string `json:"login"` // its name in orders
	// UserID and UserName are what a client of the platform gets when the login is authorised.
	UserID           string    `json:"user_id"`
	UserName         string    `json:"user_name"`
	AccessToken      string    `json:"access_token"`
	RefreshToken     string    `json:"refresh_token"`
	AccessExpiresAt  time.Time `json:"access_expires_at"`
	RefreshExpiresAt time.Time `json:"refresh_expires_at"`
	AccountIDs       []string  `json:"account_ids"`
}

func (c *control) serveCredentials(w http.ResponseWriter, _ *http.Request) {
	all := map[string]*Credentials{}
	for _, p := range c.sim.World.Specs {
		x := &Credentials{BasePath: p.BasePath, AuthorisePath: p.Prefix + p.AuthorisePath, Apps: []AppCredentials{}}
		for n := range c.sim.World.Apps(p) {
			x.Apps = append(x.Apps, AppCredentials{AppID: strconv.FormatInt(c.sim.World.AppID(p, n), 10),
				Secret: c.sim.World.AppSecret(p, n)})
		}
		all[p.Name] = x
	}
	for i, t := range c.sim.Vault.All() {
		l := c.sim.Vault.Logins[i]
		user, name := l.Platform.User(c.sim.World, l)
		x := LoginCredentials{
			Login: l.Name(), UserID: strconv.FormatInt(user, 10), UserName: name, AccessToken: t.Access, RefreshToken: t.Refresh,
			AccessExpiresAt: time.Unix(t.AccessExpires, 0).UTC(), RefreshExpiresAt: time.Unix(t.RefreshExpires, 0).UTC(),
		}
		for n := l.First; n < l.Last; n++ {
			x.AccountIDs = append(x.AccountIDs, strconv.FormatInt(c.sim.World.Account(l.Platform, n).ID, 10))
		}
		app := &all[l.Platform.Name].Apps[l.App()]
		app.Logins = append(app.Logins, x)
	}
	writeJSON(w, http.StatusOK, all)
}

// orderCode issues an authorisation code, as a login's consent in a browser would.
func (c *control) orderCode(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Media string `json:"media"`
		Login string `json:"login"`
	}
	if !readOrder(w, r, &order) {
		return
	}
	for _, l := range c.sim.Vault.Logins {
		if l.Platform.Name == order.Media && l.Name() == order.Login {
			code, err := c.sim.Vault.Authorise(l, "", c.sim.Clock.Now().Unix())
			if err != nil {
				WriteProblem(w, http.StatusInternalServerError, err.Error())
				return
			}
			writeJSON(w, http.StatusOK, map[string]any{"code": code, "expires_in": l.Platform.CodeLife})
			return
		}
	}
	WriteProblem(w, http.StatusNotFound, fmt.Sprintf("media %q has no login %q", order.Media, order.Login))
}

func (c *control) serveClock(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"now": c.sim.Clock.Now(), "speed": c.sim.Clock.Speed(),
		"frozen": c.sim.Clock.Frozen()})
}

func (c *control) orderClock(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Now    *time.Time `json:"now"`
		Speed  *float64   `json:"speed"`
		Frozen *bool      `json:"frozen"`
	}
	if !readOrder(w, r, &order) {
		return
	}
	// The whole order is checked before anything changes.
	var err error
	if order.Now != nil {
		err = world.CheckMoment(*order.Now)
	}
	if order.Speed != nil {
		err = errors.Join(err, world.CheckSpeed(*order.Speed))
	}
	if err != nil {
		WriteProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	if order.Frozen != nil && *order.Frozen {
		err = errors.Join(err, c.sim.Clock.Freeze())
	}
	if order.Speed != nil {
		err = errors.Join(err, c.sim.Clock.SetSpeed(*order.Speed))
	}
	if order.Now != nil {
		err = errors.Join(err, c.sim.Clock.Set(*order.Now))
	}
	if order.Frozen != nil && !*order.Frozen {
		err = errors.Join(err, c.sim.Clock.Resume())
	}
	if err != nil {
		WriteProblem(w, http.StatusInternalServerError, err.Error())
		return
	}
	c.serveClock(w, r)
}

func (c *control) serveLedger(w http.ResponseWriter, r *http.Request) {
	q, err := parseLedgerQuery(r)
	if err != nil {
		WriteProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	total, groups := c.ledger.Query(q)
	answer := map[string]any{"totals": total}
	if groups != nil {
		answer["groups"] = groups
	}
	writeJSON(w, http.StatusOK, answer)
}

// serveTasks lists the asynchronous reports of a platform.
func (c *control) serveTasks(w http.ResponseWriter, r *http.Request) {
	tasks, has := c.sim.Tasks[r.URL.Query().Get("media")]
	if !has {
		WriteProblem(w, http.StatusBadRequest, fmt.Sprintf("media must be a platform with asynchronous reports, not %q",
			r.URL.Query().Get("media")))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"tasks": tasks.All()})
}

func parseLedgerQuery(r *http.Request) (q ledger.Query, err error) {
	v := r.URL.Query()
	if err := givenOnce(v); err != nil {
		return q, err
	}
	q = ledger.Query{Media: v.Get("media"), App: v.Get("app"), Endpoint: platform.EndpointName(v.Get("endpoint")),
		Account: v.Get("account")}
	if q.From, err = parseSecond(v.Get("from")); err != nil {
		return q, fmt.Errorf("from: %w", err)
	}
	if q.To, err = parseSecond(v.Get("to")); err != nil {
		return q, fmt.Errorf("to: %w", err)
	}
	if text := v.Get("answer"); text != "" {
		code, err := strconv.Atoi(text)
		if err != nil {
			return q, fmt.Errorf("answer must be a number, not %q", text)
		}
		q.Answer = &code
	}
	q.Group = map[string]bool{}
	if list := v.Get("group"); list != "" {
		for name := range strings.SplitSeq(list, ",") {
			switch name {
			case "second", "media", "app", "endpoint", "account", "answer":
				q.Group[name] = true
			default:
				return q, fmt.Errorf("group must be second, media, app, endpoint, account or answer, not %q", name)
			}
		}
	}
	if q.NeedsAccounts() && (q.Group["second"] || q.From != 0 || q.To != 0) {
		return q, errors.New("counts by account have no time: leave out from, to and second, or account")
	}
	return q, nil
}

// givenOnce returns an error for a parameter that is given twice, as one value would be ignored.
func givenOnce(query url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if n := len(query[name]); n > 1 {
			return fmt.Errorf("%s is given %d times: want it once", name, n)
		}
	}
	return nil
}

func parseSecond(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("%q is neither Unix seconds nor a time like 2026-11-15T08:00:00Z", text)
	}
	return t.Unix(), nil
}
