package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

var peopleScenarios = []scenario{
	{
		name: "tasks-edited", mayEnd: true,
		doc:   "tasks are edited, disabled, deleted and created again in the middle of their fan-outs",
		steps: editTasks,
	},
	{
		name: "same-subtask-at-once",
		doc: "the same accounts are ordered by several people at once while the schedule pulls them and half of the " +
			"calls fail",
		steps: orderTheSame,
	},
	{
		name: "older-order-pulls-last",
		doc: "an older order fails at first, and its retry comes after a newer order has pulled the same data: the retry " +
			"is the newest pull, and counts",
		steps: pullOutOfOrder, check: checkSuperseded,
	},
	{
		name: "paused-and-lifted", stallMax: 25 * time.Second,
		doc: "a platform, a task and an account are paused: within 5 s none of their subtasks runs, and all of them are " +
			"done when the pauses end",
		steps: pauseSome,
	},
	{
		name: "cancelled", mayEnd: true,
		doc: "runs, a task and an account are cancelled repeatedly under load: their counts stay exact, cancelled runs " +
			"end as cancelled, and nothing stays open",
		steps: cancelSome, check: checkCancelled,
	},
	{
		name: "dead-redriven", mayFail: true,
		doc: "subtasks that failed are redriven, and the leader is killed twice meanwhile: each is repeated exactly once",
		prepare: func(ctx context.Context, t *trial) error {
			return t.store.Config.Writer(ctx).Exec("UPDATE cron_task SET retry_max = 1 WHERE name LIKE ?", loadPrefix+"%").Error
		},
		steps: redriveDead,
	},
}

// editTasks changes tasks that are not part of the judged load.
func editTasks(ctx context.Context, t *trial) error {
	config := t.store.Config.Writer(ctx)
	insert := func(n int) error {
		return config.Exec(`INSERT IGNORE INTO cron_task
  (name, media, handler, cron, timezone, lane, scope, params, timeout_seconds, retry_max,
   retry_base_seconds, fan_out_rate, catch_up)
VALUES (?, ?, ?, '*/2 * * * * *', 'UTC', 'normal', 'all', '{"level":"account","days":1}', 20, 30, 1, 8, 'all')`,
			fmt.Sprintf("edited.%d", n), firstMedia, firstMedia+".report_daily").Error
	}
	edits := []string{
		"UPDATE cron_task SET cron = '*/3 * * * * *', revision = revision + 1 WHERE name = ?",
		"UPDATE cron_task SET cron = '* * * * * *', revision = revision + 1 WHERE name = ?",
		"UPDATE cron_task SET lane = 'offline', revision = revision + 1 WHERE name = ?",
		"UPDATE cron_task SET lane = 'important', fan_out_rate = 4, revision = revision + 1 WHERE name = ?",
		`UPDATE cron_task SET params = '{"level":"adgroup","days":2}', revision = revision + 1 WHERE name = ?`,
		"UPDATE cron_task SET enabled = 1 - enabled, revision = revision + 1 WHERE name = ?",
		"UPDATE cron_task SET cron = 'every now and then', revision = revision + 1 WHERE name = ?",
		"UPDATE cron_task SET retry_max = 3, timeout_seconds = 5, revision = revision + 1 WHERE name = ?",
		"DELETE FROM cron_task WHERE name = ?",
	}
	for n := range 40 {
		if err := insert(n % 3); err != nil {
			return err
		}
		if n > 3 {
			edit := edits[t.random.IntN(len(edits))]
			if err := config.Exec(edit, fmt.Sprintf("edited.%d", t.random.IntN(3))).Error; err != nil {
				return err
			}
			t.strike("edits", 1)
		}
		if err := t.reload(ctx); err != nil {
			return err
		}
		if err := t.wait(ctx, t.between(200*time.Millisecond, 600*time.Millisecond)); err != nil {
			return err
		}
	}
	if err := config.Exec("DELETE FROM cron_task WHERE name LIKE 'edited.%'").Error; err != nil {
		return err
	}
	return t.reload(ctx)
}

// orderTheSame orders the same few accounts repeatedly, while slow and failing calls keep them busy.
func orderTheSame(ctx context.Context, t *trial) error {
	if err := t.world.Fault(ctx, map[string]any{"kind": stage.Latency, "ms": 700, "media": lastMedia}); err != nil {
		return err
	}
	accounts := t.accounts[lastMedia][:2]
	seeds := []uint64{t.random.Uint64(), t.random.Uint64(), t.random.Uint64()}
	work, cancel := context.WithTimeout(ctx, t.between(12*time.Second, 15*time.Second))
	defer cancel()
	var wg sync.WaitGroup
	for _, seed := range seeds {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, 2))
			for work.Err() == nil {
				api, ok := t.producerAPI(random)
				if !ok {
					continue
				}
				if random.IntN(3) == 0 {
					_ = t.world.Fault(work, map[string]any{"kind": "status", "status": 500, "media": lastMedia, "count": 2})
				}
				id, err := t.order(work, api, loadPrefix+lastMedia+".soon", accounts)
				if err == nil {
					t.accept(id, accounts)
				}
				_ = t.wait(work, time.Duration(300+random.IntN(500))*time.Millisecond)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// pauseSome pauses, checks that the pause holds, and lifts it.
func pauseSome(ctx context.Context, t *trial) error {
	account := t.accounts[lastMedia][t.random.IntN(len(t.accounts[lastMedia]))]
	var pauses []string
	for kind, target := range map[string]string{
		"media": firstMedia, "task": loadPrefix + lastMedia + ".ads", "account": lastMedia + "/" + t.external[account],
	} {
		var made struct {
			ID string `json:"id"`
		}
		// A pause that is not lifted here expires, and the scenario can end.
		if err := t.ask(ctx, http.MethodPost, "/pauses",
			map[string]any{"kind": kind, "target": target, "reason": "chaos", "by": "chaos", "for_seconds": 40},
			&made); err != nil {
			return err
		}
		pauses = append(pauses, made.ID)
		t.strike("pauses", 1)
	}
	// The promise is that pauses take effect on work in flight within 5 s.
	if err := t.wait(ctx, 5*time.Second); err != nil {
		return err
	}
	before, err := t.world.Calls(ctx, firstMedia, "")
	if err != nil {
		return err
	}
	if err := t.wait(ctx, t.between(4*time.Second, 7*time.Second)); err != nil {
		return err
	}
	after, err := t.world.Calls(ctx, firstMedia, "")
	if err != nil {
		return err
	}
	if after > before {
		t.complain("%d calls of a platform were made while it was paused", after-before)
	}
	for _, id := range pauses {
		if err := t.ask(ctx, http.MethodDelete, "/pauses/"+id+"?by=chaos", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// ask sends a request to the API of a live producer.
func (t *trial) ask(ctx context.Context, method, path string, body, into any) error {
	api, ok := t.producerAPI(t.random)
	if !ok {
		return errors.New("no producer is alive")
	}
	return rig.Send(ctx, method, api+path, body, into)
}

// cancelSome cancels open runs, tasks and accounts from time to time.
func cancelSome(ctx context.Context, t *trial) error {
	for range 20 {
		var open []int64
		err := t.store.Data.Writer(ctx).Raw("SELECT id FROM run WHERE ended_at IS NULL ORDER BY id DESC LIMIT 5").Scan(
			&open).Error
		if err != nil {
			return err
		}
		order := map[string]any{"kind": "task", "target": loadPrefix + firstMedia + ".hours", "reason": "chaos",
			"by": "chaos"}
		switch accounts := t.accounts[firstMedia]; {
		case len(open) > 0 && t.random.IntN(2) == 0:
			order["kind"], order["target"] = "run", strconv.FormatInt(open[t.random.IntN(len(open))], 10)
		case t.random.IntN(2) == 0:
			order["kind"], order["target"] = "account", firstMedia+"/"+t.external[accounts[t.random.IntN(len(accounts))]]
		}
		if err := t.ask(ctx, http.MethodPost, "/cancels", order, nil); err != nil {
			// The run may have ended after it was read.
			t.log("a cancel was refused: %v", err)
		} else {
			t.strike("cancels", 1)
		}
		if err := t.wait(ctx, t.between(500*time.Millisecond, 1500*time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

// checkCancelled reports runs that were cancelled and ended in another state. A run that ended at the moment of the
// order is excused.
func checkCancelled(ctx context.Context, t *trial) error {
	var cancelled, wrong int
	err := t.store.Data.Writer(ctx).Raw(`SELECT COUNT(*), COALESCE(SUM(r.state <> 'cancelled'), 0)
FROM stop_order s JOIN run r ON s.kind = 'run' AND r.id = CAST(s.target AS SIGNED)
WHERE s.verb = 'cancel' AND r.ended_at > s.ordered_at + INTERVAL 300000 MICROSECOND`).Row().Scan(&cancelled, &wrong)
	t.log("%d runs ended after they had been cancelled", cancelled)
	if wrong > 0 {
		t.complain("%d of %d runs that were cancelled ended as something else", wrong, cancelled)
	}
	return err
}

// redriveDead lets subtasks fail, redrives them, and compares the new subtasks with the dead ones.
func redriveDead(ctx context.Context, t *trial) error {
	if err := spoilCalls(ctx, t, 5*time.Second, map[string]any{"kind": "status", "status": 500}); err != nil {
		return err
	}
	if _, err := t.world.EndFaults(ctx); err != nil {
		return err
	}
	if err := t.wait(ctx, 3*time.Second); err != nil {
		return err
	}
	dead, err := t.deadKeys(ctx)
	if err != nil {
		return err
	}
	t.strike("dead subtasks", len(dead))
	for _, point := range []string{"producer.redrive.marked", "producer.redrive.fanned_out"} {
		for _, i := range t.of("producer") {
			if err := i.Arm(point, "kill"); err != nil {
				return err
			}
		}
	}
	began, err := t.now(ctx)
	if err != nil {
		return err
	}
	if err := t.ask(ctx, http.MethodPost, "/dead/redrive", map[string]any{"scope": "all"}, nil); err != nil {
		return err
	}
	err = rig.Await(ctx, stage.Patience, "no dead subtask is left", func(ctx context.Context) (bool, error) {
		left, err := t.deadKeys(ctx)
		return len(left) == 0, err
	})
	if err != nil {
		return err
	}
	return checkRedriven(ctx, t, dead, began)
}

// deadKey identifies a dead subtask without its run, which does not matter to the figures.
type deadKey struct {
	taskID, accountID int64
	part              string
}

func (t *trial) deadKeys(ctx context.Context) (map[deadKey]bool, error) {
	rows, err := t.store.Data.Writer(ctx).Raw("SELECT task_id, account_id, part FROM subtask_dead").Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	keys := map[deadKey]bool{}
	for rows.Next() {
		var k deadKey
		if err := rows.Scan(&k.taskID, &k.accountID, &k.part); err != nil {
			return nil, err
		}
		keys[k] = true
	}
	return keys, rows.Err()
}

// checkRedriven finds each dead subtask in the runs that were ordered since.
func checkRedriven(ctx context.Context, t *trial, dead map[deadKey]bool, since time.Time) error {
	times := map[deadKey]int{}
	err := t.eachLog(ctx, func(table string) error {
		rows, err := t.store.Data.Writer(ctx).Raw("SELECT r.task_id, s.account_id, s.part FROM run r JOIN "+table+
			" s ON s.run_id = r.id WHERE r.kind = 'order' AND r.settings LIKE '%\"redrive\"%' AND r.planned_at >= ?",
			since.Add(-time.Second).Format("2006-01-02 15:04:05")).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var k deadKey
			if err := rows.Scan(&k.taskID, &k.accountID, &k.part); err != nil {
				return err
			}
			times[k]++
		}
		return rows.Err()
	})
	for k := range dead {
		if times[k] != 1 {
			t.complain("the dead subtask of task %d, account %d, %s was redriven %d times", k.taskID, k.accountID, k.part,
				times[k])
		}
	}
	return err
}

// pullOutOfOrder makes orders of one account overtake each other: the first fails until the second has pulled.
func pullOutOfOrder(ctx context.Context, t *trial) error {
	all := t.accounts[lastMedia]
	for range 8 {
		some := []int64{all[t.random.IntN(len(all))]}
		fault := map[string]any{"kind": "status", "status": 500, "media": lastMedia, "account": t.external[some[0]],
			"for_seconds": 1.5}
		if err := t.world.Fault(ctx, fault); err != nil {
			return err
		}
		for range 2 {
			if err := t.orderSome(ctx, loadPrefix+lastMedia+".soon", some); err != nil {
				return err
			}
			t.strike("orders", 1)
			if err := t.wait(ctx, 1700*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSuperseded reports pulls of the load that were superseded by a pull which did not overlap them in time. A pull
// may be superseded only by an overlapping pull with a later moment.
func checkSuperseded(ctx context.Context, t *trial) error {
	gaveWay := 0
	err := t.eachLog(ctx, func(table string) error {
		var all, wrong int
		err := t.store.Data.Writer(ctx).Raw("SELECT COUNT(*), COALESCE(SUM(NOT EXISTS (SELECT 1 FROM "+table+
			` b JOIN run rb ON rb.id = b.run_id
  WHERE rb.task_id = ra.task_id AND b.account_id = a.account_id AND b.run_id <> a.run_id
    AND b.started_at <= a.ended_at + INTERVAL 200000 MICROSECOND
    AND b.ended_at >= a.started_at - INTERVAL 200000 MICROSECOND)), 0)
FROM `+table+` a JOIN run ra ON ra.id = a.run_id
WHERE a.state = 'superseded' AND a.started_at IS NOT NULL AND ra.task_name LIKE ?`, loadPrefix+"%").Row().Scan(&all,
			&wrong)
		gaveWay += all
		if wrong > 0 {
			t.tell(judge.Wrong, "%d pulls were superseded by a pull that did not overlap them", wrong)
		}
		return err
	})
	t.log("%d pulls were superseded by an overlapping one", gaveWay)
	return err
}
