// Package timer reports early which subtasks are due: sorted sets in Redis, by the time of the next send.
//
// The table subtask_due is the source of truth. The timer's entries are hints that may be missing, wrong or old: its
// readers look up the rows, and an occasional scan of the table finds what was never added or was lost.
package timer

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/task"
	"adsync/base/telemetry"
)

const (
	// shards is the number of sets: in a cluster they spread over the servers. Every process must use the same number.
	shards     = 16
	addTimeout = 200 * time.Millisecond
	addPause   = 2 * time.Second
	readBudget = 2 * time.Second
)

// Entry is a subtask to be sent again.
type Entry struct {
	task.Key
	Delivery int // the delivery after which it waits
	DueAt    time.Time
}

// Timer keeps the entries. It is safe for concurrent use.
type Timer struct {
	// AddTimeout is how long a Redis that does not answer may delay an outcome, once in two seconds. New sets it to 200
	// ms. It may be changed before the first use.
	AddTimeout time.Duration

	client  goredis.UniversalClient
	keys    [shards]string
	causes  *telemetry.CauseLog
	added   prometheus.Counter
	dropped prometheus.Counter
	errors  *prometheus.CounterVec

	mu     sync.Mutex
	paused time.Time // on this process's clock: until then nothing is added
}

// New returns a timer that is shared by all processes with the same keys. Its metrics go to registerer, or nowhere if
// that is nil.
func New(client goredis.UniversalClient, keys redis.Keys, logger *slog.Logger,
	registerer prometheus.Registerer) *Timer {
	f := promauto.With(registerer)
	t := &Timer{
		AddTimeout: addTimeout,

		client: client,
		causes: telemetry.NewCauseLog(logger),
		added: f.NewCounter(prometheus.CounterOpts{Name: "adsync_timer_added_total",
			Help: "Waiting subtasks that were added to the timer in Redis."}),
		dropped: f.NewCounter(prometheus.CounterOpts{Name: "adsync_timer_dropped_total",
			Help: "Waiting subtasks that were not added, because Redis did not answer. The scan of subtask_due finds them."}),
		errors: f.NewCounterVec(prometheus.CounterOpts{Name: "adsync_timer_errors_total",
			Help: "Failed calls of the timer in Redis."}, []string{"call"}),
	}
	for i := range t.keys {
		t.keys[i] = keys.Of("due-" + strconv.Itoa(i))
	}
	return t
}

// Add adds entries, or moves existing ones to their new time. It is best effort and takes at most AddTimeout: while
// Redis does not answer, entries are dropped.
func (t *Timer) Add(ctx context.Context, entries []Entry) {
	if len(entries) == 0 {
		return
	}
	if t.suspended() {
		t.dropped.Add(float64(len(entries)))
		return
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, t.AddTimeout)
	defer cancel()
	var members [shards][]goredis.Z
	for _, e := range entries {
		m := member(e)
		s := shard(m)
		members[s] = append(members[s], goredis.Z{Score: float64(e.DueAt.UnixMilli()), Member: m})
	}
	_, err := t.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for s, list := range members {
			if len(list) > 0 {
				p.ZAdd(ctx, t.keys[s], list...)
			}
		}
		return nil
	})
	if err != nil {
		t.dropped.Add(float64(len(entries)))
		t.suspend()
		t.failed(caller, "add", err)
		return
	}
	t.added.Add(float64(len(entries)))
	t.causes.Clear("add")
}

func (t *Timer) suspended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return clock.Mark().Before(t.paused)
}

func (t *Timer) suspend() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused = clock.Mark().Add(addPause)
}

// failed counts and logs a failed call, unless the caller's context has ended.
func (t *Timer) failed(caller context.Context, call string, err error) {
	if caller.Err() != nil {
		return
	}
	t.errors.WithLabelValues(call).Inc()
	t.causes.Report(slog.LevelWarn, call, "the timer in Redis fails; retries come from the database", err, "call", call)
}

// Due returns about limit due entries, the earliest of each set first. They stay until they are removed.
func (t *Timer) Due(ctx context.Context, now time.Time, limit int) ([]Entry, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, readBudget)
	defer cancel()
	each := int64(max(limit/shards, 1))
	answers, err := t.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for _, key := range t.keys {
			p.ZRangeArgsWithScores(ctx, goredis.ZRangeArgs{
				Key: key, ByScore: true, Start: "-inf", Stop: strconv.FormatInt(now.UnixMilli(), 10), Count: each,
			})
		}
		return nil
	})
	if err != nil {
		t.failed(caller, "read", err)
		return nil, fmt.Errorf("read the timer: %w", err)
	}
	t.causes.Clear("read")
	var due []Entry
	var foreign []any
	for s, answer := range answers {
		list, ok := answer.(*goredis.ZSliceCmd)
		if !ok {
			continue
		}
		foreign = foreign[:0]
		for _, z := range list.Val() {
			text, _ := z.Member.(string)
			e, ok := parse(text)
			if !ok {
				foreign = append(foreign, text)
				continue
			}
			e.DueAt = time.UnixMilli(int64(z.Score)).UTC()
			due = append(due, e)
		}
		if len(foreign) > 0 { // Otherwise they would stay at the head forever.
			t.client.ZRem(ctx, t.keys[s], foreign...)
		}
	}
	return due, nil
}

// Remove removes entries, whatever their time.
func (t *Timer) Remove(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, readBudget)
	defer cancel()
	var members [shards][]any
	for _, e := range entries {
		m := member(e)
		s := shard(m)
		members[s] = append(members[s], m)
	}
	_, err := t.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for s, list := range members {
			if len(list) > 0 {
				p.ZRem(ctx, t.keys[s], list...)
			}
		}
		return nil
	})
	if err != nil {
		t.failed(caller, "remove", err)
		return fmt.Errorf("remove from the timer: %w", err)
	}
	t.causes.Clear("remove")
	return nil
}

// member returns an entry's text. The part is last, because only it may contain any character.
func member(e Entry) string {
	b := strconv.AppendInt(nil, e.RunID, 10)
	b = strconv.AppendInt(append(b, ':'), e.AccountID, 10)
	b = strconv.AppendInt(append(b, ':'), int64(e.Delivery), 10)
	return string(append(b, ':')) + e.Part
}

func parse(text string) (Entry, bool) {
	fields := strings.SplitN(text, ":", 4)
	if len(fields) != 4 {
		return Entry{}, false
	}
	run, err1 := strconv.ParseInt(fields[0], 10, 64)
	account, err2 := strconv.ParseInt(fields[1], 10, 64)
	delivery, err3 := strconv.Atoi(fields[2])
	if err1 != nil || err2 != nil || err3 != nil {
		return Entry{}, false
	}
	return Entry{Key: task.Key{RunID: run, AccountID: account, Part: fields[3]}, Delivery: delivery}, true
}

func shard(member string) int {
	h := fnv.New32a()
	h.Write([]byte(member))
	return int(h.Sum32() % shards)
}
