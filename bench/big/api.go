package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"time"

	"adsync/base/clock"
	"adsync/base/store/ledger"
	"adsync/test/big"
	"adsync/test/rig"
)

// apiBound is the longest time that a list or search may take.
const apiBound = 300 * time.Millisecond

// A route that takes longer than slow is called at most slowCalls times.
const (
	slow      = 2 * time.Second
	slowCalls = 5
)

// runSize is how many subtasks a run has: one of each active account.
const runSize = 8000

// logs are the days of the log tables, today last.
func (d *deployment) logs() []big.Log {
	size := min(runSize, d.o.accounts)
	all := []big.Log{}
	for on := today.Add(-6); on < today; on = on.Add(1) {
		all = append(all, big.Log{Day: on, Rows: d.o.log / 10, RunSize: size})
	}
	return append(all, big.Log{Day: today, Rows: d.o.log, RunSize: size, Open: 20})
}

// api measures the lists and searches of the API.
func (d *deployment) api(ctx context.Context) error {
	logs := d.logs()
	for _, l := range logs {
		if err := d.store.EnsureLogTable(ctx, l.Day); err != nil {
			return err
		}
		if err := d.build(ctx, ledger.LogTable(l.RunID(0)), func() error { return d.tables.Log(ctx, l) }); err != nil {
			return err
		}
	}
	err := d.build(ctx, "run", func() error { // These are of the months before: their log tables are dropped.
		months := logs[0]
		months.Day, months.Rows = today.Add(-90), logs[len(logs)-1].Runs()
		months.RunSize = 1
		return d.tables.Runs(ctx, months, 80)
	})
	if err != nil {
		return err
	}
	if err := d.build(ctx, "config_change", func() error {
		return d.tables.Rest(ctx, d.o.accounts,
			min(1_000_000, d.o.log/28), today)
	}); err != nil {
		return err
	}
	if err := d.build(ctx, "coverage", func() error {
		return d.tables.Coverage(ctx, d.o.accounts, today.Add(-13),
			today)
	}); err != nil {
		return err
	}
	if err := d.tables.Analyze(ctx); err != nil {
		return err
	}
	if err := d.serve(ctx); err != nil {
		return err
	}
	for _, r := range d.routes(logs) {
		if err := d.ask(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.id, err)
		}
	}
	if err := d.exact(ctx, logs); err != nil {
		return err
	}
	return d.dropLogs(ctx, logs)
}

// route is called repeatedly, each time with other values.
type route struct {
	id   string
	path func(i int) string
	list string // the field of the answer whose rows are paged through; "" where there are no pages
}

func (d *deployment) routes(logs []big.Log) []route {
	dice := rand.New(rand.NewPCG(1, 2))
	last := logs[len(logs)-1]
	account := func() int { return 1 + dice.IntN(d.o.accounts) }
	active := func() int { return 1 + dice.IntN(last.RunSize) }
	on := "since=" + today.Start(time.UTC).Format(time.RFC3339) + "&until=" +
		today.Add(1).Start(time.UTC).Format(time.RFC3339)
	dead := func() int { return 7 + 200*dice.IntN(max(1, last.RunSize/200)) }
	platform := func(id int) string {
		if id%2 == 1 {
			return big.Media
		}
		return big.Other
	}
	of := func(id int) string { return fmt.Sprintf("%s/%d", platform(id), 20_000_000+id) }
	run := func() int64 { return last.RunID(dice.IntN(last.Runs())) }
	print := func() string { return url.QueryEscape(fmt.Sprintf("code %d: account ? is refused", dice.IntN(211))) }
	name := func() string { return "task." + strconv.Itoa(1+dice.IntN(big.Tasks)) }
	pick := func(of ...string) string { return of[dice.IntN(len(of))] }
	at := func() string {
		return today.Start(time.UTC).Add(-time.Duration(dice.IntN(6*24)) * time.Hour).Format(time.RFC3339)
	}
	fixed := func(path string) func(int) string { return func(int) string { return path } }
	return []route{
		{"tasks", fixed("/tasks"), ""},
		{"task", func(int) string { return "/tasks/" + name() }, ""},
		{"runs", func(i int) string { return "/runs?limit=" + strconv.Itoa(50+i) }, "runs"},
		{"runs of a task", func(int) string { return "/runs?task=" + name() }, "runs"},
		{"runs of a state", func(int) string {
			return "/runs?state=" + pick("failed", "partial", "running", "succeeded", "expired", "cancelled")
		}, "runs"},
		{"runs of a task and a state", func(int) string {
			return "/runs?task=" + name() + "&state=" + pick("failed", "partial", "running", "succeeded")
		}, "runs"},
		{"runs of an unknown task", func(i int) string { return "/runs?task=nobody." + strconv.Itoa(i) }, ""},
		{"run", func(int) string { return fmt.Sprintf("/runs/%d", run()) }, ""},
		{"run under way", func(i int) string { return fmt.Sprintf("/runs/%d", last.RunID(last.Runs()-1-i%last.Open)) }, ""},
		{"subtasks of a run", func(int) string { return fmt.Sprintf("/runs/%d/subtasks", run()) }, "subtasks"},
		{"subtasks of a run and a state", func(int) string {
			return fmt.Sprintf("/runs/%d/subtasks?state=%s", run(), pick("failed", "cancelled", "succeeded"))
		}, "subtasks"},
		{"subtasks of a run and a text", func(i int) string {
			return fmt.Sprintf("/runs/%d/subtasks?text=nothing-%d", run(),
				i)
		}, "subtasks"},
		{"subtasks of an account", func(int) string {
			return "/accounts/" + of(active()) + "/subtasks?" + on
		}, "subtasks"},
		{"subtasks of an account and a state", func(int) string {
			return "/accounts/" + of(active()) + "/subtasks?state=" + pick("failed", "cancelled", "succeeded") + "&" + on
		}, "subtasks"},
		{"subtasks of an account and a text", func(i int) string {
			return "/accounts/" + of(active()) + "/subtasks?text=nothing-" + strconv.Itoa(i) + "&" + on
		}, "subtasks"},
		{"due", fixed("/due"), "due"},
		{"due of a state", func(int) string { return "/due?state=" + pick("retrying", "deferred") }, "due"},
		{"due of a media and a text", func(i int) string {
			return "/due?media=" + pick(big.Media, big.Other) + "&text=" + pick("busy", "nothing")
		}, "due"},
		{"why a subtask waits", func(i int) string {
			return fmt.Sprintf("/subtasks/%d/%d/wait?part=%s", last.RunID(last.Runs()-1-i%last.Open),
				2*(1+dice.IntN(last.RunSize/2)), last.Day)
		}, ""},
		{"dead", func(i int) string { return "/dead?limit=" + strconv.Itoa(50+i) }, "dead"},
		{"dead of a task", func(int) string { return "/dead?task=" + name() }, "dead"},
		{"dead of a media", func(int) string { return "/dead?media=" + pick(big.Media, big.Other) }, "dead"},
		{"dead of an account", func(int) string {
			id := dead()
			return fmt.Sprintf("/dead?media=%s&account=%d", platform(id), 20_000_000+id)
		}, "dead"},
		{"dead of a run", func(int) string { return fmt.Sprintf("/dead?run=%d", run()) }, "dead"},
		{"dead of a print", func(int) string { return "/dead?print=" + print() }, "dead"},
		{"dead of a class", func(int) string { return "/dead?class=" + pick("invalid", "transient", "bug") }, "dead"},
		{"dead of a text", func(int) string {
			return "/dead?text=" +
				url.QueryEscape("code "+strconv.Itoa(dice.IntN(211))+": ")
		}, "dead"},
		{"dead of a text that few have", func(i int) string {
			return "/dead?text=" +
				url.QueryEscape(fmt.Sprintf("trace %04x", i*131))
		}, ""},
		{"dead of a text that none has", func(i int) string { return "/dead?text=nothing-" + strconv.Itoa(i) }, ""},
		{"dead since and until", func(int) string { return "/dead?since=" + at() + "&until=" + at() }, "dead"},
		{"dead of many filters", func(int) string {
			return "/dead?task=" + name() + "&class=" + pick("invalid", "bug") + "&until=" + at() + "&print=" + print()
		}, "dead"},
		{"groups of dead", fixed("/dead/groups"), ""},
		{"groups of dead of a task", func(int) string { return "/dead/groups?task=" + name() }, ""},
		{"groups of dead of a class", func(int) string { return "/dead/groups?class=" + pick("invalid", "transient", "bug") },
			""},
		{"groups of dead of a text", func(int) string {
			return "/dead/groups?text=" + url.QueryEscape("code "+strconv.Itoa(dice.IntN(211))+": ")
		}, ""},
		{"a dead subtask", func(int) string {
			return fmt.Sprintf("/dead/subtask?run=%d&account_id=%d&part=%s", run(), dead(), last.Day)
		}, ""},
		{"accounts", func(i int) string { return "/accounts?limit=" + strconv.Itoa(50+i) }, "accounts"},
		{"accounts of a media and a tier", func(int) string {
			return "/accounts?media=" + pick(big.Media, big.Other) + "&tier=" + pick("active", "inactive")
		}, "accounts"},
		{"accounts of a state", func(int) string { return "/accounts?state=" + pick("parked", "unbound", "pulled") },
			"accounts"},
		{"accounts of a login's state", func(int) string {
			return "/accounts?login_state=" +
				pick("ok", "reauthorise", "none")
		}, "accounts"},
		{"accounts of a game", func(int) string { return "/accounts?game=" + pick("game7", "nobody", "unassigned") },
			"accounts"},
		{"account", func(int) string { return "/accounts/" + of(account()) }, ""},
		{"coverage", func(int) string {
			return "/accounts/" + of(account()) + "/coverage?from=" + today.Add(-13).String() + "&to=" + today.String()
		}, ""},
		{"changes", func(int) string {
			return "/accounts/" + of(account()) + "/changes?from=" + today.Add(-6).String() + "&to=" + today.Add(20).String()
		}, "changes"},
		{"changes of a field", func(int) string {
			return "/accounts/" + of(account()) + "/changes?field=daily_budget&from=" + today.String() + "&to=" +
				today.Add(20).String()
		}, "changes"},
		{"differences", fixed("/reconciliation"), "differences"},
		{"differences of a media and a day", func(i int) string {
			return "/reconciliation?media=" + pick(big.Media, big.Other) + "&day=" + today.Add(-(i % 8)).String() + "&state=" +
				pick("open", "mended", "all")
		}, "differences"},
		{"differences, all", fixed("/reconciliation?state=all"), "differences"},
		{"pauses", func(int) string { return "/pauses" + pick("", "?state=active") }, "pauses"},
		{"cancels", fixed("/cancels"), "cancels"},
		{"holes", fixed("/coverage/holes"), ""},
		{"holes of a media", func(int) string { return "/coverage/holes?media=" + pick(big.Media, big.Other) }, ""},
		{"limits", fixed("/limits"), ""},
		{"fields", fixed("/fields"), ""},
	}
}

// ask calls a route many times, for lists also later pages, and records how long the answers took.
func (d *deployment) ask(ctx context.Context, r route) error {
	var took []time.Duration
	next := ""
	calls := d.o.calls
	for i := 0; i < calls; i++ {
		path := r.path(i)
		if next != "" && i%2 == 1 { // Every second call is for the page after the last one.
			path = next
		}
		began := clock.Mark()
		status, body, err := rig.Get(ctx, d.server.URL+"/api/v1"+path)
		took = append(took, clock.Since(began))
		if took[i] > slow { // A hundred calls would show nothing else.
			calls = min(calls, slowCalls)
		}
		if err != nil || status != 200 {
			return fmt.Errorf("%s: %d %.300s: %w", path, status, body, err)
		}
		if next, err = nextOf(r.list, path, body); err != nil {
			return err
		}
	}
	m := d.report.add(r.id, took, apiBound)
	d.say("%-36s p95 %7.1f ms, median %7.1f ms", r.id, m.Ours, m.Median)
	return nil
}

// nextOf returns the path of the next page, "" if there is none.
func nextOf(list, path, body string) (string, error) {
	if list == "" {
		return "", nil
	}
	var page struct{ Next string }
	if err := json.Unmarshal([]byte(body), &page); err != nil || page.Next == "" {
		return "", err
	}
	u, err := url.Parse(path)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("after", page.Next)
	return u.Path + "?" + q.Encode(), nil
}

// exact pages through some lists to their ends, and checks that they list each row of the tables exactly once.
func (d *deployment) exact(ctx context.Context, logs []big.Log) error {
	last := logs[len(logs)-1]
	for _, check := range []struct{ path, list, count string }{
		{"/runs?limit=500&task=task.7&state=failed", "runs", "run WHERE task_name = 'task.7' AND state = 'failed'"},
		{"/dead?limit=500&media=" + big.Media + "&account=20000007", "dead",
			"subtask_dead WHERE account_id = 7 AND media = '" + big.Media + "'"},
		{"/dead?limit=500&task=task.11&class=bug", "dead", "subtask_dead WHERE task_id = 11 AND error_class = 'bug'"},
		{"/dead?limit=500&text=" + url.QueryEscape("code 7: "), "dead", "subtask_dead WHERE error_text LIKE 'code 7: %'"},
		{fmt.Sprintf("/dead?limit=500&run=%d", last.RunID(3)), "dead",
			fmt.Sprintf("subtask_dead WHERE run_id = %d", last.RunID(3))},
		{"/reconciliation?limit=1000&media=" + big.Media, "differences", "reconciliation WHERE media = '" + big.Media +
			"' AND state = 'open'"},
	} {
		want, err := d.rowsOf(ctx, check.count)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for path := check.path; path != ""; {
			status, body, err := rig.Get(ctx, d.server.URL+"/api/v1"+path)
			if err != nil || status != 200 {
				return fmt.Errorf("%s: %d %.300s: %w", path, status, body, err)
			}
			var page map[string]json.RawMessage
			var rows []json.RawMessage
			if err := json.Unmarshal([]byte(body), &page); err != nil {
				return err
			}
			if err := json.Unmarshal(page[check.list], &rows); err != nil {
				return err
			}
			for _, row := range rows {
				seen[string(row)] = true
			}
			if path, err = nextOf(check.list, path, body); err != nil {
				return err
			}
		}
		if len(seen) != want {
			return fmt.Errorf("%s lists %d rows, and there are %d", check.path, len(seen), want)
		}
		d.say("%s lists each of the %d rows once", check.path, want)
	}
	return nil
}

// dropLogs runs the retention of log tables, and removes the rows that would disturb the next stages.
func (d *deployment) dropLogs(ctx context.Context, logs []big.Log) error {
	var took []time.Duration
	for _, l := range logs {
		if l.Open > 0 { // Open subtasks would be expired one by one.
			continue
		}
		began := clock.Mark()
		if _, err := d.store.ExpireLogDay(ctx, l.Day); err != nil {
			return err
		}
		if err := d.store.DropLogTable(ctx, l.Day); err != nil {
			return err
		}
		took = append(took, clock.Since(began))
	}
	d.report.add("log table of a day dropped", took, 0)
	if err := d.store.DropLogTable(ctx, today); err != nil {
		return err
	}
	for _, table := range []string{"run", "tick", "subtask_due", "subtask_dead", "coverage", "config_change",
		"reconciliation"} {
		if _, err := d.tables.DB.ExecContext(ctx, "TRUNCATE TABLE "+table); err != nil {
			return err
		}
	}
	return nil
}
