package account

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
)

// InitialiseDaysDefault is how many past days of a newly bound account are pulled.
const InitialiseDaysDefault = 30

const (
	initialiseDaysMax = 365
	// initialiseBatch is how many accounts are read and ordered together; initialiseMax is how many may be under way.
	initialiseBatch = 250
	initialiseMax   = 1000
)

// InitialiseOptions holds what the initialisation uses.
type InitialiseOptions struct {
	Platform media.Platform
	Store    *store.Store
	Clock    clock.Clock
	Logger   *slog.Logger
}

type initialiseParams struct {
	// Days is how many days before the present one are pulled.
	Days int `json:"days"`
}

func parseInitialise(raw json.RawMessage) (initialiseParams, error) {
	p := initialiseParams{Days: InitialiseDaysDefault}
	if err := media.CheckParams(raw, &p); err != nil {
		return p, err
	}
	if p.Days < 1 || p.Days > initialiseDaysMax {
		return p, fmt.Errorf("params.days: %d is refused: want 1 to %d", p.Days, initialiseDaysMax)
	}
	return p, nil
}

// InitialiseName returns the name of the platform's handler that pulls the past of new accounts.
func InitialiseName(platform string) string { return platform + ".initialise" }

// InitialiseDays returns how many days before the present one a task with these params pulls.
func InitialiseDays(params json.RawMessage) (int, error) {
	p, err := parseInitialise(params)
	return p.Days, err
}

// InitialiseHandler returns "<media>.initialise". Once the present day of a new account has been pulled, it orders
// runs that pull the account's whole configuration and its last days, and it records when those runs have ended. The
// orders use the tasks that regularly pull the same lists and reports, so a report without an enabled task is not
// pulled. It may be interrupted anywhere: the orders follow from what it has recorded, and each is written once.
func InitialiseHandler(o InitialiseOptions) media.Handler {
	return media.Handler{
		Name:   InitialiseName(o.Platform.Name()),
		Target: media.Once,
		Check: func(raw json.RawMessage) error {
			_, err := parseInitialise(raw)
			return err
		},
		Parts: oncePart("initialise"),
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			params, err := parseInitialise(work.Params)
			if err != nil {
				return media.Result{}, &media.Error{Class: media.Invalid, Message: err.Error()}
			}
			i := &initialising{InitialiseOptions: o, days: params.Days, now: o.Clock.Now()}
			err = i.run(ctx)
			return media.Result{Rows: i.moved}, err
		},
	}
}

// initialising is one pass.
type initialising struct {
	InitialiseOptions
	days  int
	now   time.Time
	tasks []pastTask
	// present holds the reports and levels that make up an account's present day.
	present []results.ReportLevel
	moved   int // accounts that were started or finished
}

// pastTask is a task that can pull a part of an account's past.
type pastTask struct {
	id   int64
	name string
	days int // how many days back; 0 for configuration, which has no days
}

func (i *initialising) run(ctx context.Context) error {
	if err := i.readTasks(ctx); err != nil {
		return err
	}
	underWay, err := i.Store.Initialising(ctx, i.Platform.Name())
	if err != nil {
		return err
	}
	if len(underWay) < initialiseMax {
		if err := i.begin(ctx, initialiseMax-len(underWay)); err != nil {
			return err
		}
		if underWay, err = i.Store.Initialising(ctx, i.Platform.Name()); err != nil {
			return err
		}
	}
	return i.resume(ctx, underWay)
}

// readTasks chooses the task to order for each list and report. Of several it takes the one in the least important
// lane, so that a month of the past does not delay the present.
func (i *initialising) readTasks(ctx context.Context) error {
	rows, err := i.Store.TaskRows(ctx)
	if err != nil {
		return err
	}
	lane := func(row settings.TaskRow) int {
		return slices.Index([]string{"important", "normal", "offline"}, row.Lane)
	}
	choose := func(handler string, fits func(params media.PullParams) bool) (best settings.TaskRow, found, present bool) {
		for _, row := range rows {
			params, err := media.ReadPullParams(json.RawMessage(row.Params))
			if err != nil || row.Enabled != "1" || row.Handler != handler || !fits(params) {
				continue
			}
			tiers := task.Settings{Scope: row.Scope}.Tiers()
			present = present || (params.Skip == 0 && (tiers == nil || slices.Contains(tiers, settings.TierActive)))
			if !found || lane(row) > lane(best) {
				best, found = row, true
			}
		}
		return best, found, present
	}
	for _, l := range i.Platform.Lists() {
		row, found, _ := choose(i.Platform.Name()+"."+l.Name,
			func(p media.PullParams) bool { return p.Mode == "" || p.Mode == "full" })
		if found {
			i.tasks = append(i.tasks, pastTask{id: row.ID, name: row.Name})
		}
	}
	for _, r := range i.Platform.Reports() {
		row, found, present := choose(i.Platform.Name()+"."+r.Name,
			func(p media.PullParams) bool { return p.Level == r.Level })
		if found {
			i.tasks = append(i.tasks, pastTask{id: row.ID, name: row.Name, days: min(i.days, r.LookBack)})
		}
		if present {
			i.present = append(i.present, results.ReportLevel{Report: r.Name, Level: r.Level})
		}
	}
	return nil
}

// begin records the start for new accounts whose present day was pulled, for at most so many accounts.
func (i *initialising) begin(ctx context.Context, most int) error {
	for after := int64(0); most > 0; {
		accounts, err := i.Store.NewAccounts(ctx, i.Platform.Name(), after, initialiseBatch)
		if err != nil {
			return err
		}
		ready, err := i.ready(ctx, accounts)
		if err != nil {
			return err
		}
		ready = ready[:min(len(ready), most)]
		if len(ready) > 0 {
			if err := i.Store.StartInitialising(ctx, ready, i.now); err != nil {
				return err
			}
			i.moved += len(ready)
			i.Logger.Info("started to pull the past of new accounts", "media", i.Platform.Name(), "accounts", len(ready), "days",
				i.days)
		}
		most -= len(ready)
		if len(accounts) < initialiseBatch {
			return nil
		}
		after = accounts[len(accounts)-1].ID
	}
	return nil
}

// ready returns the accounts whose present day was pulled whole, in all reports and levels that tasks pull.
func (i *initialising) ready(ctx context.Context, accounts []settings.NewAccount) ([]int64, error) {
	byDay := map[day.Day][]int64{}
	for _, a := range accounts {
		zone, err := schedule.Zone(a.Timezone)
		if err != nil {
			i.Logger.Warn("account is not initialised: its time zone is invalid", "media", i.Platform.Name(),
				"account_id", a.ID, "err", err)
			continue
		}
		today := day.Of(i.now, zone)
		byDay[today] = append(byDay[today], a.ID)
	}
	var ready []int64
	for today, ids := range byDay {
		whole, err := i.Store.WholeReports(ctx, ids, today)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if !slices.ContainsFunc(i.present, func(r results.ReportLevel) bool { return !whole[id][r] }) {
				ready = append(ready, id)
			}
		}
	}
	slices.Sort(ready)
	return ready, nil
}

// resume writes the missing orders of accounts under way, and finishes the accounts whose runs have ended. Accounts
// with the same start and zone are ordered together.
func (i *initialising) resume(ctx context.Context, accounts []settings.NewAccount) error {
	type kind struct {
		at   time.Time
		zone string
	}
	groups := map[kind][]int64{}
	var kinds []kind
	for _, a := range accounts {
		k := kind{a.At, a.Timezone}
		if groups[k] == nil {
			kinds = append(kinds, k)
		}
		groups[k] = append(groups[k], a.ID)
	}
	for _, k := range kinds {
		ended, err := i.order(ctx, k.at, k.zone, groups[k])
		if err != nil {
			return err
		}
		if !ended {
			continue
		}
		if err := i.Store.SetInitialised(ctx, groups[k], i.now); err != nil {
			return err
		}
		i.moved += len(groups[k])
		i.Logger.Info("pulled the past of new accounts", "media", i.Platform.Name(), "accounts", len(groups[k]), "since",
			k.at)
	}
	return nil
}

// order writes the missing orders of accounts with the same start and zone. It reports whether their runs have ended,
// in any state: coverage shows what is missing then.
func (i *initialising) order(ctx context.Context, at time.Time, zoneName string, ids []int64) (ended bool, err error) {
	zone, err := schedule.Zone(zoneName)
	if err != nil {
		return false, err
	}
	today := day.Of(at, zone)
	var runIDs []int64
	for _, t := range i.tasks {
		order := ledger.RunOrder{
			RunID: pastRunID(at, zoneName, t.id), TaskID: t.id, OrderedAt: at,
			Request: task.Order{Accounts: ids, By: InitialiseName(i.Platform.Name())},
		}
		if t.days > 0 {
			order.Request.From, order.Request.To = today.Add(-t.days), today.Add(-1)
		}
		if err := i.Store.AddOrderOnce(ctx, order); err != nil {
			return false, err
		}
		runIDs = append(runIDs, order.RunID)
	}
	if len(runIDs) == 0 {
		return true, nil
	}
	runs, err := i.Store.Runs(ctx, runIDs)
	if err != nil {
		return false, err
	}
	return len(runs) == len(runIDs) && !slices.ContainsFunc(runs, func(r ledger.Run) bool { return r.State.Open() }), nil
}

// pastRunID returns the id of the run that pulls the past with a task, for accounts with the same start and zone. It
// is always the same id, so that the run is ordered once. As with every run, the id holds its time.
func pastRunID(at time.Time, zone string, taskID int64) int64 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d", zone, taskID)
	first := task.FirstRunIDAt(at)
	width := task.FirstRunIDAt(at.Add(time.Millisecond)) - first
	return first + int64(h.Sum32())%width
}
