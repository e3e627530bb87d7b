// Package lookup finds rows of the config database that work needs again and again, without a statement for each: in the process's memory, in a copy in
// Redis, and last in the database.
//
// The copy has a version, which is made of what the rows say: whatever changes a row, an API or a hand, changes the version within seconds. Redis may be
// emptied or be away at any time: then the database is asked.
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

// How old an account may be that is found: the copy is compared with the table every refreshInterval, and is believed for copyMaxAge after the last time; a process asks
// for its version every pollInterval, and believes it for versionMaxAge. What was read from the database is believed for rowMaxAge. None comes to more than a
// minute.
const (
	refreshInterval = 15 * time.Second
	copyMaxAge      = 2 * refreshInterval
	pollInterval    = 3 * time.Second
	versionMaxAge   = 10 * time.Second
	rowMaxAge       = time.Minute
	// hashMaxAge is how long the copy of a version stays that is not the newest any more.
	hashMaxAge = time.Hour
)

const (
	// accountsMax bounds the memory of accounts; when it is full everything is forgotten and asked for again.
	accountsMax = 100_000
	// readsMax is how many accounts a process reads from the database at a time.
	readsMax = 8
	// readBudget is what one account may cost; the caller's own deadline is obeyed beside it.
	readBudget   = 15 * time.Second
	redisBudget  = 200 * time.Millisecond
	fillBudget   = refreshInterval
	fieldsPerPut = 1000
)

// publish makes a version the newest, if the one who has read the table is still the one who may: a process that was paused after its read would put an
// older version over a newer one.
//
// KEYS[1] -> who may, KEYS[2] -> the newest version, KEYS[3] -> the hash of accounts
// ARGV[1] -> who asks, ARGV[2] -> the version, ARGV[3] -> how many accounts it has, ARGV[4], ARGV[5] -> for how long version and hash are kept, in ms
// Output: 1 if it is the newest now, 0 if it is not.
var publish = goredis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('HLEN', KEYS[3]) ~= tonumber(ARGV[3]) then
  return 0
end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[4])
redis.call('PEXPIRE', KEYS[3], ARGV[5])
return 1`)

// Accounts finds accounts by our id. It is safe for concurrent use. Without Start it goes by the database and its memory alone.
type Accounts struct {
	store  *store.Store
	redis  goredis.UniversalClient
	keys   redis.Keys
	causes *telemetry.CauseLog
	found  *prometheus.CounterVec
	budget time.Duration // of a look into Redis

	flights singleflight.Group
	reads   chan struct{}

	mu        sync.Mutex
	version   string // the newest, as far as this process knows
	confirmed time.Time
	known     map[int64]known

	stop context.CancelFunc
	done sync.WaitGroup
}

type known struct {
	settings.AccountRef
	version string // "" of what was read from the database
	read    time.Time
}

// NewAccounts makes the look-up of a process. Its metrics go to registerer, or nowhere when that is nil.
func NewAccounts(s *store.Store, client goredis.UniversalClient, keys redis.Keys, logger *slog.Logger, registerer prometheus.Registerer) *Accounts {
	return &Accounts{
		store: s, redis: client, keys: keys, causes: telemetry.NewCauseLog(logger), known: map[int64]known{}, reads: make(chan struct{}, readsMax), budget: redisBudget,
		found: promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
			Name: "adsync_lookup_accounts_total", Help: "Accounts that were looked up, by where they were found: memory, redis or database.",
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
				a.causes.Report(slog.LevelWarn, "poll", "the copy of the accounts in Redis cannot be used: the database is asked", err)
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

// Account returns an account; sql.ErrNoRows when there is none.
func (a *Accounts) Account(ctx context.Context, id int64) (settings.AccountRef, error) {
	if account, ok := a.remembered(id); ok {
		a.found.WithLabelValues("memory").Inc()
		return account, nil
	}
	// One look for all who ask at the same time, which does not end with the first of them.
	ch := a.flights.DoChan(strconv.FormatInt(id, 10), func() (any, error) {
		if account, ok := a.remembered(id); ok { // Found since it was looked for there.
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

// newest returns the version to go by, or "".
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
			a.confirm("", clock.Mark()) // Nobody waits for it before the next poll.
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

// The keys have one tag: the script needs them on one server.
func (a *Accounts) hash(version string) string { return a.keys.Of("accounts", "of", version) }
func (a *Accounts) newestKey() string          { return a.keys.Of("accounts", "newest") }
func (a *Accounts) turnKey() string            { return a.keys.Of("accounts", "turn") }

// poll asks for the newest version, and compares the copy with the table when it is time and no other process does.
func (a *Accounts) poll(ctx context.Context) error {
	turn := rand.Text()
	mine, err := a.redis.SetNX(ctx, a.turnKey(), turn, refreshInterval).Result()
	if err != nil {
		return fmt.Errorf("take a turn at the accounts: %w", err)
	}
	if mine {
		if err := a.refresh(ctx, turn); err != nil {
			return err
		}
	}
	asked := clock.Mark()
	version, err := a.redis.Get(ctx, a.newestKey()).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return fmt.Errorf("ask for the version of the accounts: %w", err)
	}
	a.confirm(version, asked)
	return nil
}

// refresh reads the table, and makes the copy what it says.
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
		_, _ = sum.Write(text) // A hash takes whatever it is given.
		texts = append(texts, strconv.FormatInt(account.ID, 10), text)
	}
	version := hex.EncodeToString(sum.Sum(nil))
	hash := a.hash(version)
	have, err := a.redis.HLen(ctx, hash).Result()
	if err != nil {
		return fmt.Errorf("look at the copy of the accounts: %w", err)
	}
	if have != int64(len(accounts)) {
		if err := a.fill(ctx, hash, texts); err != nil {
			return fmt.Errorf("copy the accounts: %w", err)
		}
	}
	err = publish.Run(ctx, a.redis, []string{a.turnKey(), a.newestKey(), hash}, turn, version, len(accounts), copyMaxAge.Milliseconds(), hashMaxAge.Milliseconds()).Err()
	if err != nil {
		return fmt.Errorf("say which version of the accounts is the newest: %w", err)
	}
	return nil
}

func (a *Accounts) fill(ctx context.Context, hash string, texts []any) error {
	for len(texts) > 0 {
		n := min(len(texts), 2*fieldsPerPut)
		_, err := a.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
			p.HSet(ctx, hash, texts[:n]...)
			p.PExpire(ctx, hash, hashMaxAge) // One that is not finished goes too.
			return nil
		})
		if err != nil {
			return err
		}
		texts = texts[n:]
	}
	return nil
}
