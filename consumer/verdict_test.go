package consumer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/sqldb"
	"adsync/base/task"
	"adsync/media"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error { return fmt.Errorf("pull report: %w", err) }
	const limit = 10 * time.Minute
	for _, tt := range []struct {
		name    string
		attempt int
		err     error
		want    verdict // texts apart
	}{
		{"no error succeeds", 1, nil, verdict{state: task.Succeeded, attempt: 1}},
		{"a newer pull supersedes", 1, wrap(media.ErrSuperseded), verdict{state: task.Superseded, attempt: 1}},
		{"a wait costs no attempt", 5, wrap(&media.DeferError{After: 20 * time.Second, Reason: "window"}),
			verdict{state: task.Deferred, attempt: 5, after: 21 * time.Second}},
		{"a wait for a parked account ends when that is back", 5, wrap(media.WaitForParked(7, "frozen")),
			verdict{state: task.Deferred, attempt: 5, after: 24*time.Hour + 15*time.Second, waitsFor: "account:7"}},
		{"a wait is not shorter than a second", 0, &media.DeferError{Reason: "token"},
			verdict{state: task.Deferred, after: 1500 * time.Millisecond}},
		{"quota waits as long as it says", 5, wrap(&media.Error{Class: media.Quota, RetryAfter: 30 * time.Second}),
			verdict{state: task.Deferred, attempt: 5, after: 31500 * time.Millisecond, class: media.Quota}},
		{"quota waits also when it does not say", 5, &media.Error{Class: media.Quota},
			verdict{state: task.Deferred, attempt: 5, after: quotaWait + 750*time.Millisecond, class: media.Quota}},
		{"a wait has a limit", 0, &media.Error{Class: media.Quota, RetryAfter: 1e6 * time.Hour},
			verdict{state: task.Deferred, after: waitMax + 15*time.Second, class: media.Quota}},
		{"invalid is dead at once", 0, wrap(&media.Error{Class: media.Invalid}),
			verdict{state: task.Failed, attempt: 1, class: media.Invalid}},
		{"a bug is dead at once", 0, wrap(&media.Error{Class: media.Bug}),
			verdict{state: task.Failed, attempt: 1, class: media.Bug}},
		{"auth is retried", 0, wrap(&media.Error{Class: media.Auth}),
			verdict{state: task.Retrying, attempt: 1, after: 5 * time.Second, class: media.Auth}},
		{"transient backs off", 2, wrap(&media.Error{Class: media.Transient}),
			verdict{state: task.Retrying, attempt: 3, after: 20 * time.Second, class: media.Transient}},
		{"a timeout backs off", 0, context.DeadlineExceeded,
			verdict{state: task.Retrying, attempt: 1, after: 5 * time.Second, class: media.Transient}},
		{"an unknown error backs off", 1, errors.New("?"),
			verdict{state: task.Retrying, attempt: 2, after: 10 * time.Second, class: media.Transient}},
		{"the platform's pause is kept", 0, &media.Error{Class: media.Transient, RetryAfter: time.Hour},
			verdict{state: task.Retrying, attempt: 1, after: time.Hour, class: media.Transient}},
		{"the platform's pause has a limit", 0, &media.Error{Class: media.Transient, RetryAfter: 1e6 * time.Hour},
			verdict{state: task.Retrying, attempt: 1, after: waitMax, class: media.Transient}},
		{
			"a value that its column does not take is dead at once", 0,
			fmt.Errorf("write: %w", &mysql.MySQLError{Number: 1406, Message: "Data too long"}),
			verdict{state: task.Failed, attempt: 1, class: media.Invalid},
		},
		{"a row that is too large is dead at once", 0, fmt.Errorf("write: %w", &sqldb.TooLargeError{}),
			verdict{state: task.Failed, attempt: 1, class: media.Invalid}},
		{"the last attempt is dead", 5, &media.Error{Class: media.Transient},
			verdict{state: task.Failed, attempt: 6, class: media.Transient}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := task.Envelope{Attempt: tt.attempt, RetryMax: 5, RetryBase: 10 * time.Second}
			got := judge(e, tt.err, limit, func() float64 { return 0.5 })
			if tt.err != nil {
				require.NotEmpty(t, got.text)
			}
			got.text, got.reason = "", ""
			require.Equal(t, tt.want, got)
		})
	}
}

func TestBackoff_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "base"))
		attempt := rapid.IntRange(1, 1_000_000).Draw(t, "attempt")
		limit := time.Duration(rapid.Int64Range(int64(time.Second), int64(24*time.Hour)).Draw(t, "limit"))
		random := rapid.Float64Range(0, 0.999999).Draw(t, "random")
		got := backoff(base, attempt, limit, random)
		require.GreaterOrEqual(t, got, time.Duration(0))
		require.LessOrEqual(t, got, limit)
		if base > 0 && attempt < 20 { // beyond which the product overflows
			require.LessOrEqual(t, got, base<<(attempt-1), "not above base · 2^(attempt-1)")
		}
		require.GreaterOrEqual(t, backoff(base, attempt+1, limit, random), got, "pauses never shrink")
		require.Zero(t, backoff(base, attempt, limit, 0), "full jitter reaches down to nothing")
	})
}

func TestJudge_RetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := task.Envelope{
			Attempt: rapid.IntRange(0, 50).Draw(t, "attempt"), RetryMax: 1000,
			RetryBase: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "base")),
		}
		asked := time.Duration(rapid.Int64().Draw(t, "asked"))
		class := rapid.SampledFrom([]media.Class{media.Transient, media.Auth, media.Quota}).Draw(t, "class")
		v := judge(e, &media.Error{Class: class, RetryAfter: asked}, time.Hour,
			func() float64 { return rapid.Float64Range(0, 0.999999).Draw(t, "random") })
		require.GreaterOrEqual(t, v.after, min(max(asked, 0), waitMax),
			"no sooner than the platform asks, but for what cannot be meant")
		require.LessOrEqual(t, v.after, waitMax+30*time.Second)
	})
}

func TestVerdict_NothingIsDueAfterItsTimeToLive(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	e := task.Envelope{Key: task.Key{RunID: 1, AccountID: 2, Part: "p"}, TaskID: 7, Delivery: 3,
		Deadline: now.Add(time.Minute)}
	v := verdict{state: task.Retrying, attempt: 2, reason: "timeout", class: media.Transient, text: "timeout"}

	v.after = 59 * time.Second
	o := v.outcome(e, now)
	require.Equal(t, task.Retrying, o.State)
	require.Equal(t, now.Add(59*time.Second), o.DueAt)
	require.Equal(t, 3, o.Delivery)

	v.after = time.Minute
	o = v.outcome(e, now)
	require.Equal(t, task.Expired, o.State)
	require.True(t, o.DueAt.IsZero())
	require.Contains(t, o.ErrorText, "timeout", "what it failed of is kept")

	e.Deadline = time.Time{}
	v.after = 24 * time.Hour
	require.Equal(t, task.Retrying, v.outcome(e, now).State, "without a time to live nothing expires")
}
