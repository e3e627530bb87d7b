package grant

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

// Redis keeps the book in Redis, for all processes.
type Redis struct {
	client goredis.UniversalClient
	keys   redis.Keys
	spread time.Duration
	Plain  bool // calls are counted, and not granted moments
	counts *counts
	log    *slog.Logger
	causes *telemetry.CauseLog

	mu      sync.Mutex
	known   map[string]string  // by media: the number of the pauses as this process knows them
	servers map[string]string  // by media: the run id of the server that answered last
	offsets map[string]*offset // by media, each of which may have a server of its own
}

var _ Ledger = (*Redis)(nil)

// NewRedis returns the ledger on client, with the arrival spread of Config. It asks nothing of Redis yet.
func NewRedis(client goredis.UniversalClient, keys redis.Keys, spread time.Duration, log *slog.Logger) *Redis {
	return &Redis{client: client, keys: keys, spread: spread, counts: newCounts(client, keys, log), log: log, causes: telemetry.NewCauseLog(log),
		known: map[string]string{}, servers: map[string]string{}, offsets: map[string]*offset{}}
}

// Ask costs one round trip, and one more for each granted limit of an hour or longer.
func (r *Redis) Ask(ctx context.Context, media string, a Ask) (Answer, error) {
	if r.Plain {
		return r.askPlain(ctx, media, a)
	}
	return r.askMoments(ctx, media, a)
}

// plainCalls is how many calls one ask counts at the most: each takes a round trip for each limit, and all of them the time that Redis has to answer.
const plainCalls = 100

// askPlain counts each call in windows that begin anew when they are over, at one round trip for each of its limits. A call may be counted
// by some of these and not be granted, which is on the safe side.
func (r *Redis) askPlain(ctx context.Context, media string, a Ask) (Answer, error) {
	// Nothing is wanted: it tells what is paused.
	out, err := r.askMoments(ctx, media, Ask{Process: a.Process, Back: a.Back})
	if err != nil {
		return Answer{}, err
	}
	for _, s := range a.Settled {
		if _, err := r.counts.add(ctx, a.Limits[s.Limit].Key, s.More); err != nil {
			return Answer{}, err
		}
	}
	tried := 0
	for _, w := range a.Wants {
		g := Given{By: None}
		for n, c := range w.Calls {
			if tried++; tried > plainCalls {
				break
			}
			limits, costs := slices.Concat(w.Common, c.Own), slices.Concat(w.Costs, w.OwnCosts)
			for i, l := range limits {
				left, err := r.counts.add(ctx, a.Limits[l].Key, cost(costs, i, c.Rows))
				if err != nil {
					return Answer{}, err
				}
				if left > 0 {
					g.By, g.Opens = l, max(g.Opens, left.Microseconds())
				}
			}
			if g.By != None {
				break
			}
			g.Starts = append(g.Starts, Start{Call: n})
		}
		out.Wants = append(out.Wants, g)
	}
	out.Answered = clock.Mark() // The counting took its time.
	out.Asked, out.Clock = out.Answered, time.Time{}
	return out, nil
}

func (r *Redis) askMoments(ctx context.Context, media string, a Ask) (Answer, error) {
	names := []string{r.keys.Of(media, "from"), r.keys.Of(media, "pauses"), r.keys.Of(media, "index"), r.keys.Of(media, "asked"), r.keys.Of(media, "last")}
	var minutes []string
	r.mu.Lock()
	known := r.known[media]
	r.mu.Unlock()
	args := []any{a.Process, Horizon, claimLife, Unasked, Hush, a.told(), known, len(a.Limits)}
	for _, l := range a.Limits {
		l = l.Of(r.spread, 1)
		names = append(names, r.name(l.Key, "granted"), r.name(l.Key, "claims"))
		args = append(args, l.Every, l.bursts, l.tolerance, l.ahead, l.calls, l.window)
		if l.calls > 0 {
			minutes = append(minutes, r.name(l.Key, "minutes"))
		}
	}
	names = append(names, minutes...)
	args = append(args, len(a.Settled))
	for _, s := range a.Settled {
		args = append(args, s.Limit, s.More)
	}
	args = append(args, len(a.Unused))
	for _, u := range a.Unused {
		args = append(args, u.At, len(u.Limits))
		for n, i := range u.Limits {
			args = append(args, i, nth(u.Costs, n))
		}
	}
	for _, w := range a.Wants {
		args = append(args, w.Importance, weight(w.Importance), w.Group, w.Demand, w.Rows, len(w.Common))
		for n, i := range w.Common {
			args = append(args, i, nth(w.Costs, n))
		}
		own := 0
		if len(w.Calls) > 0 {
			own = len(w.Calls[0].Own)
		}
		args = append(args, len(w.Calls), own, w.Expected.Calls, w.Expected.After, w.Expected.Every)
		for n := range own {
			args = append(args, nth(w.OwnCosts, n))
		}
		for _, c := range w.Calls {
			args = append(args, c.Rows)
			for _, i := range c.Own {
				args = append(args, i)
			}
		}
	}
	out := Answer{Asked: clock.Mark(), Horizon: Microseconds(Horizon)}
	raw, err := askScript.Run(ctx, r.client, names, args...).Slice()
	if err != nil {
		return Answer{}, fmt.Errorf("ask for calls of %s: %w", media, err)
	}
	out.Answered = clock.Mark()
	changes, err := r.read(raw, media, a, &out)
	if err != nil {
		return Answer{}, fmt.Errorf("ask for calls of %s: %w: %.200v", media, err, raw)
	}
	if err := r.count(ctx, media, a, &out); err != nil {
		return Answer{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.servers[media]; before != "" && before != out.Server {
		changes = "" // Those of another server have numbers of their own: the next answer names all.
	}
	r.known[media], r.servers[media] = changes, out.Server
	return out, nil
}

// told is what the script is told of the time before an ask.
func (a Ask) told() int {
	switch {
	case a.Moved:
		return 2
	case a.Back:
		return 1
	}
	return 0
}

// read reads the script's answer.
func (r *Redis) read(raw []any, media string, a Ask, out *Answer) (changes string, err error) {
	if len(raw) != 5 {
		return "", errStrange
	}
	now, ok1 := raw[0].(int64)
	changes, ok2 := raw[1].(string)
	pauses, ok3 := raw[2].([]any)
	wants, ok4 := raw[3].([]any)
	server, ok5 := raw[4].(string)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || len(wants) != len(a.Wants) || len(pauses)%2 != 0 {
		return "", errStrange
	}
	for _, w := range wants {
		numbers, err := integers(w)
		if err != nil || len(numbers) < 4 || len(numbers)%2 == 1 || numbers[1] >= int64(len(a.Limits)) {
			return "", errStrange
		}
		g := Given{Rate: float64(numbers[0]) / 1000, By: int(numbers[1]), Opens: numbers[2], Scarce: numbers[3] == 1}
		for rest := numbers[4:]; len(rest) > 0; rest = rest[2:] {
			g.Starts = append(g.Starts, Start{Call: int(rest[0]), At: rest[1]})
		}
		out.Wants = append(out.Wants, g)
	}
	out.Clock, out.Server = time.UnixMicro(now), server
	out.Asked, out.Answered = r.narrow(media, out.Clock, out.Asked, out.Answered)
	return changes, r.readPauses(pauses, now, changes, media, out)
}

func (r *Redis) narrow(media string, clock, asked, answered time.Time) (from, to time.Time) {
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
func (r *Redis) readPauses(pauses []any, now int64, changes, media string, out *Answer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if changes == r.known[media] {
		return nil
	}
	out.Pauses, out.Lost = map[Key]time.Time{}, r.servers[media] == out.Server && fewer(changes, r.known[media])
	for ; len(pauses) > 0; pauses = pauses[2:] {
		name, ok1 := pauses[0].(string)
		text, ok2 := pauses[1].(string)
		ends, err := strconv.ParseInt(text, 10, 64)
		point, ok3 := pointOf(media, name)
		if !ok1 || !ok2 || !ok3 || err != nil {
			return errStrange
		}
		out.Pauses[point] = out.Answered.Add(Microseconds(ends - now))
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
func (r *Redis) count(ctx context.Context, media string, a Ask, out *Answer) error {
	calls := map[int]int{} // by limit
	note := func(limits, costs []int) {
		for n, l := range limits {
			if a.Limits[l].Key.Period >= countedFrom {
				calls[l] += max(1, nth(costs, n))
			}
		}
	}
	for i, g := range out.Wants {
		for _, s := range g.Starts {
			note(a.Wants[i].Common, a.Wants[i].Costs)
			note(a.Wants[i].Call(s.Call).Own, a.Wants[i].OwnCosts)
		}
	}
	for _, l := range slices.Sorted(maps.Keys(calls)) {
		left, err := r.counts.add(ctx, a.Limits[l].Key, calls[l])
		if err != nil {
			return fmt.Errorf("count %s of %s: %w", plural.Count(calls[l], "call", "calls"), media, err)
		}
		if left == 0 {
			continue
		}
		for i := range out.Wants {
			g := &out.Wants[i]
			kept := slices.DeleteFunc(g.Starts, func(s Start) bool {
				return slices.Contains(a.Wants[i].Common, l) || slices.Contains(a.Wants[i].Call(s.Call).Own, l)
			})
			if len(kept) < len(g.Starts) {
				g.Starts, g.By, g.Opens = kept, l, left.Microseconds()
			}
		}
	}
	return nil
}

func (r *Redis) Pause(ctx context.Context, point Key, d time.Duration) error {
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
func (r *Redis) untold(media string, err error) {
	r.causes.Report(slog.LevelWarn, "channel", "redis refuses the channel of pauses: processes learn of one with their next ask, within two seconds", err, "channel", r.channel(media))
}

// channel is where the pauses of a media are told. In a cluster it belongs to the server that has the media's keys.
func (r *Redis) channel(media string) string { return r.keys.Of(media, "pauses") }

const (
	// listenAgain is how long a connection on which nothing could be heard is left alone, and refusedAgain how long one whose user may not listen.
	listenAgain  = 100 * time.Millisecond
	refusedAgain = 10 * time.Second
)

func (r *Redis) Listen(ctx context.Context, media string, told func(Key, time.Duration), lost func(error)) {
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
func (r *Redis) hear(ctx context.Context, payload string, told func(Key, time.Duration)) {
	text, rest, _ := strings.Cut(payload, "\n")
	media, name, _ := strings.Cut(rest, "\n")
	d, err := strconv.ParseInt(text, 10, 64)
	point, known := pointOf(media, name)
	if err != nil || !known {
		r.log.WarnContext(ctx, "a pause that was told cannot be read", "message", payload)
		return
	}
	told(point, Microseconds(d))
}

// name is where a limit's state is. All names of a media share a tag, so that a cluster keeps them on one server.
func (r *Redis) name(k Key, kind string) string { return r.keys.Of(k.Media, k.parts(kind)...) }
