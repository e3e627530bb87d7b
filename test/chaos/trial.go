package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/standalone/verify"
	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

const (
	warmUp   = 5 * time.Second // load before the fault
	recovery = 5 * time.Second // load after it was fixed
	// trialTime bounds a scenario, from its first table to its verdict.
	trialTime = 6 * time.Minute
)

// runner runs scenarios on a stack.
type runner struct {
	stack   *stage.Stack
	program string
	out     string // the folder for histories
	stderr  io.Writer
	// patience is how long a drain may take.
	patience time.Duration
}

// run runs a scenario and returns its verdict. An error means that it could not be judged.
func (r *runner) run(ctx context.Context, s scenario, seed int64) (judge.Verdict, error) {
	began := time.Now()
	dir := filepath.Join(r.out, fmt.Sprintf("%s-%d", s.name, seed))
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return judge.Verdict{}, err
	}
	notes, err := os.Create(filepath.Join(dir, "steps.log"))
	if err != nil {
		return judge.Verdict{}, err
	}
	defer notes.Close()
	log := func(format string, args ...any) {
		text := fmt.Sprintf("%6.1fs %s: %s", time.Since(began).Seconds(), s.name, fmt.Sprintf(format, args...))
		fmt.Fprintln(notes, text)
		fmt.Fprintln(r.stderr, text)
	}
	ctx, cancel := context.WithTimeout(ctx, trialTime+s.extra)
	defer cancel()
	if s.before != nil {
		undo, err := s.before(ctx, r.stack)
		if err != nil {
			return judge.Verdict{}, fmt.Errorf("prepare the servers: %w", err)
		}
		defer func() {
			if err := undo(context.WithoutCancel(ctx)); err != nil {
				log("clearing away: %v", err)
			}
		}()
	}
	if err := awaitDay(ctx, r.stack, trialTime/2+s.extra, log); err != nil {
		return judge.Verdict{}, err
	}
	if s.special != nil {
		v, err := s.special(ctx, r, seed, dir, log)
		v.Scenario, v.Seed = s.name, seed
		return v, errors.Join(err, writeDown(dir, v, log))
	}
	return r.try(ctx, s, seed, dir, log)
}

// try runs a scenario on a deployment of its own, with its histories in dir.
func (r *runner) try(ctx context.Context, s scenario, seed int64, dir string, log func(string, ...any)) (judge.Verdict,
	error) {
	name := fmt.Sprintf("chaos_%d_%d", time.Now().UnixMilli(), seed)
	d, err := deploy(ctx, r.stack, r.program, dir, name, seed, s)
	defer func() {
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := errors.Join(r.stack.Heal(work), d.close(work)); err != nil {
			log("clearing away: %v", err)
		}
	}()
	if err != nil {
		return judge.Verdict{}, fmt.Errorf("deploy: %w", err)
	}
	t := &trial{
		deployment: d, scenario: s, random: rand.New(rand.NewPCG(uint64(seed), 0)), log: log,
		struck: map[string]int{}, patience: r.patience,
	}
	v, err := t.run(ctx)
	v.Scenario, v.Seed = s.name, seed
	if err != nil {
		return v, err
	}
	for _, text := range t.unproved {
		log("void: %s", text)
	}
	return v, writeDown(dir, v, log)
}

// awaitDay waits until the accounts' day does not end within the scenario: the deployment uses the database's time,
// which would otherwise pass the end of the world's day.
func awaitDay(ctx context.Context, s *stage.Stack, takes time.Duration, log func(string, ...any)) error {
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	now = now.In(stage.Zone)
	y, m, d := now.Date()
	left := time.Date(y, m, d+1, 0, 0, 1, 0, stage.Zone).Sub(now)
	if left > takes {
		return nil
	}
	log("waiting %s for the accounts' next day", left.Round(time.Second))
	select {
	case <-time.After(left):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is steady load, the fault, its end, the drain, a full round while the world's clock is stopped, and the verdict.
func (t *trial) run(ctx context.Context) (judge.Verdict, error) {
	if t.scenario.prepare != nil {
		if err := t.scenario.prepare(ctx, t); err != nil {
			return judge.Verdict{}, fmt.Errorf("prepare: %w", err)
		}
	}
	if err := t.start(ctx); err != nil {
		return judge.Verdict{}, fmt.Errorf("start: %w", err)
	}
	samples, err := stage.NewSampler(t.stack.DSN()+t.database("data"), filepath.Join(t.dir, "history.jsonl"),
		cmp.Or(t.scenario.sampleEvery, stage.SampleInterval))
	if err != nil {
		return judge.Verdict{}, err
	}
	defer func() {
		if err := samples.Close(); err != nil {
			t.log("the history is not whole: %v", err)
		}
	}()
	samples.Start(ctx)
	t.log("the load begins")

	before := t.stackStruck()
	background, stop := context.WithCancel(ctx)
	defer stop()
	people := &orders{d: t.deployment, random: rand.New(rand.NewPCG(t.random.Uint64(), 1))}
	asking := stage.NewProbe(t.instances)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		asking.Run(background)
	}()
	ordered := make(chan struct{})
	late := stage.NewLateness()
	go late.Run(background)
	orderUntil, stopOrders := context.WithCancel(background)
	defer stopOrders()
	go func() {
		defer close(ordered)
		people.run(orderUntil)
	}()

	if err := t.fault(ctx); err != nil {
		return judge.Verdict{}, err
	}
	stopOrders()
	<-ordered
	facts, err := t.drain(ctx, samples, people)
	if err != nil {
		return judge.Verdict{}, fmt.Errorf("drain: %w", err)
	}
	samples.Pause() // One ordered round of everything follows. It is judged only by its end.
	if t.stuck {
		t.log("no full round: the log already names what is stuck")
	} else if err := t.fullRound(ctx, &facts); err != nil {
		return judge.Verdict{}, fmt.Errorf("full round: %w", err)
	}
	if err := samples.Sample(ctx, true); err != nil {
		return judge.Verdict{}, fmt.Errorf("last sample: %w", err)
	}
	if err := t.follow(ctx, &facts); err != nil {
		return judge.Verdict{}, fmt.Errorf("follow outcomes: %w", err)
	}
	if t.scenario.check != nil {
		if err := t.scenario.check(ctx, t); err != nil {
			t.tell(judge.Harmed, "the check failed: %v", err)
		}
	}
	stop()
	<-asked
	facts.Struck = t.struckSince(before)
	refused, err := t.world.Refused(ctx)
	if err != nil {
		return judge.Verdict{}, err
	}
	return t.judge(samples, asking, facts, map[string]any{"refused": refused, "machine_late_ms": late.List()})
}

// fault runs the scenario's steps and repairs what they leave broken, between steady load and a time to recover.
func (t *trial) fault(ctx context.Context) error {
	if err := t.wait(ctx, warmUp); err != nil {
		return err
	}
	t.log("the fault begins")
	if err := t.scenario.steps(ctx, t); err != nil {
		t.tell(judge.Harmed, "the steps failed: %v", err)
	}
	if err := t.endFaults(ctx); err != nil {
		return fmt.Errorf("fix: %w", err)
	}
	t.log("fixed: %v", t.struck)
	return t.wait(ctx, recovery)
}

// struckSince returns how often the fault has struck in this trial. It is 0 when one part of the fault did not strike:
// the other parts only prepare it.
func (t *trial) struckSince(before int) int {
	times := t.struckTimes() + t.stackStruck() - before
	for what, n := range t.struck {
		if n == 0 {
			t.log("the fault did not strike: %s", what)
			times = 0
		}
	}
	return times
}

// stackStruck returns how often the proxies disturbed something since the stack began.
func (t *trial) stackStruck() int {
	n := 0
	for _, seat := range t.stack.Seats {
		n += seat.Struck()
	}
	return n
}

func (t *trial) struckTimes() int {
	n := 0
	for _, i := range t.instances {
		n += i.Before + len(i.Struck())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, times := range t.struck {
		n += times
	}
	return n
}

// endFaults ends every fault: servers, connections, platforms, and processes that are down or held.
func (t *trial) endFaults(ctx context.Context) error {
	if err := t.stack.Heal(ctx); err != nil {
		return err
	}
	met, err := t.world.EndFaults(ctx)
	if err != nil {
		return err
	}
	if met > 0 {
		t.strike("calls of platforms", met)
	}
	for _, i := range t.instances {
		for _, point := range i.Armed() {
			i.Disarm(point)
		}
		i.Resume()
		if err := i.Ensure(); err != nil {
			return err
		}
	}
	return t.awaitReady(ctx)
}

// drain ends the load and waits until nothing is open. The judge reports what stays open.
func (t *trial) drain(ctx context.Context, samples *stage.Sampler, people *orders) (judge.Facts, error) {
	f := judge.Facts{
		Accounts: t.accounts, Orders: append(people.list(), t.ordered...),
		MayFail: t.scenario.mayFail, MayEnd: t.scenario.mayEnd,
	}
	var err error
	if f.Tasks, err = t.tasks(ctx); err != nil {
		return f, err
	}
	if f.Until, err = t.stopLoad(ctx); err != nil {
		return f, err
	}
	t.log("the load has ended")
	if err := t.awaitNothingOpen(ctx); err != nil {
		runs, due, _ := t.open(ctx)
		t.log("%d runs and %d due rows stay open: %v", runs, due, err)
		t.stuck = true
	}
	switch stall := t.scenario.stallMax; {
	case stall == 0:
		f.StallMax = stallDefault
	case stall > 0:
		f.StallMax = stall
	}
	if err := samples.Sample(ctx, true); err != nil {
		return f, err
	}
	t.log("drained; %d samples, %d missed", samples.Samples, samples.Missed)
	return f, nil
}

func (t *trial) awaitNothingOpen(ctx context.Context) error {
	return rig.Await(ctx, t.patience, "all runs have ended", func(ctx context.Context) (bool, error) {
		runs, due, err := t.open(ctx)
		return runs+due == 0, err
	})
}

// open counts the runs that have not ended, the orders that were not taken, and the due rows.
func (d *deployment) open(ctx context.Context) (runs, due int, err error) {
	data := d.store.Data.Writer(ctx)
	var waiting int
	err = errors.Join(
		data.Raw("SELECT COUNT(*) FROM run WHERE ended_at IS NULL").Row().Scan(&runs),
		data.Raw("SELECT COUNT(*) FROM manual_order WHERE taken = 0").Row().Scan(&waiting),
		data.Raw("SELECT COUNT(*) FROM subtask_due").Row().Scan(&due),
	)
	return runs + waiting, due, err
}

// fullRound stops the world's clock, orders the default tasks once, and compares all rows with the truth.
func (t *trial) fullRound(ctx context.Context, f *judge.Facts) error {
	now, err := t.world.Freeze(ctx)
	if err = errors.Join(err, t.world.Hurry(ctx)); err != nil {
		return err
	}
	if err := errors.Join(t.world.Limit(ctx, stage.CallsInRound),
		t.store.Config.Writer(ctx).Exec(
			"UPDATE rate_limit SET calls = ? WHERE endpoint = '*' AND scope = 'app' AND period_ms = 1000",
			stage.CallsInRound).Error); err != nil {
		return err
	}
	planned, err := t.stack.Now(ctx)
	if err != nil {
		return err
	}
	// The system's tasks may order pulls, after which summaries must be made again.
	for _, ofSystem := range []bool{false, true, true} {
		ids, err := t.orderDefaults(ctx, ofSystem)
		if err != nil {
			return err
		}
		for _, id := range ids {
			f.Orders = append(f.Orders, judge.Order{RunID: id})
		}
		err = t.awaitRuns(ctx, ids)
		if err == nil {
			err = t.awaitNothingOpen(ctx)
		}
		if err != nil {
			t.tell(judge.Stuck, "%v", err)
			break
		}
	}
	report, err := verify.Run(ctx, verify.Options{Store: t.store, Simulator: t.world.Address, Client: http.DefaultClient,
		Now: now, PlannedAt: planned, Shallow: true})
	if err != nil {
		return err
	}
	if report.NonzeroRows == 0 {
		return errors.New("the truth is empty: there was nothing to compare")
	}
	f.WrongRows, f.Examples = report.Differences, report.Examples
	_, f.Overspent, err = t.world.Ledger(ctx)
	t.log("%d rows compared with the truth, %d are wrong", report.RowsCompared, report.Differences)
	return err
}

// pulledBy returns the names of the tasks, if any, that pull everything that a default task pulls and more.
func pulledBy(name string) []string {
	if list, ok := strings.CutSuffix(name, ".changes"); ok {
		return []string{list + ".full"}
	}
	return []string{name + ".look_back", name + ".all"}
}

// orderDefaults orders the default tasks of the platforms, or of the system, except those whose work another task does.
// It does not use the API, whose orders compare every row: that would correct what a wrong digest has kept.
func (t *trial) orderDefaults(ctx context.Context, ofSystem bool) ([]int64, error) {
	rows, err1 := t.store.TaskRows(ctx)
	now, err2 := t.now(ctx)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	enabled := map[string]bool{}
	for _, row := range rows {
		enabled[row.Name] = row.Enabled == "1"
	}
	var ids []int64
	for _, row := range rows {
		if !enabled[row.Name] || (row.Media == "system") != ofSystem ||
			slices.ContainsFunc(pulledBy(row.Name), func(name string) bool { return enabled[name] }) {
			continue
		}
		order := task.Order{Scope: task.ScopeAll, By: "chaos"}
		ids = append(ids, task.NewRunID(now))
		if err := t.store.AddOrder(ctx, ledger.RunOrder{RunID: ids[len(ids)-1], TaskID: row.ID, OrderedAt: now,
			Request: order}); err != nil {
			return nil, fmt.Errorf("order %s: %w", row.Name, err)
		}
	}
	if len(ids) == 0 {
		return nil, errors.New("there is no default task to order")
	}
	return ids, nil
}

// awaitRuns waits until runs have ended, and fails if one did not succeed.
func (t *trial) awaitRuns(ctx context.Context, ids []int64) error {
	err := rig.Await(ctx, stage.Patience, fmt.Sprintf("%d ordered runs have ended", len(ids)),
		func(ctx context.Context) (bool, error) {
			runs, err := t.store.Runs(ctx, ids)
			if err != nil || len(runs) < len(ids) {
				return false, err
			}
			for i := range runs {
				if runs[i].State.Open() {
					return false, nil
				}
			}
			return true, nil
		})
	if err != nil {
		return err
	}
	runs, err := t.store.Runs(ctx, ids)
	if err != nil {
		return err
	}
	for i := range runs {
		if runs[i].State != task.RunSucceeded {
			return fmt.Errorf("in the full round %s ended as %s: %s", runs[i].TaskName, runs[i].State, runs[i].ErrorText)
		}
	}
	return nil
}

// judge returns the verdict from all that was observed.
func (t *trial) judge(samples *stage.Sampler, asking *stage.Probe, f judge.Facts,
	figures map[string]any) (judge.Verdict, error) {
	w := &samples.Watch
	for _, p := range t.problems {
		w.Tell(p.Kind, "%s", p.Text)
	}
	for _, text := range asking.Complaints() {
		w.Tell(judge.Harmed, "%s", text)
	}
	for _, i := range t.instances {
		for _, text := range i.Ended {
			w.Tell(judge.Harmed, "%s", text)
		}
	}
	if samples.Torn > stage.TornMost {
		w.Tell(judge.Broken, "%d of %d snapshots had counts that differed from the rows", samples.Torn, samples.Samples)
	}
	f.Unproved = t.unproved
	logs, floods, err := stage.ReadLogs(t.instances)
	if err != nil {
		return judge.Verdict{}, err
	}
	for _, text := range floods {
		w.Tell(judge.Harmed, "%s", text)
	}
	v := w.Judge(f)
	maps.Copy(figures, map[string]any{
		"struck": t.struck, "facts": f, "logs": logs, "not_ready": asking.Unready, "questions": asking.Asked,
		"samples": samples.Samples, "samples_missed": samples.Missed, "samples_torn": samples.Torn,
	})
	return v, t.writeJSON("figures.json", figures)
}
