package settings

import (
	"context"
	"fmt"
)

// Apps returns all developer apps, including disabled ones.
func (s LoginKeys) Apps(ctx context.Context) ([]App, error) {
	var apps []App
	if err := s.Config.Writer(ctx).Order("media, app_id").Find(&apps).Error; err != nil {
		return nil, fmt.Errorf("read the apps: %w", err)
	}
	return apps, nil
}

// SealedTokens returns the sealed tokens of all logins, with only ID, Generation, Access and Refresh set.
func (s LoginKeys) SealedTokens(ctx context.Context) ([]Token, error) {
	var tokens []Token
	if err := s.Config.Writer(ctx).Select("id, generation, access_token, refresh_token").Order("id").Find(
		&tokens).Error; err != nil {
		return nil, fmt.Errorf("read the logins' tokens: %w", err)
	}
	return tokens, nil
}

// ResealApp replaces an app's secret by the same secret sealed again, and reports whether it did: not if the secret
// was changed meanwhile.
func (s LoginKeys) ResealApp(ctx context.Context, app App, sealed string) (bool, error) {
	res := s.Config.Writer(ctx).Model(&app).Where("secret = ?", app.Secret).Update("secret", sealed)
	if res.Error != nil {
		return false, fmt.Errorf("reseal app %s of %s: %w", app.ID, app.Media, res.Error)
	}
	return res.RowsAffected == 1, nil
}

// ResealTokens replaces a login's tokens by the same tokens sealed again, and reports whether it did: not if a newer
// pair came meanwhile. The generation stays, since the tokens do.
func (s LoginKeys) ResealTokens(ctx context.Context, t Token, access, refresh string) (bool, error) {
	res := s.Config.Writer(ctx).Model(&Token{}).
		Where("id = ? AND generation = ? AND access_token = ? AND refresh_token = ?", t.ID,
			t.Generation, t.Access, t.Refresh).
		Updates(map[string]any{"access_token": access, "refresh_token": refresh})
	if res.Error != nil {
		return false, fmt.Errorf("reseal the tokens of login %d: %w", t.ID, res.Error)
	}
	return res.RowsAffected == 1, nil
}
