package simulator

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
)

const (
	// AppAccountsDefault is how many accounts of a platform share an app.
	AppAccountsDefault = 1000
	accountsPerLogin   = 100
)

// login is a user of a platform who authorised an app: its tokens reach exactly its accounts.
type login struct {
	world       *world
	p           *spec
	index       int
	first, last int // accounts [first, last)
	tokens
}

// tokens is the part of a login that changes and is kept over a restart.
type tokens struct {
	Media          string `json:"media"`
	Login          int    `json:"login"`
	Generation     int    `json:"generation"` // of all tokens ever given out, so that none comes twice
	Access         string `json:"access"`
	Refresh        string `json:"refresh"`
	AccessExpires  int64  `json:"access_expires"`
	RefreshExpires int64  `json:"refresh_expires"`
	OldAccess      string `json:"old_access,omitempty"` // usable until OldExpires where the platform leaves it alive
	OldExpires     int64  `json:"old_expires,omitempty"`
	Code           string `json:"code,omitempty"` // an authorisation code not yet exchanged
	CodeExpires    int64  `json:"code_expires,omitempty"`
	CodeRedirect   string `json:"code_redirect,omitempty"` // the redirect_uri that it was given out for; empty for any
	UsedCode       string `json:"used_code,omitempty"`
}

func (l *login) reaches(index int) bool { return l.first <= index && index < l.last }

func (l *login) name() string { return fmt.Sprintf("%s-login-%d", l.p.name, l.index+1) }

func (l *login) app() int { return l.index / l.world.loginsPerApp() }

// appID and appSecret are those of a platform's n-th app.
func (w *world) appID(p *spec, n int) int64 {
	return p.appBase + int64(n)*1009 + key(w.seed).sub(p.number).sub(1<<41).sub(uint64(n)).below(1009)
}

func (w *world) appSecret(p *spec, n int) string {
	return digest("secret", w.seed, p.name, n, 0)[:32]
}

func (w *world) apps(p *spec) int { return (w.count(p) + w.accountsPerApp() - 1) / w.accountsPerApp() }

func (w *world) accountsPerApp() int { return cmp.Or(w.appAccounts, AppAccountsDefault) }

func (w *world) loginsPerApp() int { return w.accountsPerApp() / accountsPerLogin }

func digest(what string, seed int64, media string, n, generation int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s/%d/%d", what, seed, media, n, generation))
	return hex.EncodeToString(sum[:])
}

// vault holds all logins and finds them by their tokens.
type vault struct {
	world *world
	save  func() error // writes the state; a token change that cannot be saved does not happen

	mu       sync.RWMutex
	logins   []*login
	byAccess map[string]*login
	byCode   map[string]*login
	refresh  map[string]*login
	survives map[string]bool // switches of old access tokens, by media
}

func newVault(w *world, now int64) *vault {
	v := &vault{
		world: w, save: func() error { return nil }, byAccess: map[string]*login{}, byCode: map[string]*login{},
		refresh: map[string]*login{}, survives: map[string]bool{},
	}
	for _, p := range w.specs {
		v.survives[p.name] = p.oldAccessSurvives
		for i := 0; i*accountsPerLogin < w.count(p); i++ {
			l := &login{world: w, p: p, index: i, first: i * accountsPerLogin, last: min((i+1)*accountsPerLogin, w.count(p))}
			l.Media, l.Login = p.name, i
			l.renew(w.seed, now, true)
			v.logins = append(v.logins, l)
			v.link(l)
		}
	}
	return v
}

// renew gives a login a new access token and, if rotate, a new refresh token.
func (l *login) renew(seed, now int64, rotate bool) {
	l.Generation++
	l.Access = digest("access", seed, l.p.name, l.index, l.Generation)[:32]
	l.AccessExpires = now + l.p.accessLife
	if rotate {
		l.Refresh = digest("refresh", seed, l.p.name, l.index, l.Generation)[:40]
	}
	l.RefreshExpires = now + l.p.refreshLife
}

func (v *vault) link(l *login) {
	v.byAccess[l.Access] = l
	v.refresh[l.Refresh] = l
	if l.OldAccess != "" {
		v.byAccess[l.OldAccess] = l
	}
	if l.Code != "" {
		v.byCode[l.Code] = l
	}
	if l.UsedCode != "" {
		v.byCode[l.UsedCode] = l
	}
}

func (v *vault) unlink(l *login) {
	delete(v.byAccess, l.Access)
	delete(v.byAccess, l.OldAccess)
	delete(v.refresh, l.Refresh)
	delete(v.byCode, l.Code)
	delete(v.byCode, l.UsedCode)
}

// tokenState is what a token is worth.
type tokenState int

const (
	tokenGood tokenState = iota
	tokenExpired
	tokenUsed      // an authorisation code that was exchanged before
	tokenElsewhere // an authorisation code for another redirect_uri
	tokenUnknown
)

// access looks a platform's access token up.
func (v *vault) access(p *spec, token string, now int64) (*login, tokenState) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	l, ok := v.byAccess[token]
	switch {
	case !ok || l.p != p:
		return nil, tokenUnknown
	case token == l.OldAccess && now >= l.OldExpires, token == l.Access && now >= l.AccessExpires:
		return l, tokenExpired
	}
	return l, tokenGood
}

// change finds a login and applies a change to it in one step, and saves it before anybody is told; if it cannot be
// saved it is undone. Of two changes with the same old token the later finds it replaced.
func (v *vault) change(find func() (*login, tokenState), apply func(*login)) (*login, tokens, tokenState, error) {
	v.mu.Lock()
	l, found := find()
	if found != tokenGood {
		v.mu.Unlock()
		return nil, tokens{}, found, nil
	}
	before := l.tokens
	v.unlink(l)
	apply(l)
	v.link(l)
	after := l.tokens
	v.mu.Unlock()
	if err := v.save(); err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		if l.tokens == after { // else a later change holds, which saved or undid itself
			v.unlink(l)
			l.tokens = before
			v.link(l)
		}
		return nil, tokens{}, found, fmt.Errorf("save tokens of %s: %w", l.name(), err)
	}
	return l, after, found, nil
}

func (v *vault) set(l *login, apply func(*login)) (tokens, error) {
	_, after, _, err := v.change(func() (*login, tokenState) { return l, tokenGood }, apply)
	return after, err
}

// refreshed exchanges a refresh token for a new access token and, if rotate, a new refresh token too. What was
// replaced is dead at once, but for an access token that the platform leaves alive.
func (v *vault) refreshed(p *spec, app int, token string, now int64, rotate bool) (tokens, tokenState, error) {
	find := func() (*login, tokenState) {
		l, ok := v.refresh[token]
		switch {
		case !ok || l.p != p || l.app() != app:
			return nil, tokenUnknown
		case now >= l.RefreshExpires:
			return nil, tokenExpired
		}
		return l, tokenGood
	}
	_, after, state, err := v.change(find, func(l *login) {
		l.OldAccess, l.OldExpires = "", 0
		if v.survives[p.name] && !rotate {
			l.OldAccess, l.OldExpires = l.Access, l.AccessExpires
		}
		l.renew(v.world.seed, now, rotate)
	})
	return after, state, err
}

// anyRedirect stands for a redirect_uri where the platform does not ask for it again.
const anyRedirect = ""

// exchanged gives the tokens for an authorisation code, which works once.
func (v *vault) exchanged(p *spec, app int, code, redirect string, now int64) (*login, tokens, tokenState, error) {
	find := func() (*login, tokenState) {
		l, ok := v.byCode[code]
		switch {
		case code == "" || !ok || l.p != p || l.app() != app:
			return nil, tokenUnknown
		case code == l.UsedCode:
			return nil, tokenUsed
		case now >= l.CodeExpires:
			return nil, tokenExpired
		case redirect != anyRedirect && l.CodeRedirect != "" && redirect != l.CodeRedirect:
			return nil, tokenElsewhere
		}
		return l, tokenGood
	}
	return v.change(find, func(l *login) {
		l.UsedCode, l.Code, l.CodeRedirect, l.OldAccess = code, "", "", ""
		l.renew(v.world.seed, now, true)
	})
}

// authorise makes a code for a redirect_uri, any if it is empty, as the login's consent in a browser would.
func (v *vault) authorise(l *login, redirect string, now int64) (string, error) {
	after, err := v.set(l, func(l *login) {
		l.Generation++
		l.Code = digest("code", v.world.seed, l.p.name, l.index, l.Generation)[:32]
		l.CodeExpires, l.CodeRedirect = now+l.p.codeLife, redirect
	})
	return after.Code, err
}

// kill ends tokens before their time: an expired access token can be refreshed; a pair that is replaced by one nobody
// was told needs a new authorisation.
func (v *vault) kill(l *login, pair bool, now int64) error {
	_, err := v.set(l, func(l *login) {
		if pair {
			l.OldAccess = ""
			l.renew(v.world.seed, now, true)
			return
		}
		l.AccessExpires, l.OldExpires = min(l.AccessExpires, now), min(l.OldExpires, now)
	})
	return err
}

// find lists logins of a platform: the one that reaches an account, or all for an empty account.
func (v *vault) find(p *spec, a *account) (list []*login) {
	for _, l := range v.logins {
		if l.p == p && (a == nil || l.reaches(a.index)) {
			list = append(list, l)
		}
	}
	return list
}

// all copies the tokens of all logins, in their order.
func (v *vault) all() []tokens {
	v.mu.RLock()
	defer v.mu.RUnlock()
	list := make([]tokens, len(v.logins))
	for i, l := range v.logins {
		list[i] = l.tokens
	}
	return list
}

// restore takes over kept tokens.
func (v *vault) restore(kept []tokens) {
	v.mu.Lock()
	defer v.mu.Unlock()
	// They were written in the order of the logins, which follows from the world.
	for i, t := range kept {
		if i < len(v.logins) && v.logins[i].Media == t.Media && v.logins[i].Login == t.Login {
			v.unlink(v.logins[i])
			v.logins[i].tokens = t
			v.link(v.logins[i])
		}
	}
}

func (v *vault) oldAccessSurvives(media string) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.survives[media]
}

func (v *vault) setOldAccessSurvives(media string, on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.survives[media] = on
}

// appByID finds a platform's app by the id that a client sends.
func (w *world) appByID(p *spec, id string) (int, bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0, false
	}
	app := int((n - p.appBase) / 1009)
	if n < p.appBase || app >= w.apps(p) || w.appID(p, app) != n {
		return 0, false
	}
	return app, true
}

// loginsOf is how many logins an app has.
func (w *world) loginsOf(p *spec, app int) int {
	all := (w.count(p) + accountsPerLogin - 1) / accountsPerLogin
	return min(all-app*w.loginsPerApp(), w.loginsPerApp())
}
