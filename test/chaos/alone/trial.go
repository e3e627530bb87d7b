// Package alone is the scenario of exclusive work: subtasks that run alone in their lane, on their platform or next to
// nothing at all, while processes die and stand still. It judges by the tables whether anything worked next to them.
package alone

import (
	"context"
	"math/rand/v2"
	"time"

	"adsync/base/store"
	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
)

// Name and Doc describe the scenario.
const (
	Name = "exclusive-everything"
	Doc  = "exclusive subtasks over a lane, a platform and everything come every few seconds, while consumers are " +
		"killed (one that waits for its floor, one that has it, one at its work), the leader is killed, Redis forgets, " +
		"and consumers stand still: nothing else works next to them, and no floor is left"
)

// Trial is one run of the scenario, in a deployment under load.
type Trial struct {
	Stack     *stage.Stack
	World     *stage.World
	Store     *store.Store
	Random    *rand.Rand
	Consumers []*stage.Instance
	Media     []string           // two platforms of the load
	Accounts  map[string][]int64 // by media
	Patience  time.Duration      // until exclusive subtasks have ended, after the faults

	// ArmAny arms a fail point in all given processes and returns the first one in which it strikes.
	ArmAny  func(ctx context.Context, point, act string, among []*stage.Instance) (*stage.Instance, error)
	Leader  func(context.Context) (*stage.Instance, error)
	API     func(*rand.Rand) (address string, ok bool) // of a producer that is alive
	Order   func(ctx context.Context, api, task string, accounts []int64) (runID int64, err error)
	Accept  func(runID int64, accounts []int64) // notes an order for the judge
	Reload  func(context.Context) error         // makes producers read the tasks
	EachLog func(ctx context.Context, do func(table string) error) error
	Strike  func(what string, times int)
	Tell    func(kind judge.Kind, format string, args ...any)
	Void    func(format string, args ...any)
	Log     func(format string, args ...any)

	history
}
