package task_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/day"
	"adsync/base/task"
)

func headers(e task.Envelope) func(string) []byte {
	m := map[string][]byte{}
	for _, h := range e.Seal().Headers(e.Key, e.Delivery, e.Attempt) {
		m[h.Name] = h.Value
	}
	m[task.TraceHeader] = []byte(e.Trace)
	if e.Outside {
		m[task.OutsideHeader] = []byte("1")
	}
	return func(name string) []byte { return m[name] }
}

func TestEnvelope_SurvivesItsHeaders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		moment := func(label string) time.Time {
			return time.UnixMilli(rapid.Int64Range(1, 4_000_000_000_000).Draw(t, label)).UTC()
		}
		e := task.Envelope{
			Key: task.Key{RunID: rapid.Int64().Draw(t, "run"), AccountID: rapid.Int64().Draw(t, "account"),
				Part: rapid.String().Draw(t, "part")},
			TaskID: rapid.Int64().Draw(t, "task"), TaskName: "a", Media: "m", Lane: "l", Handler: "m.h",
			Delivery: rapid.IntRange(1, 1<<30).Draw(t, "delivery"), Attempt: rapid.IntRange(0, 100).Draw(t, "attempt"),
			PlannedAt: moment("planned"), Timeout: time.Duration(rapid.IntRange(0, 1<<30).Draw(t, "timeout")) * time.Millisecond,
			Confirmed: rapid.Bool().Draw(t, "confirmed"),
			Spare:     rapid.Bool().Draw(t, "spare"),
			RetryMax:  5, RetryBase: 10 * time.Second, Trace: "00-1-2-01",
			Concurrency: rapid.SampledFrom([]task.Concurrency{task.Parallel, task.Serial, task.Exclusive}).Draw(t,
				"concurrency"),
			ExclusiveMax:   time.Duration(rapid.IntRange(0, 1<<30).Draw(t, "exclusive max")) * time.Millisecond,
			ExclusiveOver:  rapid.SampledFrom([]task.Over{"", task.OverLane, task.OverEverything}).Draw(t, "over"),
			ExclusiveDrain: time.Duration(rapid.IntRange(0, 1<<30).Draw(t, "drain")) * time.Millisecond,
			Ancestors:      rapid.SampledFrom([][]int64{nil, {7}, {7, 8}}).Draw(t, "ancestors"),
			SerialKey:      rapid.SampledFrom([]string{"", "sales", "{{x{account}"}).Draw(t, "serial key"),
			Outside:        rapid.Bool().Draw(t, "outside"),
		}
		if rapid.Bool().Draw(t, "has a deadline") {
			e.Deadline = moment("deadline")
		}
		got, err := new(task.Envelopes).Parse(headers(e))
		require.NoError(t, err)
		require.Equal(t, e, got)
	})
}

// first returns the headers of a message of the first version.
func first() map[string]string {
	return map[string]string{
		"adsync-version": "1", "run": "7", "account": "8", "part": "2026-11-21", "task": "3", "task-name": "hourly",
		"media": "m", "lane": "normal", "handler": "m.h",
		"delivery": "2", "attempt": "1", "planned": "2026-11-21T01:02:03.5Z", "deadline": "", "timeout-ms": "60000",
		"retry-max": "5", "retry-base-ms": "10000",
		"concurrency": "exclusive", "exclusive-max-ms": "1500", "spare": "1",
	}
}

func of(m map[string]string) func(string) []byte {
	return func(name string) []byte { return []byte(m[name]) }
}

func TestEnvelopes_ReadMessagesOfTheFirstVersion(t *testing.T) {
	t.Parallel()
	var from task.Envelopes
	want := task.Envelope{
		Key: task.Key{RunID: 7, AccountID: 8, Part: "2026-11-21"}, TaskID: 3, TaskName: "hourly", Media: "m", Lane: "normal",
		Handler:  "m.h",
		Delivery: 2, Attempt: 1, PlannedAt: time.Date(2026, 11, 21, 1, 2, 3, 5e8, time.UTC), Timeout: time.Minute,
		RetryMax: 5, RetryBase: 10 * time.Second,
		Concurrency: task.Exclusive, ExclusiveMax: 1500 * time.Millisecond, Spare: true,
	}
	got, err := from.Parse(of(first()))
	require.NoError(t, err)
	require.Equal(t, want, got)

	before := first() // there were policies
	delete(before, "concurrency")
	delete(before, "exclusive-max-ms")
	got, err = from.Parse(of(before))
	require.NoError(t, err)
	require.Equal(t, task.Parallel, got.Concurrency)
	require.Zero(t, got.ExclusiveMax)

	broken := first()
	broken["planned"] = "noon"
	_, err = from.Parse(of(broken))
	require.EqualError(t, err, `header planned: "noon" is not a time`)
}

func TestEnvelopes_DistinguishAnotherVersionFromABrokenMessage(t *testing.T) {
	t.Parallel()
	var from task.Envelopes
	good := headers(task.Envelope{Key: task.Key{RunID: 1, AccountID: 5}, Delivery: 2})
	with := func(name, value string) func(string) []byte {
		return func(n string) []byte {
			if n == name {
				return []byte(value)
			}
			return good(n)
		}
	}
	_, err := from.Parse(with("adsync-version", "3"))
	var version *task.VersionError
	require.ErrorAs(t, err, &version, "a newer producer's message is deferred, not dead")
	require.Equal(t, "3", version.Version)

	_, err = from.Parse(with("delivery", "many"))
	require.EqualError(t, err, `header delivery: "many" is not a number`)
	for task, text := range map[string]string{
		`{"concurrency": "alone"}`: `header task: concurrency "alone" is none of parallel, serial, exclusive`,
		`{"planned": "noon"}`:      "header task: ",
		`noon`:                     "header task: ",
		``:                         "header task: ",
	} {
		e, err := from.Parse(with("task", task))
		require.ErrorContains(t, err, text)
		require.EqualValues(t, 5, e.AccountID, "what could be read is returned")
		require.Equal(t, 2, e.Delivery)
	}
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

// A simulated world's clock stands still while hundreds of runs are ordered.
func TestRunID_ManyOfOneMillisecondDiffer(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000)
	made := map[int64]bool{}
	of := map[[2]int64]int{} // of each eighth run, by its remainder
	for i := range int64(24_000) {
		id := task.NewRunID(at)
		made[id] = true
		of[[2]int64{i % 8, id % 8}]++
	}
	require.Len(t, made, 24_000)
	for which, n := range of {
		require.InDelta(t, 24_000/64, n, 150, "%v: tasks that come in order are on all shards", which)
	}
}
