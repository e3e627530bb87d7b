package lookup

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

// Without Redis what was read is used for a minute, however often it is requested.
func TestAccounts_WithoutRedisARowAges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &testBundle{store: storetest.NewSQLite(t)}
		_, err := b.store.PutAccounts(t.Context(), "tulip", 1,
			[]settings.Account{{ExternalID: "e", Timezone: "Asia/Shanghai", Currency: "CNY"}})
		require.NoError(t, err)
		a := NewAccounts(b.store, nil, b.keys, slog.New(slog.DiscardHandler), nil)
		require.Equal(t, "CNY", currencyOf(t, a, 1))
		for i := range 3 {
			changed := fmt.Sprint("C", i)
			before := currencyOf(t, a, 1)
			b.set(t, 1, changed)
			for range 4 {
				time.Sleep(rowMaxAge/4 - time.Millisecond)
				require.Equal(t, before, currencyOf(t, a, 1))
			}
			time.Sleep(4 * time.Millisecond)
			require.Equal(t, changed, currencyOf(t, a, 1))
		}
	})
}

// A version of Redis is used for versionMaxAge after it was read, and no longer, even if no process notices that
// Redis is away.
func TestAccounts_AVersionAgesIfItIsNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &testBundle{store: storetest.NewSQLite(t)}
		_, err := b.store.PutAccounts(t.Context(), "tulip", 1,
			[]settings.Account{{ExternalID: "e", Timezone: "Asia/Shanghai", Currency: "CNY"}})
		require.NoError(t, err)
		a := NewAccounts(b.store, nil, b.keys, slog.New(slog.DiscardHandler), nil)
		now := time.Now()
		a.confirm("v", now)
		account, err := b.store.Account(t.Context(), 1)
		require.NoError(t, err)
		a.remember(known{AccountRef: account.Ref(), version: "v"})
		b.set(t, 1, "USD")
		time.Sleep(versionMaxAge - time.Millisecond)
		require.Equal(t, "CNY", currencyOf(t, a, 1))
		require.Equal(t, "v", a.newest())
		time.Sleep(time.Millisecond)
		require.Empty(t, a.newest())
		require.Equal(t, "USD", currencyOf(t, a, 1))
	})
}

// What Redis keeps expires: another process takes a turn that was not ended, and a copy that is not compared is no
// longer used.
func TestAccounts_KeysInRedisExpire(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	a := b.process()
	b.poll(t, a)
	for key, c := range map[string]struct{ more, most time.Duration }{
		a.turnKey(): {0, refreshInterval}, a.newestKey(): {refreshInterval, copyMaxAge},
		a.hash(a.newest()): {copyMaxAge, hashMaxAge},
	} {
		left, err := b.redis.PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		require.Greater(t, left, c.more, key)
		require.LessOrEqual(t, left, c.most, key)
	}
}
