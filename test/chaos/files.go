package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/engine"
	"adsync/media"
	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

var filesScenarios = []scenario{
	{
		name: "files-consumers-killed", long: true, extra: 8 * time.Minute,
		doc: "kill -9 of consumers at each step of pulls whose old days come as files, from the name of a job to the " +
			"rows of its file, and files that are cut off: no day is lost or wrong, and no job is left that nobody reads",
		prepare: putFileTasks,
		steps:   killInFiles,
	},
}

// filesMedia is the first platform with reports that come as files and whose jobs are found by their names; "" if there
// is none.
var filesMedia = func() string {
	for _, name := range allMedia {
		if slices.ContainsFunc(engine.Platform(name).Reports(), hasFiles) {
			return name
		}
	}
	return ""
}()

func hasFiles(r media.Report) bool { return r.Files != nil && r.Files.Find != nil }

// fileTask is a task that pulls old days. It has no ticks: each order names its days.
type fileTask struct{ name, report, level string }

var fileTasks = []fileTask{
	{"files.adgroup", "report_daily", "adgroup"},
	{"files.account", "report_daily", "account"},
}

const (
	// fileDays are the days of an order: one file of each task and account.
	fileDays = 7
	// fileAge is how many days before today the newest file ends. All figures of these days are final.
	fileAge = 14
	// pointWait is how long a pull may take to a step. The time between two looks at a job is as long as the job is old.
	pointWait = 2 * time.Minute
	// filesWait is how long pulls of files may take after the last kill. The fate of a call in a killed process is
	// unknown for two minutes.
	filesWait = 4 * time.Minute
)

// The steps of a pull of files at which a consumer is killed. After a kill at the first two, nobody knows for two
// minutes whether a job exists.
var (
	createPoints = []string{"pull.files.named", "pull.files.created"}
	readPoints   = []string{"pull.files.stored", "pull.files.made", "pull.files.opened", "pull.files.written"}
)

func putFileTasks(ctx context.Context, t *trial) error {
	for _, x := range fileTasks {
		err := t.store.Config.Writer(ctx).Exec(`INSERT INTO cron_task
  (name, media, handler, cron, timezone, lane, scope, params, timeout_seconds, retry_max, retry_base_seconds)
VALUES (?, ?, ?, ?, 'Asia/Shanghai', 'normal', 'all', ?, 20, 30, 1)`,
			x.name, filesMedia, filesMedia+"."+x.report, stage.RestCron(), `{"level":"`+x.level+`"}`).Error
		if err != nil {
			return fmt.Errorf("write the task %s: %w", x.name, err)
		}
	}
	return nil
}

// filePulls are the ordered pulls of files of a trial.
type filePulls struct {
	*trial
	last   day.Day // of all orders
	newest day.Day // of the next order
	days   map[string]int
	runs   []int64
	kills  int
}

// killInFiles orders old days, each once, and kills a consumer in each order's pulls.
func killInFiles(ctx context.Context, t *trial) error {
	if filesMedia == "" {
		return errors.New("no platform has reports that come as files")
	}
	now, err := t.now(ctx)
	if err != nil {
		return err
	}
	last := day.Of(now, stage.Zone).Add(-fileAge)
	f := &filePulls{trial: t, last: last, newest: last, days: map[string]int{}}
	for _, points := range [][]string{createPoints, readPoints} {
		for _, n := range t.random.Perm(len(points)) {
			if err := f.killAt(ctx, points[n]); err != nil {
				return err
			}
		}
	}
	for range 2 {
		if err := f.killAnywhere(ctx); err != nil {
			return err
		}
	}
	err = t.world.Fault(ctx, map[string]any{"kind": "cut_task", "media": filesMedia,
		"count": len(t.accounts[filesMedia])})
	if err != nil {
		return err
	}
	if err := f.order(ctx, fileTasks[:1]); err != nil {
		return err
	}
	if err := f.awaitEnd(ctx); err != nil {
		return err
	}
	err = errors.Join(f.judgeJobs(ctx), f.judgeDays(ctx), f.judgeMetric(ctx))
	return errors.Join(err, t.store.Config.Writer(ctx).Exec(
		"UPDATE cron_task SET enabled = 0, revision = revision + 1 WHERE name LIKE 'files.%'").Error)
}

// order orders some of the tasks for days that no earlier order names.
func (f *filePulls) order(ctx context.Context, tasks []fileTask) error {
	from, to := f.newest.Add(1-fileDays), f.newest
	f.newest = from.Add(-1)
	for _, x := range tasks {
		api, ok := f.producerAPI(f.random)
		if !ok {
			return errors.New("no producer is alive")
		}
		id, err := f.orderDays(ctx, api, x.name, from, to)
		if err != nil {
			return err
		}
		f.runs, f.days[x.name] = append(f.runs, id), f.days[x.name]+fileDays
		f.accept(id, f.accounts[filesMedia])
	}
	return nil
}

// killAt orders old days and kills a consumer that reaches a step of their pulls.
func (f *filePulls) killAt(ctx context.Context, point string) error {
	for _, i := range f.of("consumer") {
		if err := i.Arm(point, "kill"); err != nil {
			return err
		}
	}
	if err := f.order(ctx, fileTasks); err != nil {
		return err
	}
	i, err := f.awaitPointFor(ctx, pointWait, point, f.of("consumer"))
	for _, other := range f.of("consumer") {
		other.Disarm(point)
	}
	if err != nil {
		return err
	}
	f.log("%s struck in %s", point, i.Name)
	for _, other := range f.of("consumer") {
		f.kills += len(other.Struck()) // Two may have struck before one was seen.
		other.ForgetStruck()
	}
	return f.wait(ctx, f.between(time.Second, 3*time.Second))
}

// killAnywhere orders old days and kills a consumer at any moment of their pulls.
func (f *filePulls) killAnywhere(ctx context.Context) error {
	if err := f.order(ctx, fileTasks); err != nil {
		return err
	}
	if err := f.wait(ctx, f.between(500*time.Millisecond, 14*time.Second)); err != nil {
		return err
	}
	i := f.any("consumer")
	if err := i.Kill(); err != nil {
		return err
	}
	f.kills++
	f.strike("kills", 1)
	f.log("killed %s", i.Name)
	if err := f.wait(ctx, f.between(time.Second, 3*time.Second)); err != nil {
		return err
	}
	return i.StartReady(ctx)
}

// awaitEnd waits until the ordered runs have ended.
func (f *filePulls) awaitEnd(ctx context.Context) error {
	return rig.Await(ctx, filesWait, "all pulls of files have ended", func(ctx context.Context) (bool, error) {
		var open int
		err := f.store.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM run WHERE id IN (?) AND ended_at IS NULL",
			f.runs).Row().Scan(&open)
		return open == 0, err
	})
}

// judgeJobs compares the platform's jobs with the subtasks. It runs before the full round, which may pull other files.
func (f *filePulls) judgeJobs(ctx context.Context) error {
	jobs, err := f.world.Jobs(ctx, filesMedia)
	if err != nil {
		return err
	}
	subtasks, left := 0, 0
	data := f.store.Data.Writer(ctx)
	err = data.Raw("SELECT COUNT(*) FROM file_pull").Row().Scan(&left)
	err = errors.Join(err, f.eachLog(ctx, func(table string) error {
		var n int
		err := data.Raw("SELECT COUNT(*) FROM "+table+" WHERE run_id IN (?)", f.runs).Row().Scan(&n)
		subtasks += n
		return err
	}))
	if err != nil {
		return err
	}
	cut, problems := judge.Jobs(jobs, subtasks, f.kills)
	f.log("%d jobs for %d files, and %d that were cut off; %d kills", len(jobs), subtasks, cut, f.kills)
	for _, p := range problems {
		f.tell(p.Kind, "%s", p.Text)
	}
	f.strike("files cut off", cut)
	if left > 0 {
		f.complain("%d pulls of files are left over", left)
	}
	return nil
}

// judgeDays checks that coverage has every ordered day of every account as whole. The full round compares the rows of
// these days with the truth.
func (f *filePulls) judgeDays(ctx context.Context) error {
	for _, x := range fileTasks {
		var whole int
		err := f.store.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM coverage WHERE account_id IN (?) AND report = ?"+
			" AND level = ? AND day > ? AND day <= ? AND complete_version = claimed_version",
			f.accounts[filesMedia], x.report, x.level, f.newest, f.last).Row().Scan(&whole)
		if err != nil {
			return err
		}
		if want := f.days[x.name] * len(f.accounts[filesMedia]); whole != want {
			f.tell(judge.Lost, "%s: %d days of accounts are whole, want %d", x.name, whole, want)
		}
	}
	return nil
}

// judgeMetric checks that no living process has counted a job whose fate it does not know: the platform lists jobs by
// their names.
func (f *filePulls) judgeMetric(ctx context.Context) error {
	events := map[string]int{}
	for _, i := range f.of("consumer") {
		if err := i.AddCounts(ctx, "adsync_pull_file_jobs_total", "event", events); err != nil {
			return err
		}
	}
	f.log("the living consumers have counted these jobs: %v", events)
	if n := events["orphaned"]; n > 0 {
		f.complain("%d jobs count as orphaned though the platform finds jobs by their names", n)
	}
	return nil
}
