// Package lookup finds rows of the config database that work needs repeatedly, without a statement for each: in the
// process's memory, in a copy in Redis, and last in the database.
//
// The copy has a version, which is computed from the rows. Any change of a row, by the API or by hand, changes the
// version within seconds. If Redis is emptied or away, the database is read.
package lookup

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/telemetry"
)

// These bound the age of a found account. The copy is compared with the table every refreshInterval, and is used for
// copyMaxAge after the last comparison. A process reads its version every pollInterval, and uses it for
// versionMaxAge. What was read from the database is used for rowMaxAge. None adds up to more than a minute.
const (
	refreshInterval = 15 * time.Second
	copyMaxAge      = 2 * refreshInterval
	pollInterval    = 3 * time.Second
	versionMaxAge   = 10 * time.Second
	rowMaxAge       = time.Minute
	// hashMaxAge is how long the copy of an outdated version stays.
	hashMaxAge = time.Hour
)

const (
	// accountsMax bounds the memory for accounts. When it is full, all are dropped and read again.
	accountsMax = 100_000
	// readsMax is how many accounts a process reads from the database concurrently.
	readsMax = 8
	// readBudget bounds the time for one account. The caller's own deadline also applies.
	readBudget   = 15 * time.Second
	redisBudget  = 200 * time.Millisecond
	fillBudget   = refreshInterval
	fieldsPerPut = 1000
)

// publish makes a version the newest, if its reader of the table still holds the turn: a process that was paused
// after its read would replace a newer version by an older one.
//
// KEYS[1] -> the holder of the turn, KEYS[2] -> the newest version, KEYS[3] -> the hash of accounts
// ARGV[1] -> the caller, ARGV[2] -> the version, ARGV[3] -> its number of accounts, ARGV[4], ARGV[5] -> for how long
// version and hash are kept, in ms
// Output: 1 if it is the newest now, 0 if it is not.
var publish = goredis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('HLEN', KEYS[3]) ~= tonumber(ARGV[3]) then
  return 0
end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[4])
redis.call('PEXPIRE', KEYS[3], ARGV[5])
return 1`)

// Accounts finds accounts by our id. It is safe for concurrent use. Without Start it only uses the database and its
// memory.
type Accounts struct {
	store  *store.Store
	redis  goredis.UniversalClient
	keys   redis.Keys
	causes *telemetry.CauseLog
	found  *prometheus.CounterVec
	budget time.Duration // the time for a read from Redis

	flights singleflight.Group
	reads   chan struct{}

	mu        sync.Mutex
	version   string // the newest that this process knows
	confirmed time.Time
	known     map[int64]known

	stop context.CancelFunc
	done sync.WaitGroup
}

type known struct {
	settings.AccountRef
	version string // empty if it was read from the database
	read    time.Time
}

// NewAccounts returns the look-up of a process. Its metrics go to registerer, or nowhere if that is nil.
func NewAccounts(s *store.Store, client goredis.UniversalClient, keys redis.Keys, logger *slog.Logger,
	registerer prometheus.Registerer) *Accounts {
	return &Accounts{
		store: s, redis: client, keys: keys, causes: telemetry.NewCauseLog(logger), known: map[int64]known{},
		reads: make(chan struct{}, readsMax), budget: redisBudget,
		found: promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
			Name: "adsync_lookup_accounts_total",
			Help: "Accounts that were looked up, by where they were found: memory, redis or database.",
		}, []string{"where"}),
	}
}

// Start implements service.Service.
func (a *Accounts) Start(ctx context.Context) error {
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	a.done.Go(func() {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for {
			err := a.poll(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				a.causes.Report(slog.LevelWarn, "poll", "the copy of the accounts in Redis fails: the database is read", err)
			default:
				a.causes.Clear("poll")
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return nil
}

// Stop implements service.Service.
func (a *Accounts) Stop() {
	if a.stop != nil {
		a.stop()
	}
	a.done.Wait()
}

// Account returns an account; sql.ErrNoRows if it does not exist.
func (a *Accounts) Account(ctx context.Context, id int64) (settings.AccountRef, error) {
	if account, ok := a.remembered(id); ok {
		a.found.WithLabelValues("memory").Inc()
		return account, nil
	}
	// All concurrent callers share one look-up, which does not end with the first of them.
	ch := a.flights.DoChan(strconv.FormatInt(id, 10), func() (any, error) {
		if account, ok := a.remembered(id); ok { // Found since the last search there.
			return account, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBudget)
		defer cancel()
		return a.find(ctx, id)
	})
	select {
	case <-ctx.Done():
		return settings.AccountRef{}, ctx.Err()
	case r := <-ch:
		account, _ := r.Val.(settings.AccountRef)
		return account, r.Err
	}
}

func (a *Accounts) remembered(id int64) (settings.AccountRef, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	have, ok := a.known[id]
	if !ok {
		return settings.AccountRef{}, false
	}
	if have.version == "" {
		return have.AccountRef, clock.Since(have.read) < rowMaxAge
	}
	return have.AccountRef, have.version == a.version && clock.Since(a.confirmed) < versionMaxAge
}

// newest returns the version to use, or "".
func (a *Accounts) newest() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if clock.Since(a.confirmed) >= versionMaxAge {
		return ""
	}
	return a.version
}

func (a *Accounts) confirm(version string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version, a.confirmed = version, at
}

func (a *Accounts) remember(k known) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= accountsMax {
		clear(a.known)
	}
	a.known[k.ID] = k
}

func (a *Accounts) find(ctx context.Context, id int64) (settings.AccountRef, error) {
	if version := a.newest(); version != "" {
		account, err := a.fromRedis(ctx, version, id)
		if err == nil {
			a.found.WithLabelValues("redis").Inc()
			a.remember(known{AccountRef: account, version: version})
			return account, nil
		}
		if !errors.Is(err, goredis.Nil) {
			a.confirm("", clock.Mark()) // No caller waits for it before the next poll.
		}
	}
	select {
	case a.reads <- struct{}{}:
		defer func() { <-a.reads }()
	case <-ctx.Done():
		return settings.AccountRef{}, ctx.Err()
	}
	read := clock.Mark()
	row, err := a.store.Account(ctx, id)
	if err != nil {
		return settings.AccountRef{}, err
	}
	a.found.WithLabelValues("database").Inc()
	account := row.Ref()
	a.remember(known{AccountRef: account, read: read})
	return account, nil
}

func (a *Accounts) fromRedis(ctx context.Context, version string, id int64) (settings.AccountRef, error) {
	ctx, cancel := context.WithTimeout(ctx, a.budget)
	defer cancel()
	text, err := a.redis.HGet(ctx, a.hash(version), strconv.FormatInt(id, 10)).Bytes()
	if err != nil {
		return settings.AccountRef{}, err
	}
	var account settings.AccountRef
	return account, json.Unmarshal(text, &account)
}

// The keys have one tag, because the script needs them on one server.
func (a *Accounts) hash(version string) string { return a.keys.Of("accounts", "of", version) }
func (a *Accounts) newestKey() string          { return a.keys.Of("accounts", "newest") }
func (a *Accounts) turnKey() string            { return a.keys.Of("accounts", "turn") }

// poll reads the newest version, and compares the copy with the table when that is due and no other process does it.
func (a *Accounts) poll(ctx context.Context) error {
	turn := rand.Text()
	mine, err := a.redis.SetNX(ctx, a.turnKey(), turn, refreshInterval).Result()
	if err != nil {
		return fmt.Errorf("take the turn of comparing the accounts: %w", err)
	}
	if mine {
		if err := a.refresh(ctx, turn); err != nil {
			return err
		}
	}
	readAt := clock.Mark()
	version, err := a.redis.Get(ctx, a.newestKey()).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return fmt.Errorf("read the version of the accounts: %w", err)
	}
	a.confirm(version, readAt)
	return nil
}

// refresh reads the table, and updates the copy.
func (a *Accounts) refresh(ctx context.Context, turn string) error {
	ctx, cancel := context.WithTimeout(ctx, fillBudget)
	defer cancel()
	accounts, err := a.store.AccountRefs(ctx)
	if err != nil {
		return err
	}
	texts := make([]any, 0, 2*len(accounts))
	sum := sha256.New()
	for _, account := range accounts {
		text, err := json.Marshal(account)
		if err != nil {
			return fmt.Errorf("account %d: %w", account.ID, err)
		}
		_, _ = sum.Write(text) // A hash accepts everything.
		texts = append(texts, strconv.FormatInt(account.ID, 10), text)
	}
	version := hex.EncodeToString(sum.Sum(nil))
	hash := a.hash(version)
	have, err := a.redis.HLen(ctx, hash).Result()
	if err != nil {
		return fmt.Errorf("read the copy of the accounts: %w", err)
	}
	if have != int64(len(accounts)) {
		if err := a.fill(ctx, hash, texts); err != nil {
			return fmt.Errorf("copy the accounts: %w", err)
		}
	}
	err = publish.Run(ctx, a.redis, []string{a.turnKey(), a.newestKey(), hash}, turn, version, len(accounts),
		copyMaxAge.Milliseconds(), hashMaxAge.Milliseconds()).Err()
	if err != nil {
		return fmt.Errorf("publish the version of the accounts: %w", err)
	}
	return nil
}

func (a *Accounts) fill(ctx context.Context, hash string, texts []any) error {
	for len(texts) > 0 {
		n := min(len(texts), 2*fieldsPerPut)
		_, err := a.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
			p.HSet(ctx, hash, texts[:n]...)
			p.PExpire(ctx, hash, hashMaxAge) // An unfinished one expires too.
			return nil
		})
		if err != nil {
			return err
		}
		texts = texts[n:]
	}
	return nil
}
