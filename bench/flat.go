package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/test/rig"
)

// A subtask's cost must not depend on the length of the day's table or on the number of accounts, tasks or waiting
// subtasks. Each of these measures compares adsync under a great load of one of them with adsync without it.

// flatMeasures are taken by `make bench-flat`.
var flatMeasures = []measure{
	{
		id: "flat-day", long: true, durable: allDurable, peers: []string{shortDay},
		figures: append([]figure{
			{"flat-day-fan-out", "s", false}, {"flat-day-latency-p50", "ms", false}, {"flat-day-latency-p99", "ms", false},
			{"flat-day-noop", "subtasks/s", true},
		}, budget("flat-day-noop")...),
		ours:       atSize(large.longDay),
		sideBySide: map[string]take{shortDay: atSize(large.shortDay)},
	},
	{
		id: "flat-accounts", long: true, durable: allDurable, peers: []string{fewAccounts},
		figures: []figure{{"flat-accounts-fan-out", "µs/subtask", false}, {"flat-accounts-drain", "subtasks/s", true}},
		ours:    atSize(large.manyAccounts),
		sideBySide: map[string]take{fewAccounts: atSize(func(d large, ctx context.Context) (map[string]float64, error) {
			return d.backlogged(ctx, one, d.o.accounts)
		})},
	},
	{
		id: "flat-waiting", long: true, durable: allDurable, peers: []string{noneWaiting},
		figures: append([]figure{{"flat-waiting-noop", "subtasks/s", true}}, budget("flat-waiting-noop")...),
		ours:    atSize(large.manyWaiting),
		sideBySide: map[string]take{noneWaiting: func(d *deployment, ctx context.Context) (map[string]float64, error) {
			return d.throughput(ctx, "flat-waiting-noop", noop)
		}},
	},
	{
		id: "flat-tasks", long: true, durable: allDurable, peers: []string{fewTasks},
		figures: append([]figure{
			{"flat-tasks-reload", "ms", false}, {"flat-tasks-ticks", "ms", false}, {"flat-tasks-noop", "subtasks/s", true},
		}, budget("flat-tasks-noop")...),
		ours: atSize(func(d large, ctx context.Context) (map[string]float64, error) {
			return d.scheduled(ctx, d.o.flatTasks)
		}),
		sideBySide: map[string]take{fewTasks: atSize(func(d large, ctx context.Context) (map[string]float64, error) {
			return d.scheduled(ctx, tasksFew)
		})},
	},
}

// The names of the measures of adsync without the load.
const (
	shortDay    = "empty day"
	fewAccounts = "few accounts"
	noneWaiting = "none waiting"
	fewTasks    = "10 tasks"
)

// tasksFew is the number of tasks that counts as few.
const tasksFew = 10

// The platforms of flat measures: crowd has many accounts, idle none.
const (
	crowd    = "crowd"
	crowdOne = crowd + ".one"
	idle     = "idle"
	idleNone = idle + ".none"
)

// crowdFrom is the id below that of the crowd's first account.
const crowdFrom = 1_000_000_000

// insertAtOnce is how many rows a statement inserts where there are millions.
const insertAtOnce = 200_000

// large is a deployment that is measured at another size than usual, and then restored.
type large struct{ *deployment }

// atSize returns a take function that measures at that size.
func atSize(measure func(large, context.Context) (map[string]float64, error)) take {
	return func(d *deployment, ctx context.Context) (map[string]float64, error) { return measure(large{d}, ctx) }
}

// shortDay takes fan-out, latency and throughput with nothing in the day's table.
func (d large) shortDay(ctx context.Context) (map[string]float64, error) {
	if err := d.store.Data.Writer(ctx).Exec("TRUNCATE TABLE " + d.dayTable()).Error; err != nil {
		return nil, err
	}
	return d.dayFigures(ctx)
}

// longDayTable is the name of the long table of a day while it is not in use.
const longDayTable = "bench_long_day"

// longDay takes the same measures with the rows of a whole day in the table. That table is filled once; then the two
// tables exchange their names.
func (d large) longDay(ctx context.Context) (map[string]float64, error) {
	if err := d.fillDay(ctx); err != nil {
		return nil, err
	}
	day := d.dayTable()
	if err := d.exchange(ctx, d.store.Data, day, longDayTable); err != nil {
		return nil, err
	}
	values, err := d.dayFigures(ctx)
	if err == nil && d.dayTable() != day {
		err = fmt.Errorf("the day of %s has ended: begin again", day)
	}
	if err == nil {
		err = d.counted(ctx, d.o.flatRows, "SELECT COUNT(*) FROM "+day+" WHERE run_id < ? AND state = 'succeeded'",
			d.filledBelow)
	}
	return values, errors.Join(err, d.exchange(context.WithoutCancel(ctx), d.store.Data, day, longDayTable))
}

func (d large) dayFigures(ctx context.Context) (map[string]float64, error) {
	all := map[string]float64{}
	for _, m := range []take{(*deployment).fanOut, (*deployment).latency,
		func(d *deployment, ctx context.Context) (map[string]float64, error) {
			return d.throughput(ctx, "noop", noop)
		}} {
		values, err := m(d.deployment, ctx)
		if err != nil {
			return nil, err
		}
		for id, value := range values {
			all["flat-day-"+id] = value
		}
	}
	return all, nil
}

// dayTable returns the name of the present day's log table.
func (d large) dayTable() string { return ledger.LogTable(task.NewRunID(d.time.Now())) }

// exchange swaps the names of two tables.
func (d large) exchange(ctx context.Context, db *sqldb.DB, a, b string) error {
	const aside = "bench_aside"
	return db.Writer(ctx).Exec("RENAME TABLE " + a + " TO " + aside + ", " + b + " TO " + a + ", " + aside + " TO " +
		b).Error
}

// counted checks that a query counts the wanted number.
func (d large) counted(ctx context.Context, want int, query string, args ...any) error {
	var n int
	if err := d.store.Data.Writer(ctx).Raw(query, args...).Row().Scan(&n); err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("%s: %d, want %d", query, n, want)
	}
	return nil
}

// fillDay makes the long table: run after run of the day so far, each with all accounts and parts, in the order of
// their keys and as a run of ours has left its rows.
func (d large) fillDay(ctx context.Context) error {
	if d.filledBelow > 0 {
		return nil
	}
	db := d.store.Data.Writer(ctx)
	if err := d.warm(ctx); err != nil {
		return err
	}
	defer d.stopConsumer()
	model, err := d.order(ctx, noop, d.accounts[:1])
	if err != nil {
		return err
	}
	if err := d.await(ctx, model, over); err != nil {
		return err
	}
	table := ledger.LogTable(model)
	if err := db.Exec("CREATE TABLE " + longDayTable + " LIKE " + table).Error; err != nil {
		return err
	}
	now := d.time.Now()
	begin := now.Truncate(24 * time.Hour)
	each := d.o.accounts * d.o.parts
	runs := (d.o.flatRows + each - 1) / each
	for i := range runs {
		run := task.NewRunID(begin.Add(now.Sub(begin) * time.Duration(i) / time.Duration(runs)))
		n := min(each, d.o.flatRows-i*each)
		err := d.copyRow(ctx, "run", "run", "id = ?", model,
			map[string]string{"id": fmt.Sprint(run), "total": fmt.Sprint(n), "succeeded": fmt.Sprint(n)}, "")
		if err != nil {
			return err
		}
		for from := 0; from < n; from += insertAtOnce {
			err := d.copyRow(ctx, longDayTable, table, "run_id = ? AND part = 'p0'", model, map[string]string{
				"run_id": fmt.Sprint(run), "account_id": fmt.Sprintf("1 + s.seq DIV %d", d.o.parts),
				"part": fmt.Sprintf("CONCAT('p', s.seq MOD %d)", d.o.parts),
			}, fmt.Sprintf(" JOIN seq_%d_to_%d s", from, min(from+insertAtOnce, n)-1))
			if err != nil {
				return err
			}
		}
	}
	d.filledBelow = task.NewRunID(now)
	return d.counted(ctx, d.o.flatRows, "SELECT COUNT(*) FROM "+longDayTable)
}

// copyRow inserts a row of another table with the same columns, some of them replaced, once for each joined row.
func (d large) copyRow(ctx context.Context, into, from, where string, key int64, instead map[string]string,
	join string) error {
	var columns []string
	const query = "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = " +
		"? ORDER BY ordinal_position"
	db := d.store.Data.Writer(ctx)
	if err := db.Raw(query, from).Scan(&columns).Error; err != nil {
		return err
	}
	values := make([]string, len(columns))
	for i, c := range columns {
		if values[i] = "model." + c; instead[c] != "" {
			values[i] = instead[c]
		}
	}
	return db.Exec("INSERT INTO "+into+" ("+strings.Join(columns, ", ")+") SELECT "+strings.Join(values, ", ")+
		" FROM (SELECT * FROM "+from+" WHERE "+where+") model"+join, key).Error
}

// backlogged measures how long a fan-out to all accounts of a task's media takes per account without consumers, and
// how many subtasks a second then finish from that backlog.
func (d large) backlogged(ctx context.Context, handler string, accounts int) (map[string]float64, error) {
	began := clock.Mark()
	run, err := d.order(ctx, handler, nil)
	if err != nil {
		return nil, err
	}
	if err := d.await(ctx, run, func(r ledger.Run) bool { return r.Total != nil }); err != nil {
		return nil, err
	}
	fannedOut := clock.Since(began)
	if err := d.startConsumer(ctx); err != nil {
		return nil, err
	}
	defer d.stopConsumer()
	// Time is counted after the consumer works: taking the partitions takes as long as some thousand subtasks.
	var before int64
	err = d.await(ctx, run, func(r ledger.Run) bool {
		before = r.Ended()
		return before > 0
	})
	if err != nil {
		return nil, err
	}
	began = clock.Mark()
	if err := d.await(ctx, run, over); err != nil {
		return nil, err
	}
	values := map[string]float64{
		"flat-accounts-fan-out": float64(fannedOut.Microseconds()) / float64(accounts),
		"flat-accounts-drain":   float64(int64(accounts)-before) / clock.Since(began).Seconds(),
	}
	return values, d.exact(ctx, run, accounts)
}

// crowdTable holds the other accounts and the crowd's while it is not in use.
const crowdTable = "bench_crowd"

// manyAccounts takes backlogged with millions of accounts, and so of waiting messages.
func (d large) manyAccounts(ctx context.Context) (map[string]float64, error) {
	if err := d.fillCrowd(ctx); err != nil {
		return nil, err
	}
	if err := d.exchange(ctx, d.store.Config, "media_account", crowdTable); err != nil {
		return nil, err
	}
	if err := d.resize(ctx, crowd, d.o.pool); err != nil {
		return nil, err
	}
	values, err := d.backlogged(ctx, crowdOne, d.o.flatAccounts)
	ctx = context.WithoutCancel(ctx)
	return values, errors.Join(err, d.resize(ctx, crowd, 0), d.exchange(ctx, d.store.Config, "media_account", crowdTable))
}

func (d large) fillCrowd(ctx context.Context) error {
	if d.crowded {
		return nil
	}
	db := d.store.Config.Writer(ctx)
	statements := []string{"CREATE TABLE " + crowdTable + " LIKE media_account", "INSERT INTO " + crowdTable +
		" SELECT * FROM media_account"}
	for from := 1; from <= d.o.flatAccounts; from += insertAtOnce {
		statements = append(statements,
			fmt.Sprintf(
				"INSERT INTO %s (id, media, external_id, token_id, bound) SELECT %d + seq, '%s', CONCAT('c', seq), 0, 1 FROM "+
					"seq_%d_to_%d",
				crowdTable, crowdFrom, crowd, from, min(from+insertAtOnce-1, d.o.flatAccounts)))
	}
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			return err
		}
	}
	d.crowded = true
	return nil
}

// manyWaiting measures the throughput while many subtasks of another run wait for their retry, which is due tomorrow.
func (d large) manyWaiting(ctx context.Context) (values map[string]float64, err error) {
	db := d.store.Data.Writer(ctx)
	other := task.NewRunID(d.time.Now())
	defer func() {
		err = errors.Join(err, d.store.Data.Writer(context.WithoutCancel(ctx)).Exec("TRUNCATE TABLE subtask_due").Error)
	}()
	for from := 1; from <= d.o.flatWaiting; from += insertAtOnce {
		err := db.Exec(
			fmt.Sprintf(
				"INSERT INTO subtask_due (run_id, account_id, part, state, media, lane, due_at, delivery, attempt, reason)"+
					" SELECT ?, seq, 'p0', 'retrying', ?, ?, UTC_TIMESTAMP(3) + INTERVAL 1 DAY, 2, 1, 'no answer' FROM seq_%d_to_%d",
				from, min(from+insertAtOnce-1, d.o.flatWaiting)), other, platform, lane).Error
		if err != nil {
			return nil, err
		}
	}
	if values, err = d.throughput(ctx, "flat-waiting-noop", noop); err != nil {
		return nil, err
	}
	return values, d.counted(ctx, d.o.flatWaiting, "SELECT COUNT(*) FROM subtask_due WHERE run_id = ?", other)
}

// tickTime is how long the ticks of a minute may take.
const tickTime = 5 * time.Minute

// tickNames is the prefix of the names of the tasks that are due each minute.
const tickNames = "tick."

// reloads is how often a reload of the tasks is timed.
const reloads = 5

// scheduled measures, with many other tasks, the throughput and how long a reload of all tasks takes. It also measures
// how long it takes, when all of them are due at the same moment, until the last run has ended. These tasks have no
// accounts.
func (d large) scheduled(ctx context.Context, tasks int) (values map[string]float64, err error) {
	config := d.store.Config.Writer(ctx)
	err = config.Exec(
		fmt.Sprintf(
			"INSERT INTO cron_task (name, media, handler, cron, lane) SELECT CONCAT('%s', seq), ?, ?, '* * * * *', ? FROM "+
				"seq_1_to_%d", tickNames, tasks),
		idle, idleNone, lane).Error
	if err != nil {
		return nil, err
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(err, d.store.Config.Writer(ctx).Exec("DELETE FROM cron_task WHERE name LIKE ?", tickNames+
			"%").Error, d.schedule(ctx, false))
	}()
	var took []float64
	for range reloads {
		began := clock.Mark()
		if err := d.producer.Reload(ctx); err != nil {
			return nil, err
		}
		took = append(took, clock.Since(began).Seconds()*1000)
	}
	if values, err = d.throughput(ctx, "flat-tasks-noop", noop); err != nil {
		return nil, err
	}
	values["flat-tasks-reload"] = median(took)
	if err := d.schedule(ctx, true); err != nil {
		return nil, err
	}
	values["flat-tasks-ticks"], err = d.ticked(ctx, tasks)
	return values, err
}

// ticked waits for the ticks of the next minute and returns how many milliseconds after it the last of their runs has
// ended.
func (d large) ticked(ctx context.Context, tasks int) (float64, error) {
	// The next minute is skipped if it is so near that the leader might not have read all tasks.
	minute := d.time.Now().Add(20 * time.Second).Truncate(time.Minute).Add(time.Minute)
	var all struct {
		Runs, Ended int
		Late        float64
	}
	const query = "SELECT COUNT(*) AS runs, COALESCE(SUM(r.state = ? AND r.total = 0), 0) AS ended," +
		" COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, t.planned_at, r.ended_at)) / 1000, 0) AS late" +
		" FROM tick t JOIN run r ON r.id = t.run_id WHERE t.planned_at = ? AND r.handler = ?"
	err := rig.Await(ctx, tickTime, "each task has had its run", func(ctx context.Context) (bool, error) {
		err := d.store.Data.Writer(ctx).Raw(query, task.RunSkipped, sqldb.At(minute), idleNone).Scan(&all).Error
		return err == nil && all.Ended == tasks, errors.Join(err,
			fmt.Errorf("%d runs, of which %d have ended, want %d", all.Runs, all.Ended, tasks))
	})
	if err == nil && all.Runs != tasks {
		err = fmt.Errorf("%d ticks of %s have %d runs", tasks, minute, all.Runs)
	}
	return all.Late, err
}

// schedule makes a producer lead that makes ticks, or one that does not.
func (d large) schedule(ctx context.Context, ticks bool) error {
	d.producer.Stop()
	var err error
	if d.producer, err = d.newProducer(ticks); err != nil {
		return err
	}
	return d.startProducer(ctx)
}

// idsOf returns the ids of the tasks of some handlers.
func (d large) idsOf(handlers ...string) []int64 {
	var ids []int64
	for _, h := range handlers {
		ids = append(ids, d.tasks[h])
	}
	return ids
}
