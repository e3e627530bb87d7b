package task_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/day"
	"adsync/base/task"
)

func headers(e task.Envelope) func(string) string {
	m := map[string]string{}
	for _, h := range e.Headers() {
		m[h[0]] = h[1]
	}
	return func(name string) string { return m[name] }
}

func TestEnvelope_SurvivesItsHeaders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		moment := func(label string) time.Time {
			return time.UnixMilli(rapid.Int64Range(1, 4_000_000_000_000).Draw(t, label)).UTC()
		}
		e := task.Envelope{
			Key:    task.Key{RunID: rapid.Int64().Draw(t, "run"), AccountID: rapid.Int64().Draw(t, "account"), Part: rapid.String().Draw(t, "part")},
			TaskID: rapid.Int64().Draw(t, "task"), TaskName: "a", Media: "m", Lane: "l", Handler: "m.h",
			Delivery: rapid.IntRange(1, 1<<30).Draw(t, "delivery"), Attempt: rapid.IntRange(0, 100).Draw(t, "attempt"),
			PlannedAt: moment("planned"), Timeout: time.Duration(rapid.IntRange(0, 1<<30).Draw(t, "timeout")) * time.Millisecond,
			Confirmed: rapid.Bool().Draw(t, "confirmed"),
			Spare:     rapid.Bool().Draw(t, "spare"),
			RetryMax:  5, RetryBase: 10 * time.Second, Trace: "00-1-2-01",
			Concurrency:  rapid.SampledFrom([]task.Concurrency{task.Parallel, task.Serial, task.Exclusive}).Draw(t, "concurrency"),
			ExclusiveMax: time.Duration(rapid.IntRange(0, 1<<30).Draw(t, "exclusive max")) * time.Millisecond,
		}
		if rapid.Bool().Draw(t, "has a deadline") {
			e.Deadline = moment("deadline")
		}
		got, err := task.ParseEnvelope(headers(e))
		require.NoError(t, err)
		require.Equal(t, e, got)
	})
}

func TestParseEnvelope_ReadsMessagesOfBeforeThereWerePolicies(t *testing.T) {
	t.Parallel()
	now := headers(task.Envelope{Key: task.Key{RunID: 1}, Concurrency: task.Exclusive, ExclusiveMax: time.Minute})
	e, err := task.ParseEnvelope(func(name string) string {
		if name == "concurrency" || name == "exclusive-max-ms" {
			return ""
		}
		return now(name)
	})
	require.NoError(t, err)
	require.Equal(t, task.Parallel, e.Concurrency)
	require.Zero(t, e.ExclusiveMax)
}

func TestParseEnvelope_TellsAnotherVersionFromABrokenMessage(t *testing.T) {
	t.Parallel()
	good := headers(task.Envelope{Key: task.Key{RunID: 1}})
	with := func(name, value string) func(string) string {
		return func(n string) string {
			if n == name {
				return value
			}
			return good(n)
		}
	}
	_, err := task.ParseEnvelope(with("adsync-version", "2"))
	var version *task.VersionError
	require.ErrorAs(t, err, &version, "a newer producer's message is deferred, not dead")
	require.Equal(t, "2", version.Version)

	_, err = task.ParseEnvelope(with("delivery", "many"))
	require.EqualError(t, err, `header delivery: "many" is not a number`)
	_, err = task.ParseEnvelope(with("concurrency", "alone"))
	require.EqualError(t, err, `header concurrency: "alone" is none of parallel, serial, exclusive`)
	_, err = task.ParseEnvelope(with("planned", "noon"))
	require.EqualError(t, err, `header planned: "noon" is not a time`)
}

func TestRunID_NamesItsLogDay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(1_600_000_000_000, 2_100_000_000_000).Draw(t, "at")).UTC()
		id := task.NewRunID(at)
		require.Positive(t, id)
		require.Equal(t, at, task.RunTime(id))
		d := day.Of(at, time.UTC)
		require.Equal(t, d, task.LogDay(id))
		require.LessOrEqual(t, task.FirstRunID(d), id)
		require.Less(t, id, task.FirstRunID(d.Add(1)))
	})
}
