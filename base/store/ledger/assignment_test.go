package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A message that ends its process each time is found after few deaths, whatever else the log holds. As long as
// nothing else ends processes, no other message is suspected.
func TestAssignment_FindsTheMessageThatEndsItsProcess(t *testing.T) {
	t.Parallel()
	const span, startsMax, deathsMax = 8, 3, 2
	rapid.Check(t, func(t *rapid.T) {
		log := make([]bool, rapid.IntRange(1, 40).Draw(t, "messages")) // true: ends its process
		for i := range log {
			log[i] = rapid.IntRange(0, 9).Draw(t, "kind") == 0
		}
		var (
			a         = Assignment{SuspectOffset: -1}
			committed = -1
			done      = make([]bool, len(log))
			deaths    = 0
			moves     = 0 // starts that found progress by the one before
		)
		next := func() int {
			for i, d := range done {
				if !d {
					return i
				}
			}
			return len(log)
		}
		for starts := 0; next() < len(log); starts++ {
			if starts > 500 {
				t.Fatalf("after %d starts offset %d is still not passed: %+v", starts, next(), a)
			}
			if a.Starts > 0 && a.Committed != int64(committed) {
				moves++
			}
			a = a.withStart(Start{Committed: int64(committed), Reach: int64(max(committed, 0) + span)}, startsMax)
			died := false
			// The messages that run together: one in a careful span, otherwise any number of the next ones, in any order.
			for !died && next() < len(log) {
				if from := next(); int64(from) < a.CarefulUntil {
					if a.SuspectOffset == int64(from) {
						a.SuspectStarts++
					} else {
						a.SuspectOffset, a.SuspectStarts = int64(from), 1
					}
					switch {
					case a.SuspectStarts > deathsMax:
						if !log[from] {
							t.Fatalf("offset %d is dead although it ends no process", from)
						}
						done[from] = true
					case log[from]:
						died = true
					default:
						done[from] = true
					}
					if rapid.Bool().Draw(t, "commit") {
						committed = next()
					}
					continue
				}
				together := min(next()+rapid.IntRange(1, span).Draw(t, "together"), len(log))
				for i := next(); i < together; i++ {
					if log[i] {
						died = true
					} else if rapid.Bool().Draw(t, "ends in time") {
						done[i] = true
					}
				}
				if !died && rapid.Bool().Draw(t, "commit") {
					committed = max(committed, next())
				}
				if !died && rapid.IntRange(0, 5).Draw(t, "rebalance") == 0 {
					a.Starts-- // An orderly end.
					break
				}
			}
			if died {
				deaths++
			}
		}
		killers := 0
		for _, kills := range log {
			if kills {
				killers++
			}
		}
		// Each killer costs few deaths, and so does each member that made progress. A member that read far and committed
		// nothing costs one death for each span that it read.
		far := len(log)/span + 1
		require.LessOrEqual(t, deaths, killers*(startsMax+deathsMax+far)+moves*startsMax)
	})
}

func TestAssignment_IsResetWhenTheLogIsRecreated(t *testing.T) {
	t.Parallel()
	a := Assignment{Committed: 500, Starts: 7, CarefulUntil: 1500, SuspectOffset: 700, SuspectStarts: 2}
	a = a.withStart(Start{Topic: "t", Partition: 3, Committed: 20, Reach: 1044}, 3)
	require.Equal(t, Assignment{Topic: "t", Partition: 3, Committed: 20, Starts: 1, SuspectOffset: -1}, a)
}

func TestAssignment_IsResetWhenTheLogIsRecreatedAfterAnOrderlyEnd(t *testing.T) {
	t.Parallel()
	// RecordStops took its start back.
	a := Assignment{Committed: 500, CarefulUntil: 1500, SuspectOffset: 700, SuspectStarts: 2}
	a = a.withStart(Start{Topic: "t", Partition: 3, Committed: 20, Reach: 1044}, 3)
	require.Equal(t, Assignment{Topic: "t", Partition: 3, Committed: 20, Starts: 1, SuspectOffset: -1}, a)
}

func TestAssignment_StaysCarefulAfterProgress(t *testing.T) {
	t.Parallel()
	a := Assignment{Committed: 10, Starts: 3, SuspectOffset: -1}
	a = a.withStart(Start{Committed: 10, Reach: 1034}, 3)
	require.EqualValues(t, 1034, a.CarefulUntil)
	a.SuspectOffset, a.SuspectStarts = 600, 1
	a = a.withStart(Start{Committed: 400, Reach: 1424}, 3)
	require.EqualValues(t, 1034, a.CarefulUntil, "the offsets that the dead members had read are not passed yet")
	require.Equal(t, []int{1, 1}, []int{a.Starts, a.SuspectStarts})
	a = a.withStart(Start{Committed: 1034, Reach: 2058}, 3)
	require.Zero(t, a.CarefulUntil)
	require.EqualValues(t, -1, a.SuspectOffset)
}
