package alone

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"adsync/base/sqldb"
	"adsync/base/task"
	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

// job is a task of exclusive subtasks.
type job struct {
	media, lane, handler string
	over                 task.Over
}

// jobs returns the tasks, which are in lanes that the load uses too. The first one is over everything.
func (t *Trial) jobs() []job {
	first, second := t.Media[0], t.Media[1]
	return []job{
		{first, "offline", first + ".report_hourly", task.OverEverything},
		{second, "important", second + ".report_daily", task.OverPlatform},
		{first, "important", first + ".report_daily", task.OverLane},
	}
}

func (j job) name() string { return "alone." + string(j.over) }

// Prepare writes the tasks.
func (t *Trial) Prepare(ctx context.Context) error {
	for _, j := range t.jobs() {
		err := t.Store.Config.Writer(ctx).Exec(`INSERT INTO cron_task (name, media, handler, cron, timezone, lane, scope,
  params, timeout_seconds, retry_max, retry_base_seconds, concurrency, exclusive_over)
VALUES (?, ?, ?, ?, 'UTC', ?, 'all', '{"level":"account","days":1}', 20, 30, 1, 'exclusive', ?)`,
			j.name(), j.media, j.handler, stage.RestCron(), j.lane, string(j.over)).Error
		if err != nil {
			return err
		}
	}
	return nil
}

// callTime is how long calls take: exclusive work, and what it waits for, is under way for at least this time.
const callTime = time.Second

// Steps injects the faults while exclusive subtasks are ordered and the floors are observed, and then waits for the
// end of all of those.
func (t *Trial) Steps(ctx context.Context) error {
	for _, media := range t.Media {
		fault := map[string]any{"kind": stage.Latency, "media": media, "ms": callTime.Milliseconds()}
		if err := t.World.Fault(ctx, fault); err != nil {
			return err
		}
	}
	watching, unwatch := context.WithCancel(ctx)
	ordering, unorder := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer unwatch()
	defer unorder()
	work.Go(func() { t.watch(watching, t.Store) })
	random := rand.New(rand.NewPCG(t.Random.Uint64(), 4))
	work.Go(func() { t.orderSome(ordering, random) })

	err := t.disturb(ctx)
	unorder()
	return errors.Join(err, t.awaitEnds(ctx), t.Store.Config.Writer(ctx).Exec(
		"UPDATE cron_task SET enabled = 0, revision = revision + 1 WHERE name LIKE 'alone.%'").Error, t.Reload(ctx))
}

// orderSome orders an exclusive subtask every few seconds.
func (t *Trial) orderSome(ctx context.Context, random *rand.Rand) {
	jobs := t.jobs()
	for n := 0; ctx.Err() == nil; n++ {
		j := jobs[n%len(jobs)]
		if random.IntN(3) == 0 {
			j = jobs[0]
		}
		t.order(ctx, random, j)
		_ = wait(ctx, 3*time.Second+time.Duration(random.Int64N(int64(3*time.Second))))
	}
}

// disturb injects the faults one after the other.
func (t *Trial) disturb(ctx context.Context) error {
	for _, fault := range []func(context.Context) error{
		// While it waits for others, and when it has its floor.
		func(ctx context.Context) error {
			return t.killFloor(ctx, "consumer.floor.asked", "kill after=1", 0)
		},
		func(ctx context.Context) error { return t.killFloor(ctx, "consumer.floor.held", "kill", 0) },
		// In its work.
		func(ctx context.Context) error {
			return t.killFloor(ctx, "consumer.floor.held", "wait 1ms", t.between(callTime/4, callTime*3/4))
		},
		t.killLeader,
		func(ctx context.Context) error {
			t.Strike("Redis emptied", 1)
			return t.Stack.Cache.FlushAll(ctx).Err()
		},
		// Another consumer, while one waits for it; then the holder; then one that waits.
		t.pauseOther,
		func(ctx context.Context) error { return t.pauseFloor(ctx, "consumer.floor.held") },
		func(ctx context.Context) error { return t.pauseFloor(ctx, "consumer.floor.asked") },
	} {
		if err := fault(ctx); err != nil {
			return err
		}
		if err := wait(ctx, t.between(2*time.Second, 4*time.Second)); err != nil {
			return err
		}
	}
	return nil
}

// killFloor kills a consumer at a fail point of its exclusive subtask, or some time after it. Another exclusive subtask
// is ordered meanwhile, which would pass if the first one lost its place.
func (t *Trial) killFloor(ctx context.Context, point, act string, later time.Duration) error {
	before := map[*stage.Instance]string{}
	for _, i := range t.Consumers {
		before[i] = i.Node()
	}
	i, err := t.ArmAny(ctx, point, act, t.Consumers)
	if err != nil {
		return err
	}
	node := before[i]
	if later > 0 {
		if err := wait(ctx, later); err != nil {
			return err
		}
		if err := i.Kill(); err != nil {
			return err
		}
	}
	t.dies(node)
	t.Strike("consumers with a floor killed", 1)
	t.order(ctx, t.Random, t.jobs()[0])
	i.ForgetStruck()
	if later > 0 {
		return i.StartReady(ctx)
	}
	return i.AwaitReady(ctx)
}

func (t *Trial) killLeader(ctx context.Context) error {
	i, err := t.Leader(ctx)
	if err != nil {
		return err
	}
	if err := i.Kill(); err != nil {
		return err
	}
	t.Strike("leaders killed", 1)
	t.Log("killed %s, the leader", i.Name)
	if err := wait(ctx, t.between(2*time.Second, 8*time.Second)); err != nil {
		return err
	}
	return i.StartReady(ctx)
}

// still is how long a consumer stands still: longer than a silent consumer counts as alive, and than its session.
const still = 9 * time.Second

// pauseOther stops another consumer than the one whose exclusive subtask begins to wait.
func (t *Trial) pauseOther(ctx context.Context) error {
	asks, err := t.ArmAny(ctx, "consumer.floor.asked", "wait 1ms", t.Consumers)
	if err != nil {
		return err
	}
	asks.ForgetStruck()
	i := asks
	for i == asks {
		i = t.Consumers[t.Random.IntN(len(t.Consumers))]
	}
	if err := i.Pause(); err != nil {
		return err
	}
	return t.resume(ctx, i)
}

// pauseFloor stops a consumer at a fail point of its exclusive subtask.
func (t *Trial) pauseFloor(ctx context.Context, point string) error {
	i, err := t.ArmAny(ctx, point, "stop", t.Consumers)
	if err != nil {
		return err
	}
	return t.resume(ctx, i)
}

// resume lets a consumer that stands still continue after some seconds.
func (t *Trial) resume(ctx context.Context, i *stage.Instance) error {
	t.Strike("consumers stopped", 1)
	t.Log("%s stands still", i.Name)
	p := pause{node: i.Node(), began: time.Now()}
	if err := wait(ctx, t.between(still, still+3*time.Second)); err != nil {
		return err
	}
	p.ended = time.Now()
	i.Resume()
	i.ForgetStruck()
	t.Log("%s continues", i.Name)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pauses = append(t.pauses, p)
	return nil
}

// order orders an exclusive subtask of one account. During a fault the API may refuse it.
func (t *Trial) order(ctx context.Context, random *rand.Rand, of job) {
	api, ok := t.API(random)
	if !ok {
		return
	}
	accounts := t.Accounts[of.media]
	some := []int64{accounts[random.IntN(len(accounts))]}
	id, err := t.Order(ctx, api, of.name(), some)
	if err != nil {
		if ctx.Err() == nil {
			t.Log("an order of %s was refused: %v", of.name(), err)
		}
		return
	}
	t.Accept(id, some)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs = append(t.runs, id)
}

// awaitEnds waits until the ordered runs have ended. The judge reports those that have not.
func (t *Trial) awaitEnds(ctx context.Context) error {
	t.mu.Lock()
	ids := append([]int64(nil), t.runs...)
	t.mu.Unlock()
	err := rig.Await(ctx, t.Patience, "exclusive subtasks have ended", func(ctx context.Context) (bool, error) {
		var open int
		err := t.Store.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM run WHERE id IN ? AND ended_at IS NOT NULL",
			ids).Row().Scan(&open)
		return open == len(ids), err
	})
	if err != nil {
		t.Tell(judge.Stuck, "%d exclusive subtasks were ordered, and: %v", len(ids), err)
	}
	return ctx.Err()
}

// Check judges what worked at the same time, and that nothing is kept from others in the end.
func (t *Trial) Check(ctx context.Context) error {
	works, err := t.works(ctx)
	if err != nil {
		return err
	}
	found := t.judge(works)
	for _, text := range found.problems {
		t.Tell(judge.Broken, "%s", text)
	}
	t.Log("%d exclusive subtasks held %d floors next to %d tries of others; %d floors passed to another process, and %d "+
		"tries of stopped processes overlapped with them", len(t.runs), found.floors, len(works), t.passed,
		found.excused)
	if found.floors < len(t.Media) || t.passed == 0 {
		t.Void("%d floors were seen, and %d passed to another process", found.floors, t.passed)
	}
	err = rig.Await(ctx, stage.Patience/2, "nothing is kept from others", func(ctx context.Context) (bool, error) {
		var left int
		err := t.Store.Data.Writer(ctx).Raw(
			"SELECT (SELECT COUNT(*) FROM floor) + (SELECT COUNT(*) FROM serial_hold)").Row().Scan(&left)
		return left == 0, err
	})
	if err != nil {
		t.Tell(judge.Stuck, "rows of floor or serial_hold are left: %v", err)
	}
	return ctx.Err()
}

// works returns the tries of all subtasks that have ended, by the tables: the last ones, and those that failed.
func (t *Trial) works(ctx context.Context) (all []work, err error) {
	err = t.EachLog(ctx, func(table string) error {
		for _, from := range []string{table, strings.Replace(table, sqldb.LogTablePrefix, sqldb.FailureTablePrefix, 1)} {
			rows := t.Store.Data.Writer(ctx).Raw("SELECT l.run_id, l.account_id, l.part, l.node, l.started_at, l.ended_at," +
				" r.task_name, r.media, r.lane FROM " + from + " l JOIN run r ON r.id = l.run_id" +
				" WHERE l.started_at IS NOT NULL AND l.ended_at IS NOT NULL")
			err := sqldb.EachRow(rows, func(rows *sql.Rows) error {
				var w work
				var began, ended sqldb.Time
				err := rows.Scan(&w.key.RunID, &w.key.AccountID, &w.key.Part, &w.node, &began, &ended, &w.task, &w.media, &w.lane)
				w.began, w.ended = began.Time, ended.Time
				all = append(all, w)
				return err
			})
			if err != nil {
				return fmt.Errorf("read %s: %w", from, err)
			}
		}
		return nil
	})
	return all, err
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// between returns a random duration between two.
func (t *Trial) between(low, high time.Duration) time.Duration {
	return low + time.Duration(t.Random.Int64N(int64(high-low)))
}
