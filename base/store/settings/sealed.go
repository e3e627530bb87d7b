package settings

import (
	"context"
	"fmt"
)

// Apps returns all developer apps, also those that are disabled.
func (s LoginKeys) Apps(ctx context.Context) ([]App, error) {
	rows, err := s.Config.Writer(ctx).Raw("SELECT media, app_id, secret, enabled FROM media_app ORDER BY media, app_id").Rows()
	if err != nil {
		return nil, fmt.Errorf("read the apps: %w", err)
	}
	defer rows.Close()
	var apps []App
	for rows.Next() {
		var a App
		if err := rows.Scan(&a.Media, &a.ID, &a.Secret, &a.Enabled); err != nil {
			return nil, fmt.Errorf("read the apps: %w", err)
		}
		apps = append(apps, a)
	}
	return apps, rows.Err()
}

// SealedTokens returns the sealed tokens of all logins: of the rows only ID, Generation, Access and Refresh.
func (s LoginKeys) SealedTokens(ctx context.Context) ([]Token, error) {
	rows, err := s.Config.Writer(ctx).Raw("SELECT id, generation, access_token, refresh_token FROM media_token ORDER BY id").Rows()
	if err != nil {
		return nil, fmt.Errorf("read the logins' tokens: %w", err)
	}
	defer rows.Close()
	var tokens []Token
	for rows.Next() {
		var t Token
		if err := rows.Scan(&t.ID, &t.Generation, &t.Access, &t.Refresh); err != nil {
			return nil, fmt.Errorf("read the logins' tokens: %w", err)
		}
		tokens = append(tokens, t)
	}
	return tokens, rows.Err()
}

// ResealApp puts the same secret of an app in its place, sealed anew, and reports whether it did: not when somebody has changed it meanwhile.
func (s LoginKeys) ResealApp(ctx context.Context, app App, sealed string) (bool, error) {
	res := s.Config.Writer(ctx).Exec("UPDATE media_app SET secret = ?, updated_at = "+s.Config.Dialect().Now()+" WHERE media = ? AND app_id = ? AND secret = ?",
		sealed, app.Media, app.ID, app.Secret)
	if res.Error != nil {
		return false, fmt.Errorf("reseal app %s of %s: %w", app.ID, app.Media, res.Error)
	}
	return res.RowsAffected == 1, nil
}

// ResealTokens puts the same tokens of a login in their places, sealed anew, and reports whether it did: not when a newer pair has come meanwhile. The
// generation stays, for the tokens do.
func (s LoginKeys) ResealTokens(ctx context.Context, t Token, access, refresh string) (bool, error) {
	res := s.Config.Writer(ctx).Exec("UPDATE media_token SET access_token = ?, refresh_token = ?, updated_at = "+s.Config.Dialect().Now()+
		" WHERE id = ? AND generation = ? AND access_token = ? AND refresh_token = ?",
		access, refresh, t.ID, t.Generation, t.Access, t.Refresh)
	if res.Error != nil {
		return false, fmt.Errorf("reseal the tokens of login %d: %w", t.ID, res.Error)
	}
	return res.RowsAffected == 1, nil
}
