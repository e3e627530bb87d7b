package simulator

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
	"time"

	"adsync/base/strictjson"
)

const controlPrefix = "/_sim/"

// controlRoutes is the control API, by which tests and people read and steer the world.
func (s *Simulator) controlRoutes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET /_sim/{$}", s.serveIndex)
	m.HandleFunc("GET /_sim/credentials", s.serveCredentials)
	m.HandleFunc("POST /_sim/codes", s.orderCode)
	m.HandleFunc("GET /_sim/clock", s.serveClock)
	m.HandleFunc("POST /_sim/clock", s.orderClock)
	m.HandleFunc("GET /_sim/ledger", s.serveLedger)
	m.HandleFunc("GET /_sim/truth", s.serveTruth)
	m.HandleFunc("POST /_sim/truth/correct", s.orderCorrection)
	m.HandleFunc("GET /_sim/accounts", s.serveLives)
	m.HandleFunc("POST /_sim/accounts", s.orderLife)
	m.HandleFunc("POST /_sim/edits", s.orderEdit)
	m.HandleFunc("GET /_sim/limits", s.serveLimits)
	m.HandleFunc("POST /_sim/limits", s.orderLimits)
	m.HandleFunc("GET /_sim/traps", s.serveTraps)
	m.HandleFunc("POST /_sim/traps", s.orderTraps)
	m.HandleFunc("GET /_sim/traps/misled", s.serveMisled)
	m.HandleFunc("GET /_sim/faults", s.serveFaults)
	m.HandleFunc("POST /_sim/faults", s.orderFault)
	m.HandleFunc("DELETE /_sim/faults", s.cancelFaults)
	m.HandleFunc("DELETE /_sim/faults/{id}", s.cancelFaults)
	m.HandleFunc("/_sim/", func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, http.StatusNotFound, "no control call has this method and path; see GET /_sim/ for a list")
	})
	return m
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // a caller that went away is no concern of ours
}

func writeProblem(w http.ResponseWriter, status int, detail string) {
	writeJSON(w, status, map[string]string{"error": detail})
}

// keep saves what was ordered, and answers with what holds.
func (s *Simulator) keep(w http.ResponseWriter, status int, answer any) {
	if err := s.save(); err != nil {
		writeProblem(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, status, answer)
}

// readOrder decodes the body of an order, in which nothing may be unknown, given twice or null: a mistyped selector would match all.
func readOrder(w http.ResponseWriter, r *http.Request, v any) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if err == nil {
		err = strictjson.Unmarshal(body, v)
	}
	if err != nil {
		writeProblem(w, http.StatusBadRequest, "cannot read the order: "+err.Error())
		return false
	}
	return true
}

func (s *Simulator) serveIndex(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"seed": s.world.seed, "accounts": s.world.accounts, "media": s.world.names(),
		"calls": []string{
			"GET credentials", "POST codes", "GET|POST clock", "GET ledger", "GET truth", "POST truth/correct", "GET|POST accounts", "POST edits", "GET|POST limits",
			"GET|POST traps", "GET traps/misled", "GET|POST|DELETE faults",
		},
	})
}

// Credentials are what a client of a platform is configured with.
type Credentials struct {
	BasePath      string           `json:"base_url_path"`
	AuthorisePath string           `json:"authorise_url_path"`
	Apps          []AppCredentials `json:"apps"`
}

// AppCredentials are a developer's app and those who authorised it.
type AppCredentials struct {
	AppID  string             `json:"app_id"`
	Secret string             `json:"secret"`
	Logins []LoginCredentials `json:"logins"`
}

// LoginCredentials are the tokens of a user and the accounts they reach. Times are the world's.
type LoginCredentials struct {
	Login string `json:"login"` // how orders name it
	// UserID and UserName are what a client of the platform learns of it when it is authorised.
	UserID           string    `json:"user_id"`
	UserName         string    `json:"user_name"`
	AccessToken      string    `json:"access_token"`
	RefreshToken     string    `json:"refresh_token"`
	AccessExpiresAt  time.Time `json:"access_expires_at"`
	RefreshExpiresAt time.Time `json:"refresh_expires_at"`
	AccountIDs       []string  `json:"account_ids"`
}

func (s *Simulator) serveCredentials(w http.ResponseWriter, _ *http.Request) {
	all := map[string]*Credentials{}
	for _, p := range s.world.specs {
		c := &Credentials{BasePath: p.basePath, AuthorisePath: p.prefix + p.authorisePath, Apps: []AppCredentials{}}
		for n := range s.world.apps(p) {
			c.Apps = append(c.Apps, AppCredentials{AppID: strconv.FormatInt(s.world.appID(p, n), 10), Secret: s.world.appSecret(p, n)})
		}
		all[p.name] = c
	}
	for i, t := range s.vault.all() {
		l := s.vault.logins[i]
		user, name := l.p.user(s.world, l)
		x := LoginCredentials{
			Login: l.name(), UserID: strconv.FormatInt(user, 10), UserName: name, AccessToken: t.Access, RefreshToken: t.Refresh,
			AccessExpiresAt: time.Unix(t.AccessExpires, 0).UTC(), RefreshExpiresAt: time.Unix(t.RefreshExpires, 0).UTC(),
		}
		for n := l.first; n < l.last; n++ {
			x.AccountIDs = append(x.AccountIDs, strconv.FormatInt(s.world.account(l.p, n).id, 10))
		}
		app := &all[l.p.name].Apps[l.app()]
		app.Logins = append(app.Logins, x)
	}
	writeJSON(w, http.StatusOK, all)
}

// orderCode makes an authorisation code, as a login's consent in a browser would.
func (s *Simulator) orderCode(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Media string `json:"media"`
		Login string `json:"login"`
	}
	if !readOrder(w, r, &order) {
		return
	}
	for _, l := range s.vault.logins {
		if l.p.name == order.Media && l.name() == order.Login {
			code, err := s.vault.authorise(l, "", s.clock.Now().Unix())
			if err != nil {
				writeProblem(w, http.StatusInternalServerError, err.Error())
				return
			}
			writeJSON(w, http.StatusOK, map[string]any{"code": code, "expires_in": l.p.codeLife})
			return
		}
	}
	writeProblem(w, http.StatusNotFound, fmt.Sprintf("media %q has no login %q", order.Media, order.Login))
}

func (s *Simulator) serveClock(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"now": s.clock.Now(), "speed": s.clock.Speed(), "frozen": s.clock.Frozen()})
}

func (s *Simulator) orderClock(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Now    *time.Time `json:"now"`
		Speed  *float64   `json:"speed"`
		Frozen *bool      `json:"frozen"`
	}
	if !readOrder(w, r, &order) {
		return
	}
	// All is checked before anything is changed.
	var err error
	if order.Now != nil {
		err = checkMoment(*order.Now)
	}
	if order.Speed != nil {
		err = errors.Join(err, checkSpeed(*order.Speed))
	}
	if err != nil {
		writeProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	if order.Frozen != nil && *order.Frozen {
		err = errors.Join(err, s.clock.Freeze())
	}
	if order.Speed != nil {
		err = errors.Join(err, s.clock.SetSpeed(*order.Speed))
	}
	if order.Now != nil {
		err = errors.Join(err, s.clock.Set(*order.Now))
	}
	if order.Frozen != nil && !*order.Frozen {
		err = errors.Join(err, s.clock.Resume())
	}
	if err != nil {
		writeProblem(w, http.StatusInternalServerError, err.Error())
		return
	}
	s.serveClock(w, r)
}

func (s *Simulator) serveLedger(w http.ResponseWriter, r *http.Request) {
	q, err := parseLedgerQuery(r)
	if err != nil {
		writeProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	total, groups := s.ledger.query(q)
	answer := map[string]any{"totals": total}
	if groups != nil {
		answer["groups"] = groups
	}
	writeJSON(w, http.StatusOK, answer)
}

func parseLedgerQuery(r *http.Request) (q ledgerQuery, err error) {
	v := r.URL.Query()
	if err := givenOnce(v); err != nil {
		return q, err
	}
	q = ledgerQuery{media: v.Get("media"), app: v.Get("app"), endpoint: endpointName(v.Get("endpoint")), account: v.Get("account")}
	if q.from, err = parseSecond(v.Get("from")); err != nil {
		return q, fmt.Errorf("from: %w", err)
	}
	if q.to, err = parseSecond(v.Get("to")); err != nil {
		return q, fmt.Errorf("to: %w", err)
	}
	if text := v.Get("answer"); text != "" {
		code, err := strconv.Atoi(text)
		if err != nil {
			return q, fmt.Errorf("answer is a number, not %q", text)
		}
		q.answer = &code
	}
	q.group = map[string]bool{}
	if list := v.Get("group"); list != "" {
		for name := range strings.SplitSeq(list, ",") {
			switch name {
			case "second", "media", "app", "endpoint", "account", "answer":
				q.group[name] = true
			default:
				return q, fmt.Errorf("group is of second, media, app, endpoint, account, answer, not %q", name)
			}
		}
	}
	if q.needsAccounts() && (q.group["second"] || q.from != 0 || q.to != 0) {
		return q, errors.New("accounts are counted without the time: leave out from, to and second, or account")
	}
	return q, nil
}

// givenOnce refuses a parameter that is given twice, of which one would count.
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
