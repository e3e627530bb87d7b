package settings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"time"

	"gorm.io/gorm"

	"adsync/base/secret"
	"adsync/base/sqldb"
)

// OAuthStep is the progress of a requested authorisation.
type OAuthStep string

// The steps.
const (
	OAuthWaiting    OAuthStep = "waiting"    // for the callback
	OAuthExchanging OAuthStep = "exchanging" // the code is used, or about to be
	OAuthStored     OAuthStep = "stored"     // the login is stored, its accounts are being listed
	OAuthDone       OAuthStep = "done"
	OAuthFailed     OAuthStep = "failed"
)

const (
	// OAuthStateLasts is how long a request accepts its callback.
	OAuthStateLasts = 10 * time.Minute
	// oauthStateKept is how long the rows are kept, so that later callers see the result.
	oauthStateKept = 7 * 24 * time.Hour
)

// OAuthState is a request for an authorisation.
type OAuthState struct {
	ID          string // OAuthID of its state
	Media       string
	AppID       string
	RedirectURI string
	AskedBy     string
	Step        OAuthStep
	// Left is how long the request still accepts its callback; zero or less when that is over.
	Left time.Duration
	// UsedFor is how long ago its callback came, while Step is not waiting.
	UsedFor  time.Duration
	TokenID  int64 // of the login, from OAuthStored on
	Accounts int   // how many were found
	Note     string
}

// ErrNoOAuthState is returned when no authorisation was requested with a state.
var ErrNoOAuthState = errors.New("no authorisation was requested with this state")

// OAuthID returns the id of the request that has a state. Nobody can get the state from it: it is no secret.
func OAuthID(state secret.Text) string { return fingerprint(state) }

// oauthIDs are all ids of requests. A database may refuse to compare the column with other texts.
var oauthIDs = regexp.MustCompile("^[0-9a-f]{64}$")

// fingerprint returns a hash that stands for a secret in a table.
func fingerprint(s secret.Text) string {
	sum := sha256.Sum256([]byte(s.Reveal()))
	return hex.EncodeToString(sum[:])
}

// PutOAuthState stores a new request, with ID, Media, AppID, RedirectURI and AskedBy of row. It deletes requests that
// ended long ago.
func (s LoginKeys) PutOAuthState(ctx context.Context, row OAuthState) error {
	d := s.Config.Dialect()
	err := s.Config.Tx(ctx, func(tx *gorm.DB) error {
		now, err := s.Config.NowTx(tx)
		if err != nil {
			return err
		}
		if err := tx.Table("oauth_state").Where("expires_at < ?",
			sqldb.At(now.Add(-oauthStateKept))).Delete(nil).Error; err != nil {
			return err
		}
		return tx.Exec(
			"INSERT INTO oauth_state (state_hash, media, app_id, redirect_uri, asked_by, asked_at, expires_at, step)"+
				" VALUES (?, ?, ?, ?, ?, "+
				d.Now()+", "+d.NowPlus(OAuthStateLasts)+", ?)",
			row.ID, row.Media, row.AppID, row.RedirectURI, sqldb.Cut(row.AskedBy, 96), string(OAuthWaiting)).Error
	})
	if err != nil {
		return fmt.Errorf("store the state of an authorisation of %s: %w", row.Media, err)
	}
	return nil
}

// OAuthState returns the request of an id, or ErrNoOAuthState.
func (s LoginKeys) OAuthState(ctx context.Context, id string) (OAuthState, error) {
	if !oauthIDs.MatchString(id) {
		return OAuthState{}, ErrNoOAuthState
	}
	var rows []struct {
		Media, AppID, RedirectURI, AskedBy, Step, Note string
		ExpiresAt, UsedAt, Present                     sqldb.Time
		TokenID                                        int64
		Accounts                                       int
	}
	err := s.Config.Writer(ctx).Raw("SELECT media, app_id, redirect_uri, asked_by, step, note, expires_at, used_at, "+
		s.Config.Dialect().Now()+" AS present, token_id, accounts FROM oauth_state WHERE state_hash = ?", id).
		Scan(&rows).Error
	if err != nil {
		return OAuthState{}, fmt.Errorf("read the state of an authorisation: %w", err)
	}
	if len(rows) == 0 {
		return OAuthState{}, ErrNoOAuthState
	}
	r := rows[0]
	row := OAuthState{
		ID: id, Media: r.Media, AppID: r.AppID, RedirectURI: r.RedirectURI, AskedBy: r.AskedBy, Step: OAuthStep(r.Step),
		Left:    r.ExpiresAt.Sub(r.Present.Time),
		TokenID: r.TokenID, Accounts: r.Accounts, Note: r.Note,
	}
	if !r.UsedAt.IsZero() {
		row.UsedFor = r.Present.Sub(r.UsedAt.Time)
	}
	return row, nil
}

// ClaimOAuthState claims the one callback that a request accepts, and reports whether this call succeeded: not if the
// request is claimed already, or too old. It is one statement.
func (s LoginKeys) ClaimOAuthState(ctx context.Context, id string, code secret.Text) (bool, error) {
	d := s.Config.Dialect()
	res := s.Config.Writer(ctx).Exec("UPDATE oauth_state SET step = ?, code_hash = ?, used_at = "+d.Now()+
		" WHERE state_hash = ? AND step = ? AND expires_at > "+d.Now(),
		string(OAuthExchanging), fingerprint(code), id, string(OAuthWaiting))
	if res.Error != nil {
		return false, fmt.Errorf("claim the state of an authorisation: %w", res.Error)
	}
	return res.RowsAffected == 1, nil
}

// OAuthCodeUsed reports whether a code has come with another request of the media already.
func (s LoginKeys) OAuthCodeUsed(ctx context.Context, media, id string, code secret.Text) (bool, error) {
	var n int64
	err := s.Config.Writer(ctx).Table("oauth_state").
		Where("code_hash = ? AND media = ? AND state_hash <> ?", fingerprint(code), media, id).Count(&n).Error
	if err != nil {
		return false, fmt.Errorf("check a code of %s: %w", media, err)
	}
	return n > 0, nil
}

// UpdateOAuthState stores the progress of the request of row's ID: Step, TokenID, Accounts and Note.
func (s LoginKeys) UpdateOAuthState(ctx context.Context, row OAuthState) error {
	err := s.Config.Writer(ctx).Table("oauth_state").Where("state_hash = ?", row.ID).
		Updates(map[string]any{"step": row.Step, "token_id": row.TokenID, "accounts": row.Accounts,
			"note": sqldb.Cut(row.Note, 512)}).Error
	if err != nil {
		return fmt.Errorf("update the state of an authorisation of %s: %w", row.Media, err)
	}
	return nil
}
