package grant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/redis"
)

// LimitState is the state of a limit, for all processes together. Times are of Redis's clock.
type LimitState struct {
	Key
	LimitMax int // as in Rule
	// Granted amounts of the limit: Window in the period before now, LastMinute and LastHour since the start of the
	// minute that lies that far back.
	Window, LastMinute, LastHour int
	// Ahead is what is granted but not to be sent yet, for periods short enough that it matters. For rows it is what was
	// matched beyond what a window holds.
	Ahead int
	// Lanes are the claimants of calls, sorted by descending importance.
	Lanes []LaneState
	// AskedAt is when the limit was last requested.
	AskedAt time.Time
	// Part is how much of the limit is used. It is below 1 for a while after the platform has refused calls that the
	// limit allows.
	Part float64
}

// LaneState is what the calls of one importance want of a limit, and may have of it.
type LaneState struct {
	Importance int
	Processes  int
	// Wanted is how many calls wait or were granted within the last 2 s.
	Wanted int
	// PerSecond is the share in calls per second, if as many are wanted.
	PerSecond float64
}

// PauseState is a pause in force, or an earlier one.
type PauseState struct {
	Media    string
	Endpoint string // empty for a whole platform
	Scope    Scope
	Subject  string
	// Until is when it ends; zero if it has ended.
	Until time.Time
	// Times is how often calls were paused at this point, in most cases because the platform refused one as over its
	// limit.
	Times int
}

// indexKept is how long a limit is listed after its last request.
const indexKept = 24 * time.Hour

// State returns the state of the limits of a media, and the pauses; see ratelimit.Waiter.State.
func (r *Redis) State(ctx context.Context, media string, rules *Rules) ([]LimitState, []PauseState, error) {
	now, err := redis.TimeOf(ctx, r.client, r.keys.Of(media, "index"))
	if err != nil {
		return nil, nil, err
	}
	index, err := r.client.HGetAll(ctx, r.keys.Of(media, "index")).Result()
	if err != nil {
		return nil, nil, err
	}
	pauses, tight, err := r.pauseStates(ctx, media, now)
	if err != nil {
		return nil, nil, err
	}
	var limits []LimitState
	for name, text := range index {
		micros, err := strconv.ParseInt(text, 10, 64)
		requested := time.UnixMicro(micros).UTC()
		key, known := r.keyOf(media, name)
		if err != nil || !known || now.Sub(requested) > indexKept {
			for _, hash := range []string{"index", "last"} {
				if err := r.client.HDel(ctx, r.keys.Of(media, hash), name).Err(); err != nil {
					return nil, nil, err
				}
			}
			continue
		}
		most, known := rules.number(&key, now)
		if !known {
			continue // The rule is gone, or its window is over.
		}
		s, err := r.limitState(ctx, key, now)
		if err != nil {
			return nil, nil, err
		}
		s.LimitMax, s.AskedAt, s.Part = most, requested, Tightened(tight[key.AnyWindow()], now)
		limits = append(limits, s)
	}
	slices.SortFunc(limits, func(a, b LimitState) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Subject, b.Subject),
			cmp.Compare(a.Period, b.Period))
	})
	return limits, pauses, nil
}

// keyOf returns the limit of a name of grants. It has no number.
func (r *Redis) keyOf(media, name string) (Key, bool) {
	rest, ok := strings.CutPrefix(name, r.keys.Of(media, "granted")+":")
	parts := strings.Split(rest, ":")
	if !ok || len(parts) != 4 {
		return Key{}, false
	}
	for i := range parts {
		var err error
		if parts[i], err = url.PathUnescape(parts[i]); err != nil {
			return Key{}, false
		}
	}
	period, window, _ := strings.Cut(parts[2], "@")
	k := Key{Media: media, Scope: Scope(parts[0]), Subject: parts[1], Endpoint: parts[3], Window: window}
	return k, k.readPeriod(period)
}

func (r *Redis) limitState(ctx context.Context, k Key, now time.Time) (LimitState, error) {
	s := LimitState{Key: k}
	since := strconv.FormatInt(now.Add(-k.Period).UnixMicro(), 10)
	var window, ahead *goredis.IntCmd
	var count *goredis.StringCmd
	pipe := r.client.Pipeline()
	var ready *goredis.StringCmd
	switch {
	case k.Unit == UnitRows:
		ready = pipe.Get(ctx, r.name(k, "granted"))
	case k.Period < countedFrom:
		at := strconv.FormatInt(now.UnixMicro(), 10)
		window, ahead = pipe.ZCount(ctx, r.name(k, "granted"), "("+since, at),
			pipe.ZCount(ctx, r.name(k, "granted"), "("+at, "+inf")
	default:
		count = pipe.Get(ctx, r.keys.Of(k.Media, k.parts("count")...))
	}
	minutes, claims := pipe.HGetAll(ctx, r.name(k, "minutes")), pipe.HGetAll(ctx, r.name(k, "claims"))
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, goredis.Nil) {
		return s, err
	}
	switch {
	case ready != nil:
		until, _ := ready.Int64() // A missing key is 0.
		used := int(max(0, until-now.UnixMicro()) / limitOf(k, r.spread, 1).Every)
		s.Window = min(used, int(float64(k.Limit)*k.Share))
		s.Ahead = used - s.Window
	case window != nil:
		s.Window, s.Ahead = int(window.Val()), int(ahead.Val())
	default:
		s.Window, _ = count.Int() // A missing key is 0.
	}
	minute := now.Unix() / 60
	for text, n := range minutes.Val() {
		at, err1 := strconv.ParseInt(text, 10, 64)
		calls, err2 := strconv.Atoi(n)
		if err1 != nil || err2 != nil {
			return s, errStrange
		}
		if at >= minute-1 {
			s.LastMinute += calls
		}
		if at >= minute-60 {
			s.LastHour += calls
		}
	}
	var err error
	s.Lanes, err = laneStates(claims.Val(), limitOf(k, r.spread, 1), now.UnixMicro())
	return s, err
}

// laneStates parses what grant.lua keeps of claims.
func laneStates(claims map[string]string, l Limit, now int64) ([]LaneState, error) {
	b := &usage{claims: map[claimant]*claim{}}
	lanes := map[int]*LaneState{}
	processes := map[int]map[string]bool{}
	for name, text := range claims {
		if name == "" {
			continue
		}
		who, c := claimant{}, &claim{}
		parts := strings.SplitN(name, "\n", 3)
		var weight float64
		if len(parts) != 3 {
			return nil, errStrange
		}
		if _, err := fmt.Sscan(text, &weight, &c.demand, &c.most, &c.paid, &c.seen); err != nil {
			return nil, errStrange
		}
		var err error
		if who.importance, err = strconv.Atoi(parts[0]); err != nil {
			return nil, errStrange
		}
		who.process, who.group = parts[1], parts[2]
		if c.seen < now-claimLife {
			continue
		}
		b.claims[who] = c
		lane := lanes[who.importance]
		if lane == nil {
			lane = &LaneState{Importance: who.importance}
			lanes[who.importance], processes[who.importance] = lane, map[string]bool{}
		}
		lane.Wanted += c.demand
		processes[who.importance][who.process] = true
	}
	for who := range b.claims {
		if l.Every > 0 {
			lanes[who.importance].PerSecond += b.share(who, 1e6/float64(l.Every)*Horizon.Seconds()) / Horizon.Seconds()
		}
	}
	all := slices.SortedFunc(maps.Keys(lanes), func(a, b int) int { return b - a })
	out := make([]LaneState, len(all))
	for i, importance := range all {
		out[i] = *lanes[importance]
		out[i].Processes = len(processes[importance])
	}
	return out, nil
}

// pauseStates reads the pauses, and until when limits are tightened.
func (r *Redis) pauseStates(ctx context.Context, media string, now time.Time) (all []PauseState,
	tight map[Key]time.Time, err error) {
	ends, err := r.client.HGetAll(ctx, r.keys.Of(media, "pauses")).Result()
	if err != nil {
		return nil, nil, err
	}
	times, err := r.client.HGetAll(ctx, r.keys.Of(media, "paused")).Result()
	if err != nil {
		return nil, nil, err
	}
	tight = map[Key]time.Time{}
	names := maps.Clone(ends)
	maps.Copy(names, times)
	for name := range names {
		point, ok := pointOf(media, name)
		if !ok {
			continue // The number of changes.
		}
		p := PauseState{Media: media, Endpoint: point.Endpoint, Scope: point.Scope, Subject: point.Subject}
		if micros, err := strconv.ParseInt(ends[name], 10, 64); err == nil && micros > now.UnixMicro() {
			p.Until = time.UnixMicro(micros).UTC()
		}
		if point.Period > 0 {
			tight[point] = p.Until
			continue
		}
		p.Times, _ = strconv.Atoi(times[name]) // A missing count is 0.
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b PauseState) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Subject, b.Subject))
	})
	return all, tight, nil
}
