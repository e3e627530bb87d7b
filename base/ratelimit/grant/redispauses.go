package grant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/redis"
)

// pauseScript ends the pause ARGV[1] of the hash KEYS[1], or makes it last at least ARGV[2] microseconds from now,
// and publishes it on the channel ARGV[3] of the media ARGV[4]. KEYS[2] counts the pauses. It is one script so that
// two processes that pause concurrently leave the longer pause. The number of changes rises before the publishing: a
// server may refuse the channel to the user, and the other processes then learn of the pause with their next request.
// It returns why the pause was not published, or nothing.
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
local published = redis.pcall('PUBLISH', ARGV[3], string.format('%.0f', d) .. '\n' .. ARGV[4] .. '\n' .. ARGV[1])
if type(published) == 'table' and published.err then return published.err end
return ''
`)

// readPauses parses the pauses in force if they have changed.
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

// fewer reports whether a number of changes is below the known one. It only rises, unless the pauses were evicted or
// deleted.
func fewer(changes, known string) bool {
	n, err := strconv.ParseInt(changes, 10, 64)
	before, err2 := strconv.ParseInt(known, 10, 64)
	return err == nil && err2 == nil && n < before
}

// Pause implements Ledger.
func (r *Redis) Pause(ctx context.Context, point Key, d time.Duration) error {
	args := []any{point.name(), min(d, PauseMax).Microseconds(), r.channel(point.Media), point.Media}
	why, err := pauseScript.Run(ctx, r.client, []string{r.keys.Of(point.Media, "pauses"),
		r.keys.Of(point.Media, "paused")}, args...).Text()
	if err != nil {
		return fmt.Errorf("pause %s: %w", point, err)
	}
	if why != "" {
		r.logRefused(point.Media, errors.New(why))
	}
	return nil
}

// logRefused logs that processes cannot publish the pauses of a media to each other.
func (r *Redis) logRefused(media string, err error) {
	r.causes.Report(slog.LevelWarn, "channel", "redis refuses the channel of pauses: they spread within 2 s", err,
		"channel", r.channel(media))
}

// channel is where the pauses of a media are published. In a cluster it belongs to the server that has the media's
// keys.
func (r *Redis) channel(media string) string { return r.keys.Of(media, "pauses") }

const (
	// listenAgain is how long to wait after a failed receive, and refusedAgain after the user was refused the channel.
	listenAgain  = 100 * time.Millisecond
	refusedAgain = 10 * time.Second
)

// Listen implements Ledger.
func (r *Redis) Listen(ctx context.Context, media string, onPause func(Key, time.Duration), onLoss func(error)) {
	sub := r.client.Subscribe(ctx, r.channel(media))
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() }) // Closing ends a Receive, which the end of ctx does not.
	defer stop()
	for away := false; ctx.Err() == nil; {
		message, err := sub.Receive(ctx) // It reconnects automatically.
		switch m := message.(type) {
		case *goredis.Message:
			r.readMessage(ctx, m.Payload, onPause)
		default:
			if err == nil { // A subscription.
				away = false
				continue
			}
			if errors.Is(err, goredis.ErrClosed) || ctx.Err() != nil {
				return
			}
			if redis.Refused(err) { // The server is reachable, and has what it was sent.
				r.logRefused(media, err)
				_ = clock.Sleep(ctx, refusedAgain)
				continue
			}
			// The server of this media's keys may still be reachable, or another that has replaced it.
			if err := r.client.Exists(ctx, r.keys.Of(media, "from")).Err(); err != nil && !redis.Refused(err) && !away {
				away = true
				onLoss(fmt.Errorf("listen for the pauses of %s: %w", media, err))
			}
			_ = clock.Sleep(ctx, listenAgain)
		}
	}
}

// readMessage parses what pauseScript published.
func (r *Redis) readMessage(ctx context.Context, payload string, onPause func(Key, time.Duration)) {
	text, rest, _ := strings.Cut(payload, "\n")
	media, name, _ := strings.Cut(rest, "\n")
	d, err := strconv.ParseInt(text, 10, 64)
	point, known := pointOf(media, name)
	if err != nil || !known {
		r.log.WarnContext(ctx, "unreadable message on the channel of pauses", "message", payload)
		return
	}
	onPause(point, Microseconds(d))
}
