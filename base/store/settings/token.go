package settings

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// The states of a login.
const (
	TokenOK          = "ok"
	TokenReauthorise = "reauthorise" // the platform refused its refresh token: a person must authorise it again
)

// App is a row of media_app: a developer app of a platform.
type App struct {
	Media   string `gorm:"primaryKey"`
	ID      string `gorm:"column:app_id;primaryKey"`
	Secret  string // sealed
	Enabled bool
}

// TableName implements schema.Tabler.
func (App) TableName() string { return "media_app" }

// BeforeUpdate is called by gorm.
func (App) BeforeUpdate(tx *gorm.DB) error { return sqldb.Touch(tx) }

// PutApp writes an app, or replaces the one of the same media and id.
func (s LoginKeys) PutApp(ctx context.Context, app App) error {
	enabled := 0
	if app.Enabled {
		enabled = 1
	}
	err := s.Config.Upsert(s.Config.Writer(ctx), sqldb.Table{
		Name: "media_app", Key: []string{"media", "app_id"}, Columns: []string{"secret", "enabled"},
	}, [][]any{{app.Media, app.ID, app.Secret, enabled}})
	if err != nil {
		return fmt.Errorf("put app %s of %s: %w", app.ID, app.Media, err)
	}
	return nil
}

// App returns an app, or sql.ErrNoRows.
func (s LoginKeys) App(ctx context.Context, media, id string) (App, error) {
	var app App
	if err := sqldb.One(s.Config.Writer(ctx).Where("media = ? AND app_id = ?", media, id), &app); err != nil {
		return App{}, fmt.Errorf("read app %s of %s: %w", id, media, err)
	}
	return app, nil
}

// Token is a row of media_token: the tokens of a login.
type Token struct {
	ID             int64
	Media          string
	AppID          string
	Login          string
	Access         string    `gorm:"column:access_token"`  // sealed
	Refresh        string    `gorm:"column:refresh_token"` // sealed
	AccessExpires  time.Time `gorm:"column:access_expires_at;serializer:time"`
	RefreshExpires time.Time `gorm:"column:refresh_expires_at;serializer:time"`
	// Generation rises with each new pair of tokens.
	Generation int64
	// IntentHolder is about to refresh the tokens, and no other process may until IntentUntil. IntentTries counts the
	// tries since the last new pair.
	IntentHolder string
	IntentUntil  time.Time `gorm:"serializer:time"`
	IntentTries  int
	State        string
	StateReason  string
	// Name is the login's name at the platform; only PutLogin takes it, and only Token returns it. Choose is only for
	// PutLogin: whether the accounts of a new login wait for a choice.
	Name   string `gorm:"-"`
	Choose bool   `gorm:"-"`
}

// TableName implements schema.Tabler.
func (Token) TableName() string { return "media_token" }

// BeforeUpdate is called by gorm.
func (Token) BeforeUpdate(tx *gorm.DB) error { return sqldb.Touch(tx) }

// Token returns a login's row, or sql.ErrNoRows.
func (s LoginKeys) Token(ctx context.Context, id int64) (Token, error) {
	var t Token
	if err := sqldb.One(s.Config.Writer(ctx).Where("id = ?", id), &t); err != nil {
		return Token{}, fmt.Errorf("read login %d: %w", id, err)
	}
	err := s.Config.Writer(ctx).Raw("SELECT name FROM media_login WHERE token_id = ?", id).Row().Scan(&t.Name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Token{}, fmt.Errorf("read the name of login %d: %w", id, err)
	}
	return t, nil
}

// SealFunc seals a login's pair of tokens for its row. The sealed texts are bound to the row's id.
type SealFunc func(id int64) (access, refresh string, err error)

// PutLogin writes the tokens of a login that has just been authorised, and returns its id. An existing login takes
// them as its next generation and is in state ok again, and the accounts for which it is the chosen one are pulled
// with it again.
func (s LoginKeys) PutLogin(ctx context.Context, t Token, seal SealFunc) (int64, error) {
	if t.AccessExpires.IsZero() || t.RefreshExpires.IsZero() {
		return 0, fmt.Errorf("put login %s of %s: AccessExpires and RefreshExpires must be set", t.Login, t.Media)
	}
	var id int64
	err := s.Config.Tx(ctx, func(tx *gorm.DB) error {
		row := func() *sql.Row {
			return tx.Clauses(sqldb.ForUpdate).Model(&Token{}).Select("id").
				Where("media = ? AND app_id = ? AND login = ?", t.Media, t.AppID, t.Login).Row()
		}
		err := row().Scan(&id)
		isNew := errors.Is(err, sql.ErrNoRows)
		if isNew {
			// Sealing the tokens needs the id, so the row comes first, at a generation that no reader sees.
			err = tx.Exec(s.Config.Dialect().InsertIgnore()+"media_token (media, app_id, login, access_token, refresh_token,"+
				" access_expires_at, refresh_expires_at, generation) VALUES (?, ?, ?, '', '', ?, ?, 0)",
				t.Media, t.AppID, t.Login, sqldb.At(t.AccessExpires), sqldb.At(t.RefreshExpires)).Error
			if err == nil {
				err = row().Scan(&id)
			}
		}
		if err != nil {
			return err
		}
		sealed := t
		if sealed.Access, sealed.Refresh, err = seal(id); err != nil {
			return err
		}
		err = tx.Model(&Token{}).Where("id = ?", id).Updates(nextGeneration(sealed)).Error
		if err == nil {
			err = nameLogin(s.Config, tx, id, t.Name, isNew && t.Choose)
		}
		if err != nil || isNew {
			return err
		}
		return routeLogin(s.Config, tx, id)
	})
	if err != nil {
		return 0, fmt.Errorf("put login %s of %s: %w", t.Login, t.Media, err)
	}
	return id, nil
}

// nextGeneration returns the new values of a row that takes the tokens of t.
func nextGeneration(t Token) map[string]any {
	return map[string]any{
		"access_token": t.Access, "refresh_token": t.Refresh, "generation": gorm.Expr("generation + 1"),
		"access_expires_at": sqldb.At(t.AccessExpires), "refresh_expires_at": sqldb.At(t.RefreshExpires),
		"intent_holder": "", "intent_until": nil, "intent_tries": 0, "rest_reason": "", "state": TokenOK, "state_reason": "",
	}
}

// ClaimRefresh declares holder's intent to refresh the tokens of a generation, for so long by the database's time. It
// reports whether it succeeded: not if the generation has passed, the login is not ok, or another intent is open. It
// is one statement, so that of any number of processes one wins.
func (s LoginKeys) ClaimRefresh(
	ctx context.Context, id, generation int64, holder string, lasts time.Duration,
) (bool, error) {
	d := s.Config.Dialect()
	res := s.Config.Writer(ctx).Model(&Token{}).
		Where("id = ? AND generation = ? AND state = ? AND (intent_until IS NULL OR intent_until <= "+d.Now()+")", id,
			generation, TokenOK).
		Updates(map[string]any{
			"intent_holder": holder, "intent_until": gorm.Expr(d.NowPlus(lasts)), "intent_tries": gorm.Expr("intent_tries + 1"),
		})
	if res.Error != nil {
		return false, fmt.Errorf("claim the refresh of login %d: %w", id, res.Error)
	}
	return res.RowsAffected == 1, nil
}

// IntentLeft returns how much of a login's open intent is left by the database's time; zero or less if none is open.
func (s LoginKeys) IntentLeft(ctx context.Context, t Token) (time.Duration, error) {
	if t.IntentUntil.IsZero() {
		return 0, nil
	}
	now, err := s.Config.Now(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the time for login %d: %w", t.ID, err)
	}
	return t.IntentUntil.Sub(now), nil
}

// StoreTokens stores next as the generation after the given one and reports whether it did. An empty next.Refresh and
// a zero next.RefreshExpires leave the present values. It does not matter who holds the intent: a pair that a
// platform has just issued is worth more than the state of a holder whose try was refused because of it.
func (s LoginKeys) StoreTokens(ctx context.Context, id, generation int64, next Token) (bool, error) {
	set := nextGeneration(next)
	if next.Refresh == "" {
		delete(set, "refresh_token")
	}
	if next.RefreshExpires.IsZero() {
		delete(set, "refresh_expires_at")
	}
	res := s.Config.Writer(ctx).Model(&Token{}).Where("id = ? AND generation = ?", id, generation).Updates(set)
	if res.Error != nil {
		return false, fmt.Errorf("store tokens of login %d: %w", id, res.Error)
	}
	return res.RowsAffected == 1, nil
}

// PostponeRefresh replaces holder's intent, whose try failed for the given reason, by a pause: no process may try
// until it ends.
func (s LoginKeys) PostponeRefresh(ctx context.Context, id int64, holder string, pause time.Duration,
	reason string) error {
	err := s.Config.Writer(ctx).Model(&Token{}).Where("id = ? AND intent_holder = ?", id, holder).Updates(map[string]any{
		"intent_holder": "", "intent_until": gorm.Expr(s.Config.Dialect().NowPlus(pause)),
		"rest_reason": sqldb.Cut(reason, 512),
	}).Error
	if err != nil {
		return fmt.Errorf("postpone the refresh of login %d: %w", id, err)
	}
	return nil
}

// ParkLogin marks a login whose refresh token the platform refused to holder, and reports whether this call did so:
// not if a newer pair or another holder has come. RouteLogin then chooses other logins for its accounts.
func (s LoginKeys) ParkLogin(ctx context.Context, id, generation int64, holder, reason string) (bool, error) {
	res := s.Config.Writer(ctx).Model(&Token{}).Where("id = ? AND generation = ? AND intent_holder = ?",
		id, generation, holder).
		Updates(map[string]any{
			"state": TokenReauthorise, "state_reason": sqldb.Cut(reason, 512), "intent_holder": "", "intent_until": nil,
			"rest_reason": "",
		})
	if res.Error != nil {
		return false, fmt.Errorf("park login %d: %w", id, res.Error)
	}
	return res.RowsAffected == 1, nil
}
