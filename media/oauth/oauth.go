// Package oauth lets people authorise our apps for their logins, and writes the logins and their accounts to the
// tables.
//
// The table oauth_state holds the requests. A state is random, kept as a hash, and valid for one callback of its
// media and app within ten minutes. The code of the callback is exchanged once. The resulting pair of tokens exists
// nowhere else until it is in media_token, and is lost if the process dies before that. A person who then opens the
// same address again gets a message about it.
package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/plural"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/media"
	"adsync/media/account"
	"adsync/media/token"
)

const (
	// answerTimeout is how long an exchange waits for the platform's answer.
	answerTimeout = 10 * time.Second
	// storePatience is how long storing a new pair is retried. The pair exists nowhere else.
	storePatience = time.Minute
	// listTimeout is how long the login's accounts are listed while a person waits; the task lists the rest.
	listTimeout = 12 * time.Second
	// deadAfter is the age at which an exchange without an end must have died with its process.
	deadAfter = answerTimeout + storePatience + listTimeout
	// refreshLifeDefault is the life of a refresh token if the answer has none. Platforms document this life.
	refreshLifeDefault = 30 * 24 * time.Hour
	// closePatience is how long a stop waits for exchanges under way.
	closePatience = answerTimeout
)

// Keeper reloads logins that were authorised. *token.Keeper implements it.
type Keeper interface {
	Reload(ctx context.Context, id int64) error
}

// Options holds what a Flow uses.
type Options struct {
	Platform media.Authoriser
	// Page is the address of the page where people agree; empty means the platform's own.
	Page      string
	Transport media.Transport
	Caller    account.Caller
	Keeper    Keeper
	Store     *store.Store
	Box       *secret.Box
	Clock     clock.Clock
	Logger    *slog.Logger
}

// Flow authorises logins of one platform. It is safe for concurrent use.
type Flow struct {
	Options

	mu     sync.Mutex
	closed bool
	flying sync.WaitGroup
}

// New returns a Flow. It makes no calls.
func New(o Options) *Flow {
	if o.Page == "" {
		o.Page = o.Platform.AuthorisePage()
	}
	return &Flow{Options: o}
}

// Request is a requested authorisation.
type Request struct {
	ID    string // settings.OAuthID of the state
	URL   string // to open in a browser; it holds the state
	State secret.Text
}

// Kind is the reason why a callback was refused.
type Kind string

// The kinds.
const (
	Unknown  Kind = "unknown"  // no request has this state
	Old      Kind = "old"      // the request is too old
	Used     Kind = "used"     // the state or the code has been used before
	Refused  Kind = "refused"  // the platform did not return tokens for the code
	Stopping Kind = "stopping" // this process is stopping; the state stays valid
)

// Refusal is the reason why a callback was refused, with a text for the person who waits. It holds no secrets.
type Refusal struct { //nolint:errname // It is an answer too, and not only an error.
	Kind Kind
	Text string
}

func (r *Refusal) Error() string { return r.Text }

// Outcome is the result of a callback.
type Outcome struct {
	AppID   string
	LoginID int64
	Login   string
	Name    string
	// Accounts are the accounts that the login reaches, as far as they were listed.
	Accounts []settings.LoginAccount
	// Note describes what is not done yet, and which accounts are left out; empty when all is done.
	Note string
}

// CheckRedirectURI returns an error for an address that cannot receive a callback, or to which no code should be
// sent.
func CheckRedirectURI(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Fragment != "" || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") ||
		len(address) > 1024 {
		return fmt.Errorf(
			"redirect URI %q: want the address of a producer's /oauth/MEDIA/callback, such as "+
				"https://adsync.example.com/oauth/acme/callback", address)
	}
	if u.Scheme == "http" && u.Hostname() != "localhost" {
		if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
			return fmt.Errorf("redirect URI %q: want https, since the code that comes with it is a secret", address)
		}
	}
	return nil
}

// HasApp reports whether the tables have an app.
func (f *Flow) HasApp(ctx context.Context, id string) (bool, error) {
	_, err := f.Store.App(ctx, f.Platform.Name(), id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// PutApp writes an app with its secret, and enables it. by is who does it, for the audit log. An app that is enabled
// and has this secret stays as it is. token.IsUnusable reports whether the error means that the secret cannot be kept.
func (f *Flow) PutApp(ctx context.Context, id string, given secret.Text, by string) error {
	name := f.Platform.Name()
	known, err := token.OpenApp(ctx, f.Store, f.Box, name, id)
	if err == nil && known.Secret.Reveal() == given.Reveal() {
		return nil
	}
	entry := settings.Audit{Actor: by, Action: "app.put", Object: "app/" + name + "/" + id}
	if _, err := f.Store.AddAudit(ctx, entry); err != nil {
		return err
	}
	return token.PutApp(ctx, f.Store, f.Box, name, id, given)
}

// Begin requests an authorisation for an app of the tables.
func (f *Flow) Begin(ctx context.Context, appID, redirectURI, askedBy string) (Request, error) {
	if err := CheckRedirectURI(redirectURI); err != nil {
		return Request{}, err
	}
	if _, err := f.app(ctx, appID); err != nil {
		return Request{}, err
	}
	state := secret.NewText(rand.Text())
	id := settings.OAuthID(state)
	err := f.Store.PutOAuthState(ctx, settings.OAuthState{ID: id, Media: f.Platform.Name(), AppID: appID,
		RedirectURI: redirectURI, AskedBy: askedBy})
	if err != nil {
		return Request{}, err
	}
	return Request{ID: id, State: state,
		URL: f.Platform.AuthoriseURL(f.Page, media.Ask{AppID: appID, RedirectURI: redirectURI, State: state})}, nil
}

func (f *Flow) app(ctx context.Context, appID string) (media.App, error) {
	app, err := token.OpenApp(ctx, f.Store, f.Box, f.Platform.Name(), appID)
	if errors.Is(err, sql.ErrNoRows) {
		return media.App{}, fmt.Errorf("%s has no app %s here: adsync bind %s --app-id %s writes it", f.Platform.Name(),
			appID, f.Platform.Name(), appID)
	}
	return app, err
}

// CodeParameter returns the callback's query parameter that holds the code.
func (f *Flow) CodeParameter() string { return f.Platform.CodeParameter() }

// Code returns what a callback's query has for the exchange; a zero Text if it has no code.
func (f *Flow) Code(query url.Values) secret.Text {
	if reader, ok := f.Platform.(media.CallbackReader); ok {
		return secret.NewText(reader.Callback(query))
	}
	return secret.NewText(query.Get(f.CodeParameter()))
}

// Close prevents new exchanges and waits for those under way: a pair of tokens on its way from the platform to the
// table must arrive.
func (f *Flow) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.flying.Wait()
	}()
	timer := time.NewTimer(closePatience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		f.Logger.Error("new login lost: tokens not stored before the process ended", "media",
			f.Platform.Name())
	}
}

func (f *Flow) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.flying.Add(1)
	return true
}

// Complete exchanges the code of a callback, stores the login and lists its accounts. Once it has started, the end of
// ctx does not stop it. An error is a *Refusal, or a failure of ours that leaves the state unchanged.
func (f *Flow) Complete(ctx context.Context, state, code secret.Text) (Outcome, error) {
	return f.CompleteRequest(ctx, settings.OAuthID(state), code, "")
}

// CompleteRequest is Complete for the code that a person read in the address of the callback. by is that person, for
// the audit log; empty = who requested the authorisation.
func (f *Flow) CompleteRequest(ctx context.Context, id string, code secret.Text, by string) (Outcome, error) {
	if !f.begin() {
		return Outcome{}, &Refusal{Stopping, "This process is stopping. Open the same address again in a moment."}
	}
	defer f.flying.Done()
	ctx = context.WithoutCancel(ctx)
	row, err := f.Store.OAuthState(ctx, id)
	switch {
	case errors.Is(err, settings.ErrNoOAuthState) || err == nil && row.Media != f.Platform.Name():
		return Outcome{},
			&Refusal{Unknown,
				"This authorisation was not requested here. Request one with adsync bind, and open the address that it prints."}
	case err != nil:
		return Outcome{}, err
	case row.Step != settings.OAuthWaiting:
		return Outcome{}, spent(row)
	case row.Left <= 0:
		return Outcome{}, tooOld()
	}
	row.AskedBy = cmp.Or(by, row.AskedBy)
	if used, err := f.Store.OAuthCodeUsed(ctx, row.Media, id, code); err != nil {
		return Outcome{}, err
	} else if used {
		return Outcome{},
			&Refusal{Used,
				"This code was used before, with another request. A code works once: authorise again, from a new address."}
	}
	app, err := f.app(ctx, row.AppID)
	if err != nil {
		return Outcome{}, err
	}
	mine, err := f.Store.ClaimOAuthState(ctx, id, code)
	if err != nil {
		return Outcome{}, err
	}
	if !mine {
		// Another callback was faster, or the time has just run out.
		if row, err = f.Store.OAuthState(ctx, id); err != nil {
			return Outcome{}, err
		}
		if row.Step == settings.OAuthWaiting {
			return Outcome{}, tooOld()
		}
		return Outcome{}, spent(row)
	}
	return f.exchange(ctx, code, row, app)
}

func tooOld() error {
	return &Refusal{Old,
		fmt.Sprintf("This request is more than %d minutes old. Request again with adsync bind, and open the new address.",
			int(settings.OAuthStateLasts.Minutes()))}
}

// spent returns the state of a request whose callback has come before.
func spent(row settings.OAuthState) *Refusal {
	const once = "This address has been used: it works once."
	switch {
	case row.Step == settings.OAuthDone:
		return &Refusal{Used, fmt.Sprintf("%s The login is authorised, with %s; nothing is left to do here.", once,
			plural.Count(row.Accounts, "account", "accounts"))}
	case row.Step == settings.OAuthStored:
		return &Refusal{Used,
			fmt.Sprintf("%s The login is authorised; its accounts are being listed, or come with the task %s.account_list.",
				once, row.Media)}
	case row.Step == settings.OAuthFailed:
		return &Refusal{Used, once + " It failed: " + row.Note}
	case row.UsedFor < deadAfter:
		return &Refusal{Used, once + " Its code is being exchanged at this moment: look again in a minute."}
	default:
		return &Refusal{Used, once +
			" The process that exchanged its code ended before the tokens were stored. They are lost, and the code is spent: " +
			"authorise again, from a new address."}
	}
}

// exchange exchanges the code of a claimed state, stores the login and lists its accounts.
func (f *Flow) exchange(ctx context.Context, code secret.Text, row settings.OAuthState, app media.App) (Outcome,
	error) {
	asked := f.Clock.Now()
	a, err := f.ask(ctx, code, row, app)
	if err != nil {
		f.Logger.Warn("authorisation failed", "media", row.Media, "app", row.AppID, "asked_by", row.AskedBy, "err", err)
		row.Step, row.Note = settings.OAuthFailed, words(err)
		f.note(ctx, row)
		return Outcome{}, &Refusal{Refused, row.Note}
	}
	login := settings.Token{
		Media: row.Media, AppID: row.AppID, Login: a.Login, Name: a.Name, Choose: true,
		AccessExpires: asked.Add(token.Life(a.AccessExpires)), RefreshExpires: asked.Add(token.Life(a.RefreshExpires)),
	}
	if a.RefreshExpires <= 0 {
		login.RefreshExpires = asked.Add(refreshLifeDefault)
	}
	if a.Refresh.IsZero() && a.AccessExpires <= 0 {
		login.AccessExpires = token.EndUnknown
	}
	id, err := f.keep(ctx, login, a.Tokens)
	if token.IsUnusable(err) {
		f.Logger.Error("tokens of a new login cannot be kept", "media", row.Media, "app", row.AppID, "err", err)
		row.Step, row.Note = settings.OAuthFailed, "the platform's answer cannot be kept, and the code is spent: "+
			err.Error()
		f.note(ctx, row)
		return Outcome{}, &Refusal{Refused, "The platform's answer cannot be kept, and the code is spent: " + err.Error() +
			". Authorising again helps only if the platform then gives something else."}
	}
	if err != nil {
		f.Logger.Error("tokens of a new login could not be stored and are lost", "media", row.Media, "app", row.AppID,
			"err", err)
		row.Step, row.Note = settings.OAuthFailed,
			"the tokens could not be stored and are lost, and the code is spent: authorise again"
		f.note(ctx, row)
		return Outcome{},
			&Refusal{Refused,
				"The tokens could not be stored and are lost, and the code is spent. When the database is back, authorise again, " +
					"from a new address."}
	}
	f.Logger.Info("login authorised", "media", row.Media, "app", row.AppID, "login_id", id, "login", a.Login,
		"asked_by", row.AskedBy)
	row.Step, row.TokenID = settings.OAuthStored, id
	f.note(ctx, row)
	f.audit(ctx, row, a.Login)
	out := Outcome{AppID: row.AppID, LoginID: id, Login: a.Login, Name: a.Name}
	listed, err := f.list(ctx, id)
	out.Note = listed.Note()
	if err != nil {
		f.Logger.Warn("accounts of a new login not fully listed", "media", row.Media, "login_id", id, "err", err)
		out.Note = fmt.Sprintf("Its accounts were not all listed; the task %s.account_list lists them.", row.Media)
	}
	if out.Accounts, err = f.Store.LoginAccounts(ctx, id); err != nil {
		return Outcome{}, err
	}
	row.Step, row.Accounts, row.Note = settings.OAuthDone, len(out.Accounts), out.Note
	f.note(ctx, row)
	return out, nil
}

// audit records who had a login authorised. The tokens are stored by now: a failure here must not make a person
// authorise again.
func (f *Flow) audit(ctx context.Context, row settings.OAuthState, login string) {
	after, err := json.Marshal(map[string]string{"media": row.Media, "app_id": row.AppID, "login": login})
	if err == nil {
		_, err = f.Store.AddAudit(ctx, settings.Audit{Actor: row.AskedBy, Action: "login.authorise",
			Object: fmt.Sprintf("login/%d", row.TokenID), After: string(after)})
	}
	if err != nil {
		f.Logger.Error("cannot write an authorised login to the audit log", "media", row.Media, "app", row.AppID, "login_id",
			row.TokenID, "asked_by", row.AskedBy, "err", err)
	}
}

// ask exchanges the code. Its error holds no secrets.
func (f *Flow) ask(ctx context.Context, code secret.Text, row settings.OAuthState, app media.App) (media.Authorisation,
	error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	a, err := f.Platform.Exchange(ctx, f.Transport, app, code, row.RedirectURI)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = &media.Error{Class: media.Transient, Message: fmt.Sprintf("no answer within %s", answerTimeout)}
	}
	if e, ok := errors.AsType[*media.Error](err); ok {
		e.Redact(app.Secret, code)
		if e.Class != media.Invalid {
			e.Message += ": the code may be spent, so authorise again, from a new address"
		}
	}
	return a, err
}

// words returns the text of a platform's error for people.
func words(err error) string {
	e, ok := errors.AsType[*media.Error](err)
	switch {
	case !ok:
		return err.Error()
	case e.Code == "":
		return e.Message
	default:
		return fmt.Sprintf("The platform returned %s: %s", e.Code, e.Message)
	}
}

// keep stores the login. The pair exists nowhere else, so keep retries while the database is away. It does not retry
// when the database refuses the login.
func (f *Flow) keep(ctx context.Context, login settings.Token, tokens media.Tokens) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		id, err := token.PutLogin(ctx, f.Store, f.Box, login, tokens.Access, tokens.Refresh)
		if err == nil {
			return id, nil
		}
		if token.IsUnusable(err) {
			return 0, err
		}
		if clock.Sleep(ctx, pause) != nil {
			return 0, err
		}
	}
}

func (f *Flow) list(ctx context.Context, id int64) (account.Listed, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := f.Keeper.Reload(ctx, id); err != nil {
		return account.Listed{}, err
	}
	options := account.Options{Platform: f.Platform, Caller: f.Caller, Store: f.Store, Logger: f.Logger}
	return options.List(ctx, f.Caller.ForLogin(id), id)
}

// note writes the outcome for people who wait elsewhere for the callback. The truth is in media_token.
func (f *Flow) note(ctx context.Context, row settings.OAuthState) {
	if err := f.Store.UpdateOAuthState(ctx, row); err != nil {
		f.Logger.Warn("cannot record the outcome of an authorisation", "media", row.Media, "step", row.Step, "err", err)
	}
}
