package settings_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/storetest"
)

func TestParkDeadLogins_ParksMoreThanOneStatementReads(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	require.NoError(t,
		s.Config.Writer(t.Context()).Exec(
			`INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at,
  refresh_expires_at, state, state_reason)
VALUES (1, 'tulip', 'app', 'one', '', '', '2026-11-21 10:00:00', '2026-12-21 10:00:00', 'reauthorise',
  'refused')`).Error)
	const n = 503
	storetest.AddRows(t, s.Config, "media_account (id, media, external_id, token_id, tier, timezone)", n,
		func(i int) []any {
			return []any{i + 1, "tulip", fmt.Sprint("e", i), 1, "active", "Asia/Shanghai"}
		})
	parked, err := s.ParkDeadLogins(t.Context(), "tulip", storetest.Moment)
	require.NoError(t, err)
	require.Equal(t, n, parked)
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i + 1)
	}
	still, err := s.StillParked(t.Context(), ids)
	require.NoError(t, err)
	require.Len(t, still, n)
}
