package grant

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/plural"
	"adsync/base/redis"
	"adsync/base/telemetry"
)

//go:embed grant.lua
var grantSource string

var grantScript = goredis.NewScript(grantSource)

var errStrange = errors.New("strange answer")

// Redis is a Ledger in Redis, for all processes.
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
	offsets map[string]*offset // by media, because each may have a server of its own
}

var _ Ledger = (*Redis)(nil)

// NewRedis returns the ledger on client, with the arrival spread of Config. It sends nothing to Redis yet.
func NewRedis(client goredis.UniversalClient, keys redis.Keys, spread time.Duration, log *slog.Logger) *Redis {
	return &Redis{client: client, keys: keys, spread: spread, counts: newCounts(client, keys, log), log: log,
		causes: telemetry.NewCauseLog(log),
		known:  map[string]string{}, servers: map[string]string{}, offsets: map[string]*offset{}}
}

// Request takes one round trip, and another one for each granted limit of an hour or longer.
func (r *Redis) Request(ctx context.Context, media string, a Request) (Answer, error) {
	if r.Plain {
		return r.requestPlain(ctx, media, a)
	}
	return r.requestMoments(ctx, media, a)
}

func (r *Redis) requestMoments(ctx context.Context, media string, a Request) (Answer, error) {
	names := []string{r.keys.Of(media, "from"), r.keys.Of(media, "pauses"), r.keys.Of(media, "index"),
		r.keys.Of(media, "asked"), r.keys.Of(media, "last")}
	var minutes []string
	r.mu.Lock()
	known := r.known[media]
	r.mu.Unlock()
	args := []any{a.Process, horizon, claimLife, idleMost, longQuiet, a.absence(), known, len(a.Limits)}
	for _, l := range a.Limits {
		l = l.of(r.spread, 1)
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
	out := Answer{Asked: clock.Mark(), Horizon: Microseconds(horizon)}
	raw, err := grantScript.Run(ctx, r.client, names, args...).Slice()
	if err != nil {
		return Answer{}, fmt.Errorf("request calls of %s: %w", media, err)
	}
	out.Answered = clock.Mark()
	changes, err := r.read(raw, media, a, &out)
	if err != nil {
		return Answer{}, fmt.Errorf("request calls of %s: %w: %.200v", media, err, raw)
	}
	if err := r.count(ctx, media, a, &out); err != nil {
		return Answer{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.servers[media]; before != "" && before != out.Server {
		changes = "" // Another server numbers its pauses differently: the next answer names all.
	}
	r.known[media], r.servers[media] = changes, out.Server
	return out, nil
}

// absence returns what the script learns of the time before a request.
func (a Request) absence() int {
	switch {
	case a.Moved:
		return 2
	case a.Back:
		return 1
	}
	return 0
}

// read parses the script's answer.
func (r *Redis) read(raw []any, media string, a Request, out *Answer) (changes string, err error) {
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

func (r *Redis) narrow(media string, clock, sent, received time.Time) (from, to time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.offsets[media]
	if o == nil {
		o = &offset{}
		r.offsets[media] = o
	}
	return o.narrow(clock, sent, received)
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

// count counts the granted calls of the long periods, and withdraws those whose window is full.
func (r *Redis) count(ctx context.Context, media string, a Request, out *Answer) error {
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

// name returns the key of a limit's state. All names of a media share a tag, so that a cluster keeps them on one
// server.
func (r *Redis) name(k Key, kind string) string { return r.keys.Of(k.Media, k.parts(kind)...) }
