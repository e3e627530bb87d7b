package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
)

// marginSeconds is how much older than the period of its task a figure may be.
const marginSeconds = 60

// line is a report at a level, while it is measured.
type line struct {
	report, level string
	period        time.Duration
	plain, spend  ages
	media         map[string]*ages // of plain, by platform
}

// add counts the age of an account's figures.
func (l *line) add(a account, age Age) {
	l.plain.add(age, 1)
	l.spend.add(age, a.spend)
	if l.media[a.media] == nil {
		l.media[a.media] = &ages{}
	}
	l.media[a.media].add(age, 1)
}

// lines are the reports of accounts and ad groups of active accounts, with the longest of the platforms' periods.
func (d *deployment) lines(ctx context.Context) ([]*line, error) {
	byCadence, err := d.hourly(ctx)
	if err != nil {
		return nil, err
	}
	type key struct{ media, report, level string }
	periods := map[key]time.Duration{}
	for often, tasks := range byCadence {
		for _, t := range tasks {
			var params struct{ Level string }
			_ = json.Unmarshal([]byte(t.Params), &params)
			report := strings.TrimPrefix(t.Handler, t.Media+".")
			if !strings.HasPrefix(report, "report_") || (params.Level != "account" && params.Level != "adgroup") {
				continue
			}
			k := key{t.Media, report, params.Level}
			if period := time.Duration(float64(time.Hour) / often); periods[k] == 0 || period < periods[k] {
				periods[k] = period
			}
		}
	}
	found := map[string]*line{}
	for k, period := range periods {
		name := k.level + " " + k.report
		if found[name] == nil {
			found[name] = &line{report: k.report, level: k.level, media: map[string]*ages{}}
		}
		found[name].period = max(found[name].period, period)
	}
	var all []*line
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[name])
	}
	return all, nil
}

// counts are summed over the measured time.
type counts struct {
	calls    map[endpoint]called
	subtasks map[string]int64
	cpu      map[string]float64
}

// measure lets the tasks settle and then measures. It also reads samples while they settle: each sample needs the one
// before.
func (d *deployment) measure(ctx context.Context, o options, limits []Limit) (*Report, error) {
	lines, err := d.lines(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	from, until := began.Add(o.settle), began.Add(o.settle+o.window)
	t, samples := tracker{}, 0
	var stopped stalls
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go stopped.watch(watching)
	var before *counts
	ticker := time.NewTicker(o.sample)
	defer ticker.Stop()
	for time.Now().Before(until) {
		if before == nil && !time.Now().Before(from) {
			if before, err = d.count(ctx); err != nil {
				return nil, err
			}
			from = time.Now()
		}
		now, err := d.sample(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("sample: %w", err)
		}
		if before != nil {
			samples++
			for _, l := range lines {
				for id, a := range d.accounts {
					age := t.age(id, a, l.report, l.level, now)
					l.add(a, age)
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
		if err := d.alive(); err != nil {
			return nil, err
		}
	}
	after, err := d.count(ctx)
	if err != nil {
		return nil, err
	}
	r := &Report{Held: true, Accounts: o.accounts, Pool: o.pool, Active: len(d.accounts),
		Seconds: time.Since(from).Seconds(), Samples: samples}
	for e, c := range after.calls {
		c = c.since(before.calls[e])
		r.Calls, r.Refused = r.Calls+c.Calls, r.Refused+c.Refused
		for i := range limits {
			if l := &limits[i]; l.Media == e.media && l.Endpoint == e.name {
				l.Made, l.Refused = l.Made+c.Calls, l.Refused+c.Refused
			}
		}
	}
	r.Limits = limits
	if r.Refusals, err = d.refusals(ctx, from, &stopped); err != nil {
		return nil, err
	}
	r.Subtasks, r.CPU = map[string]int64{}, map[string]float64{}
	for state, n := range after.subtasks {
		r.Subtasks[state] = n - before.subtasks[state]
		r.SubtasksSecond += float64(r.Subtasks[state]) / r.Seconds
	}
	for name, seconds := range after.cpu {
		r.CPU[name] = (seconds - before.cpu[name]) / r.Seconds
	}
	r.judge(lines)
	r.Rows, err = d.rows(ctx)
	return r, err
}

// judge adds the lines' figures.
func (r *Report) judge(lines []*line) {
	for _, l := range lines {
		bound := l.period.Seconds() + marginSeconds
		out := Line{Report: l.report, Level: l.level, Period: l.period.Seconds(), Bound: bound, Plain: l.plain.figures(),
			Weighed: l.spend.figures(), Media: map[string]Age{}}
		for name, a := range l.media {
			out.Media[name] = a.percentile(0.95)
		}
		out.Held = float64(out.Plain.P95) <= bound && float64(out.Weighed.P95) <= bound
		r.Held = r.Held && out.Held
		r.Lines = append(r.Lines, out)
	}
}

// sample reads the shown figures' ages in one snapshot, and returns the database's time.
func (d *deployment) sample(ctx context.Context, t tracker) (time.Time, error) {
	tx, err := d.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = tx.Rollback() }()
	type fence struct {
		summary, media string
		day            day.Day
	}
	rebuilt := map[fence]int64{}
	// The first read opens the snapshot; the time is taken after it: what is seen was there by then.
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var f fence
		var version int64
		err := rows.Scan(&f.summary, &f.media, &f.day, &version)
		rebuilt[f] = version
		return err
	}, "SELECT summary, media, day, version FROM summary_fence")
	if err != nil {
		return time.Time{}, err
	}
	var micros int64
	if err := tx.QueryRowContext(ctx,
		"SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))").Scan(&micros); err != nil {
		return time.Time{}, err
	}
	now := time.UnixMicro(micros)
	today := day.Of(now, time.UTC)
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var c covered
		if err := rows.Scan(&c.account, &c.report, &c.level, &c.day, &c.claimed, &c.complete, &c.dirty,
			&c.state); err != nil {
			return err
		}
		a, ok := d.accounts[c.account]
		if ok {
			t.observe(c, micros, rebuilt[fence{strings.Replace(c.report, "report", "summary", 1), a.media, c.day}])
		}
		return nil
	}, "SELECT account_id, report, level, day, claimed_version, complete_version, dirty IS NOT NULL, state FROM coverage"+
		" WHERE report IN ('report_daily', 'report_hourly') AND level IN ('account', 'adgroup') AND day BETWEEN ? AND ?",
		today.Add(-2), today.Add(1))
	return now, err
}

func each(ctx context.Context, tx *sql.Tx, row func(*sql.Rows) error, query string, args ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (d *deployment) count(ctx context.Context) (*counts, error) {
	c := &counts{subtasks: map[string]int64{}, cpu: map[string]float64{}}
	var err error
	if c.calls, err = d.ledger(ctx); err != nil {
		return nil, err
	}
	var ended [5]int64
	err = d.db.QueryRowContext(ctx,
		"SELECT COALESCE(SUM(succeeded), 0), COALESCE(SUM(failed), 0), COALESCE(SUM(expired), 0), COALESCE(SUM(cancelled), "+
			"0),"+
			" COALESCE(SUM(superseded), 0) FROM run").Scan(&ended[0], &ended[1], &ended[2], &ended[3], &ended[4])
	if err != nil {
		return nil, err
	}
	for i, state := range []string{"succeeded", "failed", "expired", "cancelled", "superseded"} {
		c.subtasks[state] = ended[i]
	}
	pids := map[string]int{"freshness itself": os.Getpid()}
	for name, p := range d.processes {
		pids[name] = p.PID()
	}
	for _, s := range d.servers {
		pids[s.Name()] = s.PID()
	}
	for name, pid := range pids {
		if c.cpu[name], err = cpuSeconds(pid); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// clockTicks are those of a second in /proc.
const clockTicks = 100

// cpuSeconds returns the processor time that a process has used.
func cpuSeconds(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	var user, system float64
	// After the name come the state and ten more fields.
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat is not understood: %s", pid, stat)
	}
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, err
	}
	return (user + system) / clockTicks, nil
}

// rows returns how many rows of their newest day the active accounts have, by report and level.
func (d *deployment) rows(ctx context.Context) (map[string]float64, error) {
	newest := map[scope]struct {
		day  day.Day
		rows int64
	}{}
	rows, err := d.db.QueryContext(ctx, "SELECT account_id, report, level, day, row_count FROM coverage WHERE day >= ?",
		day.Of(time.Now(), time.UTC).Add(-1))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s scope
		var on day.Day
		var n int64
		if err := rows.Scan(&s.account, &s.report, &s.level, &on, &n); err != nil {
			return nil, err
		}
		if have := newest[s]; d.accounts[s.account].media != "" && on > have.day {
			have.day, have.rows = on, n
			newest[s] = have
		}
	}
	perAccount := map[string]float64{}
	for s, have := range newest {
		perAccount[s.report+" "+s.level] += float64(have.rows) / float64(len(d.accounts))
	}
	return perAccount, rows.Err()
}

func printMap(w io.Writer, title, format string, values map[string]float64) {
	fmt.Fprintln(w, title)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(w, "  %-40s "+format+"\n", name, values[name])
	}
}
