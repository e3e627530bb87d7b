package ratelimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/plural"
	"adsync/base/redis"
	"adsync/base/telemetry"
)

//go:embed ask.lua
var askSource string

var askScript = goredis.NewScript(askSource)

// pauseScript ends the pause ARGV[1] of the hash KEYS[1], or makes it last at least ARGV[2] microseconds from now, and tells those who listen
// on the channel ARGV[3] of the media ARGV[4]. KEYS[2] counts the pauses. It is one script so that two processes which pause at once leave the longer pause. The
// number of the pauses rises before they are told of it: a server may refuse the channel to the user, and they then learn of it with their next ask. It returns
// why they were not told, or nothing.
var pauseScript = goredis.NewScript(`
local d = tonumber(ARGV[2])
local time = redis.call('TIME')
local ends = time[1] * 1000000 + time[2] + d
if d <= 0 then
  redis.call('HDEL', KEYS[1], ARGV[1])
elseif (tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) or 0) < ends then
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', ends))
end
if d > 0 then redis.call('HINCRBY', KEYS[2], ARGV[1], 1) end
redis.call('HINCRBY', KEYS[1], '', 1)
local told = redis.pcall('PUBLISH', ARGV[3], string.format('%.0f', d) .. '\n' .. ARGV[4] .. '\n' .. ARGV[1])
if type(told) == 'table' and told.err then return told.err end
return ''
`)

var errStrange = errors.New("strange answer")

// shared keeps the book in Redis, for all processes.
type shared struct {
	client goredis.UniversalClient
	keys   redis.Keys
	spread time.Duration
	plain  bool // calls are counted, and not granted moments
	counts *counts
	log    *slog.Logger
	causes *telemetry.CauseLog

	mu      sync.Mutex
	known   map[string]string  // by media: the number of the pauses as this process knows them
	servers map[string]string  // by media: the run id of the server that answered last
	offsets map[string]*offset // by media, each of which may have a server of its own
}

var _ ledger = (*shared)(nil)

// newShared returns the ledger on client, with the arrival spread of Config. It asks nothing of Redis yet.
func newShared(client goredis.UniversalClient, keys redis.Keys, spread time.Duration, log *slog.Logger) *shared {
	return &shared{client: client, keys: keys, spread: spread, counts: newCounts(client, keys, log), log: log, causes: telemetry.NewCauseLog(log),
		known: map[string]string{}, servers: map[string]string{}, offsets: map[string]*offset{}}
}

// ask costs one round trip, and one more for each granted limit of an hour or longer.
func (r *shared) ask(ctx context.Context, media string, a ask) (answer, error) {
	if r.plain {
		return r.askPlain(ctx, media, a)
	}
	return r.askMoments(ctx, media, a)
}

// plainCalls is how many calls one ask counts at the most: each takes a round trip for each limit, and all of them the time that Redis has to answer.
const plainCalls = 100

// askPlain counts each call in windows that begin anew when they are over, at one round trip for each of its limits. A call may be counted
// by some of these and not be granted, which is on the safe side.
func (r *shared) askPlain(ctx context.Context, media string, a ask) (answer, error) {
	// Nothing is wanted: it tells what is paused.
	out, err := r.askMoments(ctx, media, ask{process: a.process, back: a.back})
	if err != nil {
		return answer{}, err
	}
	for _, s := range a.settled {
		if _, err := r.counts.add(ctx, a.limits[s.limit].key, s.more); err != nil {
			return answer{}, err
		}
	}
	tried := 0
	for _, w := range a.wants {
		g := given{by: none}
		for n, c := range w.calls {
			if tried++; tried > plainCalls {
				break
			}
			limits, costs := slices.Concat(w.common, c.own), slices.Concat(w.costs, w.ownCosts)
			for i, l := range limits {
				left, err := r.counts.add(ctx, a.limits[l].key, cost(costs, i, c.rows))
				if err != nil {
					return answer{}, err
				}
				if left > 0 {
					g.by, g.opens = l, max(g.opens, left.Microseconds())
				}
			}
			if g.by != none {
				break
			}
			g.starts = append(g.starts, start{call: n})
		}
		out.wants = append(out.wants, g)
	}
	out.answered = clock.Mark() // The counting took its time.
	out.asked, out.clock = out.answered, time.Time{}
	return out, nil
}

func (r *shared) askMoments(ctx context.Context, media string, a ask) (answer, error) {
	names := []string{r.keys.Of(media, "from"), r.keys.Of(media, "pauses"), r.keys.Of(media, "index"), r.keys.Of(media, "asked"), r.keys.Of(media, "last")}
	var minutes []string
	r.mu.Lock()
	known := r.known[media]
	r.mu.Unlock()
	args := []any{a.process, horizon, claimLife, unasked, hush, a.told(), known, len(a.limits)}
	for _, l := range a.limits {
		l = l.of(r.spread, 1)
		names = append(names, r.name(l.key, "granted"), r.name(l.key, "claims"))
		args = append(args, l.every, l.bursts, l.tolerance, l.ahead, l.calls, l.window)
		if l.calls > 0 {
			minutes = append(minutes, r.name(l.key, "minutes"))
		}
	}
	names = append(names, minutes...)
	args = append(args, len(a.settled))
	for _, s := range a.settled {
		args = append(args, s.limit, s.more)
	}
	args = append(args, len(a.unused))
	for _, u := range a.unused {
		args = append(args, u.at, len(u.limits))
		for n, i := range u.limits {
			args = append(args, i, nth(u.costs, n))
		}
	}
	for _, w := range a.wants {
		args = append(args, w.importance, weight(w.importance), w.group, w.demand, w.rows, len(w.common))
		for n, i := range w.common {
			args = append(args, i, nth(w.costs, n))
		}
		own := 0
		if len(w.calls) > 0 {
			own = len(w.calls[0].own)
		}
		args = append(args, len(w.calls), own, w.expected.calls, w.expected.after, w.expected.every)
		for n := range own {
			args = append(args, nth(w.ownCosts, n))
		}
		for _, c := range w.calls {
			args = append(args, c.rows)
			for _, i := range c.own {
				args = append(args, i)
			}
		}
	}
	out := answer{asked: clock.Mark(), horizon: microseconds(horizon)}
	raw, err := askScript.Run(ctx, r.client, names, args...).Slice()
	if err != nil {
		return answer{}, fmt.Errorf("ask for calls of %s: %w", media, err)
	}
	out.answered = clock.Mark()
	changes, err := r.read(raw, media, a, &out)
	if err != nil {
		return answer{}, fmt.Errorf("ask for calls of %s: %w: %.200v", media, err, raw)
	}
	if err := r.count(ctx, media, a, &out); err != nil {
		return answer{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.servers[media]; before != "" && before != out.server {
		changes = "" // Those of another server have numbers of their own: the next answer names all.
	}
	r.known[media], r.servers[media] = changes, out.server
	return out, nil
}

// told is what the script is told of the time before an ask.
func (a ask) told() int {
	switch {
	case a.moved:
		return 2
	case a.back:
		return 1
	}
	return 0
}

// read reads the script's answer.
func (r *shared) read(raw []any, media string, a ask, out *answer) (changes string, err error) {
	if len(raw) != 5 {
		return "", errStrange
	}
	now, ok1 := raw[0].(int64)
	changes, ok2 := raw[1].(string)
	pauses, ok3 := raw[2].([]any)
	wants, ok4 := raw[3].([]any)
	server, ok5 := raw[4].(string)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || len(wants) != len(a.wants) || len(pauses)%2 != 0 {
		return "", errStrange
	}
	for _, w := range wants {
		numbers, err := integers(w)
		if err != nil || len(numbers) < 4 || len(numbers)%2 == 1 || numbers[1] >= int64(len(a.limits)) {
			return "", errStrange
		}
		g := given{rate: float64(numbers[0]) / 1000, by: int(numbers[1]), opens: numbers[2], scarce: numbers[3] == 1}
		for rest := numbers[4:]; len(rest) > 0; rest = rest[2:] {
			g.starts = append(g.starts, start{call: int(rest[0]), at: rest[1]})
		}
		out.wants = append(out.wants, g)
	}
	out.clock, out.server = time.UnixMicro(now), server
	out.asked, out.answered = r.narrow(media, out.clock, out.asked, out.answered)
	return changes, r.readPauses(pauses, now, changes, media, out)
}

func (r *shared) narrow(media string, clock, asked, answered time.Time) (from, to time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.offsets[media]
	if o == nil {
		o = &offset{}
		r.offsets[media] = o
	}
	return o.narrow(clock, asked, answered)
}

func integers(of any) ([]int64, error) {
	all, ok := of.([]any)
	if !ok {
		return nil, errStrange
	}
	numbers := make([]int64, len(all))
	for i, x := range all {
		if numbers[i], ok = x.(int64); !ok {
			return nil, errStrange
		}
	}
	return numbers, nil
}

// readPauses reads the pauses in force, where they are others than those known.
func (r *shared) readPauses(pauses []any, now int64, changes, media string, out *answer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if changes == r.known[media] {
		return nil
	}
	out.pauses, out.lost = map[Key]time.Time{}, r.servers[media] == out.server && fewer(changes, r.known[media])
	for ; len(pauses) > 0; pauses = pauses[2:] {
		name, ok1 := pauses[0].(string)
		text, ok2 := pauses[1].(string)
		ends, err := strconv.ParseInt(text, 10, 64)
		point, ok3 := pointOf(media, name)
		if !ok1 || !ok2 || !ok3 || err != nil {
			return errStrange
		}
		out.pauses[point] = out.answered.Add(microseconds(ends - now))
	}
	return nil
}

// fewer reports whether a number of changes is below one that is known. It only rises, unless the pauses were evicted or deleted.
func fewer(changes, known string) bool {
	n, err := strconv.ParseInt(changes, 10, 64)
	before, err2 := strconv.ParseInt(known, 10, 64)
	return err == nil && err2 == nil && n < before
}

// count counts the granted calls of the long periods, and takes back those whose window is full.
func (r *shared) count(ctx context.Context, media string, a ask, out *answer) error {
	calls := map[int]int{} // by limit
	note := func(limits, costs []int) {
		for n, l := range limits {
			if a.limits[l].key.Period >= countedFrom {
				calls[l] += max(1, nth(costs, n))
			}
		}
	}
	for i, g := range out.wants {
		for _, s := range g.starts {
			note(a.wants[i].common, a.wants[i].costs)
			note(a.wants[i].call(s.call).own, a.wants[i].ownCosts)
		}
	}
	for _, l := range slices.Sorted(maps.Keys(calls)) {
		left, err := r.counts.add(ctx, a.limits[l].key, calls[l])
		if err != nil {
			return fmt.Errorf("count %s of %s: %w", plural.Count(calls[l], "call", "calls"), media, err)
		}
		if left == 0 {
			continue
		}
		for i := range out.wants {
			g := &out.wants[i]
			kept := slices.DeleteFunc(g.starts, func(s start) bool {
				return slices.Contains(a.wants[i].common, l) || slices.Contains(a.wants[i].call(s.call).own, l)
			})
			if len(kept) < len(g.starts) {
				g.starts, g.by, g.opens = kept, l, left.Microseconds()
			}
		}
	}
	return nil
}

func (r *shared) pause(ctx context.Context, point Key, d time.Duration) error {
	args := []any{point.name(), min(d, PauseMax).Microseconds(), r.channel(point.Media), point.Media}
	why, err := pauseScript.Run(ctx, r.client, []string{r.keys.Of(point.Media, "pauses"), r.keys.Of(point.Media, "paused")}, args...).Text()
	if err != nil {
		return fmt.Errorf("pause %s: %w", point, err)
	}
	if why != "" {
		r.untold(point.Media, errors.New(why))
	}
	return nil
}

// untold logs that processes cannot tell each other of the pauses of a media.
func (r *shared) untold(media string, err error) {
	r.causes.Report(slog.LevelWarn, "channel", "redis refuses the channel of pauses: processes learn of one with their next ask, within two seconds", err, "channel", r.channel(media))
}

// channel is where the pauses of a media are told. In a cluster it belongs to the server that has the media's keys.
func (r *shared) channel(media string) string { return r.keys.Of(media, "pauses") }

const (
	// listenAgain is how long a connection on which nothing could be heard is left alone, and refusedAgain how long one whose user may not listen.
	listenAgain  = 100 * time.Millisecond
	refusedAgain = 10 * time.Second
)

func (r *shared) listen(ctx context.Context, media string, told func(Key, time.Duration), lost func(error)) {
	sub := r.client.Subscribe(ctx, r.channel(media))
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() }) // It ends a Receive, which ctx does not.
	defer stop()
	for away := false; ctx.Err() == nil; {
		message, err := sub.Receive(ctx) // It reconnects on its own.
		switch m := message.(type) {
		case *goredis.Message:
			r.hear(ctx, m.Payload, told)
		default:
			if err == nil { // A subscription.
				away = false
				continue
			}
			if errors.Is(err, goredis.ErrClosed) || ctx.Err() != nil {
				return
			}
			if redis.Refused(err) { // It is there, and so is what it was told.
				r.untold(media, err)
				_ = clock.Sleep(ctx, refusedAgain)
				continue
			}
			// The server of this media's keys may be there still, or another that has taken its place.
			if err := r.client.Exists(ctx, r.keys.Of(media, "from")).Err(); err != nil && !redis.Refused(err) && !away {
				away = true
				lost(fmt.Errorf("listen for the pauses of %s: %w", media, err))
			}
			_ = clock.Sleep(ctx, listenAgain)
		}
	}
}

// hear reads what pauseScript tells.
func (r *shared) hear(ctx context.Context, payload string, told func(Key, time.Duration)) {
	text, rest, _ := strings.Cut(payload, "\n")
	media, name, _ := strings.Cut(rest, "\n")
	d, err := strconv.ParseInt(text, 10, 64)
	point, known := pointOf(media, name)
	if err != nil || !known {
		r.log.WarnContext(ctx, "a pause that was told cannot be read", "message", payload)
		return
	}
	told(point, microseconds(d))
}

// name is where a limit's state is. All names of a media share a tag, so that a cluster keeps them on one server.
func (r *shared) name(k Key, kind string) string { return r.keys.Of(k.Media, k.parts(kind)...) }
