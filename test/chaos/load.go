package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"adsync/engine"
	"adsync/simulator"
	"adsync/simulator/night"
	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

// loadTask is a task of the steady load.
type loadTask struct {
	name, media, handler, lane, params string
	every                              int // seconds
	whole                              bool
}

// The scenarios are about the first and the last platform of the list whose tokens are refreshed. The first one's
// refresh token outlives a refresh, and the last one's does not.
var (
	allMedia   = engine.PlatformNames()
	refreshing = slices.DeleteFunc(slices.Clone(allMedia), func(media string) bool { return nightOf(media).KeepsTokens })
	firstMedia = refreshing[0]
	lastMedia  = refreshing[len(refreshing)-1]
)

// The steady load: a report that is wanted often, one that takes longer, a list, and the summaries over all of it.
var loadTasks = []loadTask{
	{name: firstMedia + ".now", media: firstMedia, handler: firstMedia + ".report_daily", lane: "important",
		params: `{"level":"account","days":1}`, every: 3},
	{name: firstMedia + ".hours", media: firstMedia, handler: firstMedia + ".report_hourly", lane: "normal",
		params: `{"level":"adgroup","days":1}`, every: 10},
	{name: firstMedia + ".list", media: firstMedia, handler: firstMedia + "." + adList(firstMedia), lane: "offline",
		params: `{"mode":"changes"}`, every: 15},
	{name: lastMedia + ".soon", media: lastMedia, handler: lastMedia + ".report_daily", lane: "important",
		params: `{"level":"account","days":1}`, every: 4},
	{name: lastMedia + ".ads", media: lastMedia, handler: lastMedia + ".report_daily", lane: "normal",
		params: `{"level":"adgroup","days":1}`, every: 6},
	{name: "system.summaries", media: "system", handler: "system.summary", lane: "important", every: 5, whole: true},
}

// adList is the name of a platform's list of ads.
func adList(media string) string {
	for _, list := range engine.Platform(media).Lists() {
		if list.Level == "adgroup" {
			return list.Name
		}
	}
	return ""
}

// nightOf maps a platform to the names of its endpoints.
func nightOf(media string) night.Platform {
	nights := simulator.Nights()
	return nights[slices.IndexFunc(nights, func(p night.Platform) bool { return p.Media == media })]
}

// loadPrefix is the prefix of the names of the load's tasks, and the name of the application that follows them.
const loadPrefix = "load."

// putLoad disables the schedules of the default tasks, which are ordered at the end of a scenario, and writes the
// tasks of the load.
func (d *deployment) putLoad(ctx context.Context) error {
	config := d.store.Config.Writer(ctx)
	// A full round skips the levels below the ad group and days beyond a week: they are pulled in the same ways and are
	// ten times the rows.
	err := config.Exec(
		"UPDATE cron_task SET cron = ?, retry_base_seconds = 1, enabled = name NOT RLIKE "+
			"'[.]mature$|creative|material|image|video',"+
			" revision = revision + 1", stage.RestCron()).Error
	if err != nil {
		return err
	}
	for _, t := range loadTasks {
		var params any
		if t.params != "" {
			params = t.params
		}
		err := config.Exec(`INSERT INTO cron_task
  (name, media, handler, cron, timezone, lane, scope, params, timeout_seconds, retry_max, retry_base_seconds, catch_up,
  application)
VALUES (?, ?, ?, ?, 'Asia/Shanghai', ?, 'all', ?, 20, 30, 1, 'all', ?)`,
			loadPrefix+t.name, t.media, t.handler, fmt.Sprintf("*/%d * * * * *", t.every), t.lane, params,
			loadPrefix).Error
		if err != nil {
			return fmt.Errorf("write the task %s: %w", t.name, err)
		}
	}
	return nil
}

// tasks returns the tasks of the load for the judge. Their beginning is read from the tables.
func (d *deployment) tasks(ctx context.Context) ([]judge.Task, error) {
	var all []judge.Task
	for _, t := range loadTasks {
		known := judge.Task{Name: loadPrefix + t.name, Media: t.media, Every: time.Duration(t.every) * time.Second,
			Whole: t.whole}
		if err := d.store.Config.Writer(ctx).Raw("SELECT id FROM cron_task WHERE name = ?",
			known.Name).Row().Scan(&known.ID); err != nil {
			return nil, fmt.Errorf("task %s: %w", known.Name, err)
		}
		var since string
		err := d.store.Data.Writer(ctx).Raw(
			"SELECT DATE_FORMAT(since, '%Y-%m-%d %H:%i:%s.%f') FROM task_schedule WHERE task_id = ?",
			known.ID).Row().Scan(&since)
		if err != nil {
			return nil, fmt.Errorf("schedule of task %s: %w", known.Name, err)
		}
		if known.Since, err = time.Parse("2006-01-02 15:04:05.000000", since); err != nil {
			return nil, err
		}
		all = append(all, known)
	}
	return all, nil
}

// orders orders runs by hand from time to time, each for some accounts.
type orders struct {
	d      *deployment
	random *rand.Rand

	mu       sync.Mutex
	accepted []judge.Order
	refused  int
	lastErr  string
}

// orderInterval is the approximate time between orders.
const orderInterval = 2 * time.Second

func (o *orders) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(orderInterval/2 + time.Duration(o.random.Int64N(int64(orderInterval)))):
		}
		o.orderOne(ctx)
	}
}

func (o *orders) orderOne(ctx context.Context) {
	t := loadTasks[o.random.IntN(len(loadTasks))]
	api, ok := o.d.producerAPI(o.random)
	if t.whole || !ok {
		return
	}
	all := o.d.accounts[t.media]
	var some []int64
	for _, n := range o.random.Perm(len(all))[:1+o.random.IntN(3)] {
		some = append(some, all[n])
	}
	id, err := o.d.order(ctx, api, loadPrefix+t.name, some)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		// During a fault the API may refuse an order. An accepted order must be done.
		o.refused++
		o.lastErr = err.Error()
		return
	}
	o.accepted = append(o.accepted, judge.Order{RunID: id, Accounts: some})
}

func (o *orders) list() []judge.Order {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]judge.Order(nil), o.accepted...)
}

// stopLoad waits until every moment up to now has its tick, and then disables the tasks of the load. It returns the
// moment up to which the ledger must be complete.
func (d *deployment) stopLoad(ctx context.Context) (time.Time, error) {
	until, err := d.now(ctx)
	if err != nil {
		return time.Time{}, err
	}
	tasks, err := d.tasks(ctx)
	if err != nil {
		return time.Time{}, err
	}
	// A tick that does not come is a loss that the judge reports, and no error here.
	_ = rig.Await(ctx, stage.Patience/2, "all ticks are there", func(ctx context.Context) (bool, error) {
		for _, t := range tasks {
			last := until.Truncate(t.Every)
			var there int
			err := d.store.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM tick WHERE task_id = ? AND planned_at = ?", t.ID,
				last.UTC().Format("2006-01-02 15:04:05")).Row().Scan(&there)
			if err != nil || there == 0 && last.After(t.Since) {
				return false, err
			}
		}
		return true, nil
	})
	err = d.store.Config.Writer(ctx).Exec("UPDATE cron_task SET enabled = 0, revision = revision + 1 WHERE name LIKE ?",
		loadPrefix+"%").Error
	if err != nil {
		return time.Time{}, err
	}
	return until, d.reload(ctx)
}

// reload makes all producers read the tasks again.
func (d *deployment) reload(ctx context.Context) error {
	for _, i := range d.of("producer") {
		if !i.Alive() {
			continue
		}
		if err := rig.Send(ctx, "POST", i.Api+"/api/v1/tasks/reload", nil, nil); err != nil {
			return fmt.Errorf("reload %s: %w", strings.TrimPrefix(i.Api, "http://"), err)
		}
	}
	return nil
}
