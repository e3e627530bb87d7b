package platforms_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/engine"
	"adsync/media"
	"adsync/media/account"
	"adsync/media/mediatest"
	"adsync/test/platforms/simclient"
)

// eachPlatform runs a test on each simulated platform.
func eachPlatform(t *testing.T, test func(t *testing.T, platform media.Platform, server *mediatest.Server)) {
	t.Helper()
	for _, p := range engine.Platforms() {
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			test(t, p, simclient.Serve(p.Name())(t))
		})
	}
}

func TestAccountList_FillsTheTables(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		p := simclient.Start(t, platform, server)
		handler := account.Handler(account.Options{Platform: platform, Caller: p.Client, Store: p.Store,
			Logger: slog.New(slog.DiscardHandler)})
		work := media.Work{Key: task.Key{RunID: 1, Part: fmt.Sprintf("login:%d", p.Login)}}
		for range 2 {
			result, err := handler.Run(t.Context(), work)
			require.NoError(t, err)
			require.Equal(t, len(server.Accounts), result.Rows)
			require.Positive(t, result.Calls)
		}
		for table, query := range map[string]string{
			"media_account": "SELECT COUNT(*) FROM media_account WHERE tier = 'active' AND name <> '' AND " +
				"currency = 'CNY' AND timezone = 'Asia/Shanghai'",
			platform.Name() + "_account": "SELECT COUNT(*) FROM " + platform.Name() +
				"_account WHERE version > 0 AND row_json LIKE '{%}'",
		} {
			db := p.Store.Data
			if table == "media_account" {
				db = p.Store.Config
			}
			var rows int
			require.NoError(t, db.Writer(t.Context()).Raw(query).Scan(&rows).Error)
			require.Equal(t, len(server.Accounts), rows, table)
		}
		_, err := handler.Run(t.Context(), media.Work{Key: task.Key{Part: "login:77"}})
		require.ErrorContains(t, err, "login 77")
	})
}

func TestKeeper_RefreshesAtThePlatformAndKeepsThePair(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		if server.Refresh.IsZero() {
			t.Skip("the platform has no refresh tokens: the next test covers it")
		}
		p := simclient.Start(t, platform, server)
		require.NoError(t, p.AnyCall(t, platform))
		for generation := int64(2); generation <= 4; generation++ {
			server.Expire(t)
			require.NoError(t, p.AnyCall(t, platform))
			row, err := p.Store.Token(t.Context(), p.Login)
			require.NoError(t, err)
			require.Equal(t, generation, row.Generation)
			require.Equal(t, settings.TokenOK, row.State)
		}
	})
}

func TestKeeper_ParksALoginWhosePairIsRevoked(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		p := simclient.Start(t, platform, server)
		require.NoError(t, p.AnyCall(t, platform))
		w := simclient.Of(t, platform.Name(), server)
		w.Order(t, "faults", map[string]any{"kind": "token_death", "media": platform.Name(), "token": "pair"})
		for range 5 {
			err := p.AnyCall(t, platform)
			_, waits := errors.AsType[*media.DeferError](err)
			require.True(t, waits, "it waits, without an attempt: %v", err)
			require.ErrorContains(t, err, "must be authorised again")
		}
		row, err := p.Store.Token(t.Context(), p.Login)
		require.NoError(t, err)
		require.Equal(t, settings.TokenReauthorise, row.State)
		require.NotEmpty(t, row.StateReason)
	})
}
