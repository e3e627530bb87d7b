package consumer

import (
	"errors"
	"fmt"
	"math"
	"time"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/trace"
	"adsync/media"
)

const (
	// deferMin keeps a subtask whose handler defers for no time from circling through Kafka.
	deferMin = time.Second
	// quotaWait is how long a subtask waits for a platform's quota if the platform names no time: most windows last a
	// second or a minute.
	quotaWait = 15 * time.Second
	// unknownWait is how long a subtask waits for a consumer that knows its handler or its envelope. A rolling upgrade
	// takes a few of these.
	unknownWait = time.Minute
	// serialWait is how long a serial subtask waits when another process works on its key.
	serialWait = 3 * time.Second
	// waitMax bounds the pause that a platform may ask for: a longer one is more likely a misread number.
	waitMax = 24 * time.Hour
)

// verdict is the result of one delivery of a subtask.
type verdict struct {
	state   task.State
	attempt int           // failures so far
	after   time.Duration // until it is due, for Retrying and Deferred
	reason  string        // why it waits
	class   media.Class
	text    string // the error
	// timedOut means that the handler took longer than its task allows.
	timedOut bool
	// A subtask that waits for something (waitsFor) is due when that ends. If due is set, it replaces after as the latest
	// moment.
	due      time.Time
	waitsFor string
}

// judge derives the verdict from a handler's error. jitter returns a random number in [0, 1).
func judge(e task.Envelope, err error, backoffCap time.Duration, jitter func() float64) verdict {
	if err == nil {
		return verdict{state: task.Succeeded, attempt: e.Attempt}
	}
	if errors.Is(err, media.ErrSuperseded) {
		return verdict{state: task.Superseded, attempt: e.Attempt, text: err.Error()}
	}
	if d, ok := errors.AsType[*media.DeferError](err); ok {
		v := deferred(e, d.After, d.Reason, "", jitter)
		v.waitsFor = d.WaitsFor
		return v
	}
	class, retryAfter := media.Transient, time.Duration(0)
	if m, ok := errors.AsType[*media.Error](err); ok {
		class, retryAfter = m.Class, m.RetryAfter
	} else if sqldb.IsTooLarge(err) || sqldb.IsUnfit(err) {
		class = media.Invalid // Another try would send the same row.
	}
	switch class {
	case media.Quota:
		if retryAfter <= 0 {
			retryAfter = quotaWait
		}
		return deferred(e, retryAfter, err.Error(), class, jitter)
	case media.Invalid, media.Bug:
		return verdict{state: task.Failed, attempt: e.Attempt + 1, class: class, text: err.Error()}
	case media.Transient, media.Auth:
	}
	attempt := e.Attempt + 1
	if attempt > e.RetryMax {
		return verdict{state: task.Failed, attempt: attempt, class: class, text: err.Error()}
	}
	after := max(backoff(e.RetryBase, attempt, backoffCap, jitter()), min(retryAfter, waitMax))
	return verdict{state: task.Retrying, attempt: attempt, after: after, reason: err.Error(), class: class,
		text: err.Error()}
}

// deferred makes a subtask wait without counting an attempt. It adds a random time, so that subtasks that wait for the
// same window do not all arrive at its first instant.
func deferred(e task.Envelope, after time.Duration, reason string, class media.Class, jitter func() float64) verdict {
	after = min(max(after, deferMin), waitMax)
	spread := min(max(after/10, time.Second), 30*time.Second)
	after += time.Duration(jitter() * float64(spread))
	return verdict{state: task.Deferred, attempt: e.Attempt, after: after, reason: reason, class: class, text: reason}
}

// backoff returns the pause before the next attempt: random between 0 and base·2^(attempt-1), capped at limit. Full
// jitter spreads subtasks that failed together further than any other kind.
func backoff(base time.Duration, attempt int, limit time.Duration, random float64) time.Duration {
	if base <= 0 {
		base = time.Second
	}
	ceiling := math.Min(float64(base)*math.Pow(2, float64(attempt-1)), float64(limit))
	return time.Duration(random * ceiling)
}

// outcome returns the verdict as an outcome at the time now. A subtask that would be due after its time to live
// expires.
func (v verdict) outcome(e task.Envelope, now time.Time) ledger.Outcome {
	o := ledger.Outcome{
		Key: e.Key, TaskID: e.TaskID, Delivery: e.Delivery, Attempt: v.attempt,
		State: v.state, Reason: v.reason, ErrorClass: string(v.class), ErrorText: v.text,
		TraceID: trace.ID(e.Trace), TimedOut: v.timedOut,
	}
	if !v.state.Open() {
		return o
	}
	// Whatever a subtask waits for, its work outside continues until an attempt has ended.
	o.Outside = v.state == task.Deferred && (e.Outside || task.IsOutside(v.waitsFor))
	if v.waitsFor != "" {
		return v.hold(e, o, now)
	}
	o.DueAt = now.Add(v.after)
	if !e.Deadline.IsZero() && !o.DueAt.Before(e.Deadline) {
		o.State, o.DueAt, o.Reason, o.Outside = task.Expired, time.Time{}, "", false
		o.ErrorText = fmt.Sprintf("its time to live ends %s, before it is due again: %s",
			e.Deadline.UTC().Format(time.RFC3339), v.text)
	}
	return o
}
