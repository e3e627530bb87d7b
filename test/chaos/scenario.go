package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"adsync/test/chaos/alone"
	"adsync/test/chaos/judge"
	"adsync/test/chaos/outside"
	"adsync/test/chaos/publishing"
	"adsync/test/chaos/queueing"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

// scenario is one fault under steady load.
type scenario struct {
	name string
	doc  string // what is done, and what must hold
	// long means that it takes more than a minute: only `make chaos-long` runs it.
	long bool
	// stallMax is the longest time without any outcome that the design allows; stallDefault if it is 0, any if it is
	// negative.
	stallMax time.Duration
	// mayFail means that subtasks may end as failed because the platform does not answer for a long time.
	mayFail bool
	// mayEnd means that people end work: cancelled, superseded, expired.
	mayEnd bool
	// losesTopics means that what is in Kafka is lost: nothing can be said of outcomes.
	losesTopics bool
	// extra is how much longer than other scenarios it may take.
	extra time.Duration
	// sampleEvery is how often the tables are read, SampleInterval if it is 0; speed is that of the world's clock,
	// UsualSpeed if it is 0.
	sampleEvery time.Duration
	speed       int
	// settings changes the settings of all processes.
	settings func(map[string]any)
	// before prepares the servers before the deployment; the returned function undoes that.
	before func(context.Context, *stage.Stack) (undo func(context.Context) error, err error)
	// prepare changes the tables, before the processes start.
	prepare func(context.Context, *trial) error
	// steps inject the fault and note what it struck. The trial repairs afterwards what they leave broken.
	steps func(context.Context, *trial) error
	// check judges what is special to this scenario, after everything has ended.
	check func(context.Context, *trial) error
	// special runs a scenario of report files or of the job queue, which has a deployment and a judge of its own.
	special func(ctx context.Context, r *runner, seed int64, dir string, log func(string, ...any)) (judge.Verdict, error)
}

// publishingScenarios are those of report files.
var publishingScenarios = func() (all []scenario) {
	for _, s := range publishing.All {
		all = append(all, scenario{name: s.Name, doc: s.Doc, long: s.Long, extra: s.Extra,
			special: func(ctx context.Context, r *runner, seed int64, dir string, log func(string, ...any)) (judge.Verdict,
				error) {
				return s.Run(ctx, publishing.Trial{Stack: r.stack, Program: r.program, Dir: dir, Seed: seed,
					Patience: r.patience, Log: log})
			}})
	}
	return all
}()

// queueingScenarios are those of the job queue.
var queueingScenarios = func() (all []scenario) {
	for _, s := range queueing.All {
		all = append(all, scenario{name: s.Name, doc: s.Doc, long: s.Long, extra: s.Extra,
			special: func(ctx context.Context, r *runner, seed int64, dir string, log func(string, ...any)) (judge.Verdict,
				error) {
				return s.Run(ctx, queueing.Trial{Stack: r.stack, Program: r.program, Dir: dir, Seed: seed,
					Patience: r.patience, Log: log})
			}})
	}
	return append(all, scenario{name: outside.Name, doc: outside.Doc, long: true, extra: outside.Extra,
		special: func(ctx context.Context, r *runner, seed int64, dir string, log func(string, ...any)) (judge.Verdict,
			error) {
			return outside.Run(ctx, queueing.Trial{Stack: r.stack, Program: r.program, Dir: dir, Seed: seed,
				Patience: r.patience, Log: log})
		}})
}()

// stallDefault is the longest stall of a scenario that sets no other: a takeover takes 15 s, and a rebalance after a
// kill as long as the session.
const stallDefault = 30 * time.Second

// groups are the scenarios by what they hit; each has a file.
var groups = [][]scenario{
	producerScenarios, slices.Concat(consumerScenarios, exclusiveScenarios),
	slices.Concat(kafkaScenarios, kafkaNodesScenarios),
	slices.Concat(redisScenarios, redisNodesScenarios),
	slices.Concat(mariadbScenarios, mariadbPairScenarios),
	slices.Concat(platformScenarios, filesScenarios), peopleScenarios,
	slices.Concat(wholeScenarios, pairScenarios), publishingScenarios, queueingScenarios,
}

// scenarios returns all scenarios.
var scenarios = slices.Concat(groups...)

// perGroup is how many scenarios of each group a selection has. A selection takes some 15 minutes.
const perGroup = 2

// choose returns a selection of every group, by a seed.
func choose(seed int64) []scenario {
	random := rand.New(rand.NewPCG(uint64(seed), 3))
	var chosen []scenario
	for _, group := range groups {
		quick := slices.DeleteFunc(slices.Clone(group), func(s scenario) bool { return s.long })
		for _, n := range random.Perm(len(quick))[:perGroup] {
			chosen = append(chosen, quick[n])
		}
	}
	return chosen
}

func findScenario(name string) (scenario, error) {
	for _, s := range scenarios {
		if s.name == name {
			return s, nil
		}
	}
	names := make([]string, len(scenarios))
	for i, s := range scenarios {
		names[i] = s.name
	}
	return scenario{}, fmt.Errorf("there is no scenario %q: want one of %v", name, names)
}

// trial is one run of a scenario.
type trial struct {
	*deployment
	scenario scenario
	random   *rand.Rand // for the moments and the victims
	log      func(format string, args ...any)
	patience time.Duration // with a drain

	mu       sync.Mutex
	struck   map[string]int
	problems []judge.Problem
	ordered  []judge.Order // in addition to the load's
	unproved []string      // what could not be judged
	losses   []loss        // after which calls must come back
	stuck    bool          // something was open when all should have ended
	alone    *alone.Trial  // of exclusive-everything
}

// strike notes that the fault struck.
func (t *trial) strike(what string, times int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.struck[what] += times
}

// complain records a broken promise that the judge cannot find in the snapshots.
func (t *trial) complain(format string, args ...any) { t.tell(judge.Broken, format, args...) }

func (t *trial) tell(kind judge.Kind, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, judge.Problem{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// void records a promise that cannot be judged because the machine or the servers prevented it.
func (t *trial) void(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unproved = append(t.unproved, fmt.Sprintf(format, args...))
}

// accept notes an order that the API has accepted.
func (t *trial) accept(runID int64, accountIDs []int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ordered = append(t.ordered, judge.Order{RunID: runID, Accounts: accountIDs})
}

// orderSome orders a run of a task for some accounts.
func (t *trial) orderSome(ctx context.Context, name string, accounts []int64) error {
	api, ok := t.producerAPI(t.random)
	if !ok {
		return errors.New("no producer is alive")
	}
	id, err := t.order(ctx, api, name, accounts)
	if err == nil {
		t.accept(id, accounts)
	}
	return err
}

// wait lets time pass.
func (t *trial) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// watch calls a check repeatedly for a time.
func (t *trial) watch(ctx context.Context, d time.Duration, look func() error) error {
	for until := time.Now().Add(d); time.Now().Before(until); {
		if err := look(); err != nil {
			return err
		}
		if err := t.wait(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// between returns a random duration between two.
func (t *trial) between(low, high time.Duration) time.Duration {
	return low + time.Duration(t.random.Int64N(int64(high-low)))
}

// any returns a random instance of a role.
func (t *trial) any(role string) *stage.Instance {
	all := t.of(role)
	return all[t.random.IntN(len(all))]
}

// awaitPoint waits until a fail point of one of the instances has struck more often than before, and returns that
// instance.
func (t *trial) awaitPoint(ctx context.Context, point string, among []*stage.Instance) (*stage.Instance, error) {
	return t.awaitPointFor(ctx, stage.Patience/2, point, among)
}

// awaitPointFor is awaitPoint for a point that may take another time than usual.
func (t *trial) awaitPointFor(ctx context.Context, limit time.Duration, point string,
	among []*stage.Instance) (*stage.Instance, error) {
	var found *stage.Instance
	err := rig.Await(ctx, limit, "the fail point "+point+" strikes", func(context.Context) (bool, error) {
		for _, i := range among {
			if slices.Contains(i.Struck(), point) {
				found = i
				return true, nil
			}
		}
		return false, nil
	})
	return found, err
}

// armAny arms a point in all given instances, waits until it strikes in one of them, and disarms it in the others.
func (t *trial) armAny(ctx context.Context, point, act string, among []*stage.Instance) (*stage.Instance, error) {
	for _, i := range among {
		if err := i.Arm(point, act); err != nil {
			return nil, err
		}
	}
	i, err := t.awaitPoint(ctx, point, among)
	for _, other := range among {
		other.Disarm(point)
	}
	if err == nil {
		t.log("%s struck in %s", point, i.Name)
	}
	return i, err
}
