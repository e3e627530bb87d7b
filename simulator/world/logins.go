package world

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
	// AccountsPerLogin is how many accounts a login reaches.
	AccountsPerLogin = 100
)

// Login is a user of a platform that authorised an app. Its tokens reach exactly its accounts.
type Login struct {
	world       *World
	Platform    *Spec
	Index       int
	First, Last int // accounts [first, last)
	Tokens
}

// Tokens is the part of a login that changes, and is kept over a restart.
type Tokens struct {
	Media          string `json:"media"`
	Login          int    `json:"login"`
	Generation     int    `json:"generation"` // counts all issued tokens, so that none repeats
	Access         string `json:"access"`
	Refresh        string `json:"refresh"`
	AccessExpires  int64  `json:"access_expires"`
	RefreshExpires int64  `json:"refresh_expires"`
	OldAccess      string `json:"old_access,omitempty"` // valid until OldExpires if the platform keeps it valid
	OldExpires     int64  `json:"old_expires,omitempty"`
	Code           string `json:"code,omitempty"` // an authorisation code that is not exchanged yet
	CodeExpires    int64  `json:"code_expires,omitempty"`
	CodeRedirect   string `json:"code_redirect,omitempty"` // the redirect_uri that it was issued for; empty for any
	UsedCode       string `json:"used_code,omitempty"`
}

// Reaches reports whether the tokens reach an account of the platform.
func (l *Login) Reaches(index int) bool { return l.First <= index && index < l.Last }

// Name returns the login's name in orders.
func (l *Login) Name() string { return fmt.Sprintf("%s-login-%d", l.Platform.Name, l.Index+1) }

// App returns the index of the authorised app among the apps of the platform.
func (l *Login) App() int { return l.Index / l.world.loginsPerApp() }

// AppID returns the id of a platform's n-th app.
func (w *World) AppID(p *Spec, n int) int64 {
	return p.AppBase + int64(n)*1009 + Key(w.Seed).Sub(p.Number).Sub(1<<41).Sub(uint64(n)).Below(1009)
}

// AppSecret returns the secret of a platform's n-th app.
func (w *World) AppSecret(p *Spec, n int) string {
	return digest("secret", w.Seed, p.Name, n, 0)[:32]
}

// Apps returns how many apps a platform has.
func (w *World) Apps(p *Spec) int { return (w.Count(p) + w.accountsPerApp() - 1) / w.accountsPerApp() }

func (w *World) accountsPerApp() int { return cmp.Or(w.AppAccounts, AppAccountsDefault) }

func (w *World) loginsPerApp() int { return w.accountsPerApp() / AccountsPerLogin }

func digest(what string, seed int64, media string, n, generation int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s/%d/%d", what, seed, media, n, generation))
	return hex.EncodeToString(sum[:])
}

// Vault holds all logins and finds them by their tokens.
type Vault struct {
	world *World
	Save  func() error // writes the state; a change that cannot be saved is undone

	mu       sync.RWMutex
	Logins   []*Login
	byAccess map[string]*Login
	byCode   map[string]*Login
	refresh  map[string]*Login
	survives map[string]bool // whether old access tokens stay valid, by media
}

// NewVault returns all logins of a world with their first tokens, issued now.
func NewVault(w *World, now int64) *Vault {
	v := &Vault{
		world: w, Save: func() error { return nil }, byAccess: map[string]*Login{}, byCode: map[string]*Login{},
		refresh: map[string]*Login{}, survives: map[string]bool{},
	}
	for _, p := range w.Specs {
		v.survives[p.Name] = p.oldAccessSurvives
		for i := 0; i*AccountsPerLogin < w.Count(p); i++ {
			l := &Login{world: w, Platform: p, Index: i, First: i * AccountsPerLogin,
				Last: min((i+1)*AccountsPerLogin, w.Count(p))}
			l.Media, l.Login = p.Name, i
			l.renew(w.Seed, now, true)
			v.Logins = append(v.Logins, l)
			v.link(l)
		}
	}
	return v
}

// renew issues a new access token for a login and, if rotate, a new refresh token. A platform whose Spec has no
// RefreshLife has no refresh tokens.
func (l *Login) renew(seed, now int64, rotate bool) {
	l.Generation++
	l.Access = digest("access", seed, l.Platform.Name, l.Index, l.Generation)[:32]
	l.AccessExpires = now + l.Platform.AccessLife
	if rotate && l.Platform.RefreshLife > 0 {
		l.Refresh = l.refreshOf(seed, l.Generation)
	}
	l.RefreshExpires = now + l.Platform.RefreshLife
}

// refreshOf returns the refresh token of a generation.
func (l *Login) refreshOf(seed int64, generation int) string {
	return digest("refresh", seed, l.Platform.Name, l.Index, generation)[:40]
}

func (v *Vault) link(l *Login) {
	v.byAccess[l.Access] = l
	if l.Refresh != "" {
		v.refresh[l.Refresh] = l
	}
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

func (v *Vault) unlink(l *Login) {
	delete(v.byAccess, l.Access)
	delete(v.byAccess, l.OldAccess)
	delete(v.refresh, l.Refresh)
	delete(v.byCode, l.Code)
	delete(v.byCode, l.UsedCode)
}

// TokenState is the validity of a token.
type TokenState int

// The validities.
const (
	TokenGood TokenState = iota
	TokenExpired
	TokenUsed      // an authorisation code that was exchanged before
	TokenElsewhere // an authorisation code for another redirect_uri
	tokenUnknown
)

// Access looks up a platform's access token.
func (v *Vault) Access(p *Spec, token string, now int64) (*Login, TokenState) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	l, ok := v.byAccess[token]
	switch {
	case !ok || l.Platform != p:
		return nil, tokenUnknown
	case token == l.OldAccess && now >= l.OldExpires, token == l.Access && now >= l.AccessExpires:
		return l, TokenExpired
	}
	return l, TokenGood
}

// change finds a login and applies a change to it atomically. It saves the change before it returns, and undoes it if
// it cannot be saved. Of two changes with the same old token, the later one finds the token replaced.
func (v *Vault) change(find func() (*Login, TokenState), apply func(*Login)) (*Login, Tokens, TokenState, error) {
	v.mu.Lock()
	l, found := find()
	if found != TokenGood {
		v.mu.Unlock()
		return nil, Tokens{}, found, nil
	}
	before := l.Tokens
	v.unlink(l)
	apply(l)
	v.link(l)
	after := l.Tokens
	v.mu.Unlock()
	if err := v.Save(); err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		if l.Tokens == after { // otherwise a later change holds, which was saved or undone too
			v.unlink(l)
			l.Tokens = before
			v.link(l)
		}
		return nil, Tokens{}, found, fmt.Errorf("save tokens of %s: %w", l.Name(), err)
	}
	return l, after, found, nil
}

func (v *Vault) set(l *Login, apply func(*Login)) (Tokens, error) {
	_, after, _, err := v.change(func() (*Login, TokenState) { return l, TokenGood }, apply)
	return after, err
}

// Refreshed exchanges a refresh token for a new access token and, if rotate, a new refresh token too. Replaced tokens
// are dead at once, except for an access token that the platform keeps valid.
func (v *Vault) Refreshed(p *Spec, app int, token string, now int64, rotate bool) (Tokens, TokenState, error) {
	find := func() (*Login, TokenState) {
		l, ok := v.refresh[token]
		switch {
		case !ok || l.Platform != p || l.App() != app:
			return nil, tokenUnknown
		case now >= l.RefreshExpires:
			return nil, TokenExpired
		}
		return l, TokenGood
	}
	_, after, state, err := v.change(find, func(l *Login) {
		l.OldAccess, l.OldExpires = "", 0
		if v.survives[p.Name] && (!rotate || p.RefreshRotates) {
			l.OldAccess, l.OldExpires = l.Access, l.AccessExpires
		}
		l.renew(v.world.Seed, now, rotate)
	})
	return after, state, err
}

// Replaced returns the login whose refresh token was replaced by a later one; nil for any other token. A client that
// sends a replaced token has not read its newest pair.
func (v *Vault) Replaced(p *Spec, token string) *Login {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, l := range v.Logins {
		for n := 1; l.Platform == p && n < l.Generation; n++ {
			if l.Refresh != token && l.refreshOf(v.world.Seed, n) == token {
				return l
			}
		}
	}
	return nil
}

// AnyRedirect is the redirect_uri for platforms that do not require it in the exchange.
const AnyRedirect = ""

// Exchanged exchanges an authorisation code, which works once, for tokens.
func (v *Vault) Exchanged(p *Spec, app int, code, redirect string, now int64) (*Login, Tokens, TokenState, error) {
	find := func() (*Login, TokenState) {
		l, ok := v.byCode[code]
		switch {
		case code == "" || !ok || l.Platform != p || l.App() != app:
			return nil, tokenUnknown
		case code == l.UsedCode:
			return nil, TokenUsed
		case now >= l.CodeExpires:
			return nil, TokenExpired
		case redirect != AnyRedirect && l.CodeRedirect != "" && redirect != l.CodeRedirect:
			return nil, TokenElsewhere
		}
		return l, TokenGood
	}
	return v.change(find, func(l *Login) {
		l.UsedCode, l.Code, l.CodeRedirect, l.OldAccess = code, "", "", ""
		// Without refreshes, only another authorisation can replace a token.
		if p.RefreshLife == 0 && v.survives[p.Name] {
			l.OldAccess, l.OldExpires = l.Access, l.AccessExpires
		}
		l.renew(v.world.Seed, now, true)
	})
}

// Authorise issues a code for a redirect_uri, or for any if it is empty, as the login's consent in a browser would.
func (v *Vault) Authorise(l *Login, redirect string, now int64) (string, error) {
	after, err := v.set(l, func(l *Login) {
		l.Generation++
		l.Code = digest("code", v.world.Seed, l.Platform.Name, l.Index, l.Generation)[:32]
		l.CodeExpires, l.CodeRedirect = now+l.Platform.CodeLife, redirect
	})
	return after.Code, err
}

// Kill ends tokens early. It expires the access token, which can be refreshed, or replaces the pair by an unknown
// one, so that the login needs a new authorisation.
func (v *Vault) Kill(l *Login, pair bool, now int64) error {
	_, err := v.set(l, func(l *Login) {
		if pair {
			l.OldAccess = ""
			l.renew(v.world.Seed, now, true)
			return
		}
		l.AccessExpires, l.OldExpires = min(l.AccessExpires, now), min(l.OldExpires, now)
	})
	return err
}

// Find lists the logins of a platform: the one that reaches an account, or all of them for a nil account.
func (v *Vault) Find(p *Spec, a *Account) (list []*Login) {
	for _, l := range v.Logins {
		if l.Platform == p && (a == nil || l.Reaches(a.Index)) {
			list = append(list, l)
		}
	}
	return list
}

// All returns a copy of the tokens of all logins, in order.
func (v *Vault) All() []Tokens {
	v.mu.RLock()
	defer v.mu.RUnlock()
	list := make([]Tokens, len(v.Logins))
	for i, l := range v.Logins {
		list[i] = l.Tokens
	}
	return list
}

// Restore sets kept tokens.
func (v *Vault) Restore(kept []Tokens) {
	v.mu.Lock()
	defer v.mu.Unlock()
	// They are in the order of the logins, which the world determines.
	for i, t := range kept {
		if i < len(v.Logins) && v.Logins[i].Media == t.Media && v.Logins[i].Login == t.Login {
			v.unlink(v.Logins[i])
			v.Logins[i].Tokens = t
			v.link(v.Logins[i])
		}
	}
}

// OldAccessSurvives reports whether a refresh keeps the older access token valid.
func (v *Vault) OldAccessSurvives(media string) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.survives[media]
}

// SetOldAccessSurvives sets whether a refresh keeps the older access token valid.
func (v *Vault) SetOldAccessSurvives(media string, on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.survives[media] = on
}

// AppByID finds a platform's app by the id that a client sends.
func (w *World) AppByID(p *Spec, id string) (int, bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0, false
	}
	app := int((n - p.AppBase) / 1009)
	if n < p.AppBase || app >= w.Apps(p) || w.AppID(p, app) != n {
		return 0, false
	}
	return app, true
}

// LoginsOf returns how many logins an app has.
func (w *World) LoginsOf(p *Spec, app int) int {
	all := (w.Count(p) + AccountsPerLogin - 1) / AccountsPerLogin
	return min(all-app*w.loginsPerApp(), w.loginsPerApp())
}
