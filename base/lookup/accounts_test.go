package lookup

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"adsync/base/redis"
	"adsync/base/redis/redistest"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

// testBundle is a table of accounts, and processes that look them up.
type testBundle struct {
	store  *store.Store
	redis  goredis.UniversalClient
	keys   redis.Keys
	single atomic.Int64 // statements for one account
	whole  atomic.Int64 // and for all
}

func setup(t *testing.T, accounts int) *testBundle {
	t.Helper()
	b := &testBundle{store: storetest.New(t)}
	b.redis, b.keys = redistest.New(t)
	all := make([]settings.Account, accounts)
	for i := range all {
		all[i] = settings.Account{ExternalID: fmt.Sprintf("e%04d", i), Timezone: "Asia/Shanghai", Currency: "CNY"}
	}
	_, err := b.store.PutAccounts(t.Context(), "tulip", 1, all)
	require.NoError(t, err)
	count := func(db *gorm.DB) {
		if strings.Contains(db.Statement.SQL.String(), "`media_account` WHERE id = ") {
			b.single.Add(1)
		}
		if strings.Contains(db.Statement.SQL.String(), "`media_account` ORDER BY id") {
			b.whole.Add(1)
		}
	}
	callbacks := b.store.Config.Writer(t.Context()).Callback()
	require.NoError(t, callbacks.Query().After("gorm:query").Register("count", count))
	require.NoError(t, callbacks.Row().After("gorm:row").Register("count", count))
	return b
}

func (b *testBundle) process() *Accounts {
	a := NewAccounts(b.store, b.redis, b.keys, slog.New(slog.DiscardHandler), nil)
	a.budget = time.Minute // On a busy machine Redis is slow but not away.
	return a
}

func (b *testBundle) poll(t *testing.T, processes ...*Accounts) {
	t.Helper()
	for _, p := range processes {
		require.NoError(t, p.poll(t.Context()))
	}
}

// turn advances the time until the table is read again.
func (b *testBundle) turn(t *testing.T) {
	t.Helper()
	require.NoError(t, b.redis.Del(t.Context(), b.process().turnKey()).Err())
}

func (b *testBundle) set(t *testing.T, id int64, currency string) {
	t.Helper()
	require.NoError(t, b.store.Config.Writer(t.Context()).Exec("UPDATE media_account SET currency = ? WHERE id = ?",
		currency, id).Error)
}

func currencyOf(t *testing.T, a *Accounts, id int64) string {
	t.Helper()
	account, err := a.Account(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, id, account.ID)
	return account.Currency
}

func TestAccounts_NeedNoStatementEach(t *testing.T) {
	t.Parallel()
	const n = 100 // few enough that the version, which is used for ten seconds, need not be read again
	b := setup(t, n)
	first, second, without := b.process(), b.process(), b.process()
	b.poll(t, first, second)
	for _, p := range []*Accounts{first, second} {
		for range 3 {
			for id := range int64(n) {
				require.Equal(t, "CNY", currencyOf(t, p, id+1))
			}
		}
	}
	require.Zero(t, b.single.Load())
	require.EqualValues(t, 1, b.whole.Load(), "of all processes, one reads the table")

	// As it would be without the copy: one for each account that the process has not seen within the last minute.
	for id := range int64(n) {
		require.Equal(t, "CNY", currencyOf(t, without, id+1))
	}
	require.EqualValues(t, n, b.single.Load())
}

// Every change of a row changes the version, also by hand, and a row that is deleted by hand is gone.
func TestAccounts_FollowEachChange(t *testing.T) {
	t.Parallel()
	b := setup(t, 3)
	first, second := b.process(), b.process()
	b.poll(t, first, second)
	require.Equal(t, "CNY", currencyOf(t, first, 2))
	require.Equal(t, "CNY", currencyOf(t, second, 2))

	b.set(t, 2, "USD")
	require.NoError(t, b.store.Config.Writer(t.Context()).Exec("DELETE FROM media_account WHERE id = 3").Error)
	b.turn(t)
	b.poll(t, second, first)
	require.Equal(t, "USD", currencyOf(t, first, 2))
	require.Equal(t, "USD", currencyOf(t, second, 2))
	_, err := first.Account(t.Context(), 3)
	require.ErrorIs(t, err, sql.ErrNoRows)

	// This one was added after the table was read.
	ids, err := b.store.PutAccounts(t.Context(), "tulip", 1,
		[]settings.Account{{ExternalID: "new", Timezone: "UTC", Currency: "EUR"}})
	require.NoError(t, err)
	require.Equal(t, "EUR", currencyOf(t, first, ids["new"]))
}

func TestAccounts_AreCorrectAfterAFlush(t *testing.T) {
	t.Parallel()
	b := setup(t, 50)
	a := b.process()
	b.poll(t, a)
	require.Equal(t, "CNY", currencyOf(t, a, 1))
	b.set(t, 1, "USD")
	b.set(t, 2, "USD")
	for _, key := range b.redis.Keys(t.Context(), b.keys.Prefix()+":*").Val() {
		require.NoError(t, b.redis.Del(t.Context(), key).Err())
	}
	require.Equal(t, "USD", currencyOf(t, a, 2), "before the copy is filled again")
	require.EqualValues(t, 1, b.single.Load())

	b.poll(t, a)
	require.Equal(t, "USD", currencyOf(t, a, 1))
	require.Equal(t, "CNY", currencyOf(t, a, 3))
	require.EqualValues(t, 1, b.single.Load())
}

func TestAccounts_ConcurrentCallersShareOneStatement(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	a := b.process()
	// No caller continues before all have come.
	for range readsMax {
		a.reads <- struct{}{}
	}
	var all sync.WaitGroup
	arrived := make(chan struct{}, 200)
	for range 200 {
		all.Go(func() {
			arrived <- struct{}{}
			account, err := a.Account(context.Background(), 1)
			if err != nil || account.Currency != "CNY" {
				t.Errorf("%+v, %v", account, err)
			}
		})
	}
	for range 200 {
		<-arrived
	}
	for range readsMax {
		<-a.reads
	}
	all.Wait()
	require.EqualValues(t, 1, b.single.Load(), "callers after the first answer find it in the memory")
}

func TestAccounts_WorkWithoutRedis(t *testing.T) {
	t.Parallel()
	b := setup(t, 5)
	a := b.process()
	b.poll(t, a)
	require.Equal(t, "CNY", currencyOf(t, a, 1))
	require.NoError(t, b.redis.Close())
	require.Equal(t, "CNY", currencyOf(t, a, 2))
	require.EqualValues(t, 1, b.single.Load())
	require.Error(t, a.poll(t.Context()))
	require.Equal(t, "CNY", currencyOf(t, a, 3))
	require.Empty(t, a.newest(), "no caller waits for a Redis that does not answer")

	// A caller whose context ends does not affect the others, and gets its own reason.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Account(ctx, 4)
	require.ErrorIs(t, err, context.Canceled)
}

// A process that was paused between reading the table and publishing must not restore an older version.
func TestAccounts_APausedProcessRestoresNothingOld(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	a := b.process()
	b.poll(t, a)
	b.set(t, 1, "USD")
	b.turn(t)
	b.poll(t, a)
	require.Equal(t, "USD", currencyOf(t, a, 1))

	b.set(t, 1, "CNY")
	require.NoError(t, a.refresh(t.Context(), "the turn of long ago"))
	b.poll(t, a)
	require.Equal(t, "USD", currencyOf(t, a, 1), "what it read is not published")
}

func TestAccounts_StartsAndStops(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	a := b.process()
	a.Stop()
	require.NoError(t, a.Start(t.Context()))
	require.Eventually(t, func() bool { return a.newest() != "" }, time.Minute, time.Millisecond)
	a.Stop()
	a.Stop()
	require.Equal(t, "CNY", currencyOf(t, a, 1))
	require.Zero(t, b.single.Load())
}

func TestAccounts_ReportWhichTheirPlatformHasClosed(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	for id, parked := range map[int64]string{1: "frozen: invalid error 32211", 2: "login: it waits for a person",
		3: "a dispute", 4: "revoked: invalid error 12201"} {
		require.NoError(t,
			b.store.Config.Writer(t.Context()).Exec("UPDATE media_account SET parked = ?, bound = ? WHERE id = ?", parked,
				id != 4, id).Error)
	}
	closed := func(a *Accounts) (words []string) {
		for id := range int64(4) {
			account, err := a.Account(t.Context(), id+1)
			require.NoError(t, err)
			words = append(words, account.Closed)
		}
		return words
	}
	want := []string{"frozen", "", "", ""}
	require.Equal(t, want, closed(b.process()), "from the database")
	a := b.process()
	b.poll(t, a)
	require.Equal(t, want, closed(a), "from the copy")
	// It comes back: the copy is then another one.
	require.NoError(t, b.store.Config.Writer(t.Context()).Exec("UPDATE media_account SET parked = ''").Error)
	b.turn(t)
	b.poll(t, a)
	require.Equal(t, []string{"", "", "", ""}, closed(a))
}
