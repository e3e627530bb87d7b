package overview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/ratelimit/grant"
	"adsync/base/schedule"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/store/overview"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/producer"
)

// WhyKind is the kind of reason why an account's figures are not fresh.
type WhyKind string

// The kinds, in the order of the checks.
const (
	WhyUnbound  WhyKind = "unbound"
	WhyParked   WhyKind = "parked"
	WhyInvalid  WhyKind = "invalid" // the account's tier
	WhyFresh    WhyKind = "fresh"   // the figures are not late
	WhyNoTask   WhyKind = "no_task"
	WhyDisabled WhyKind = "disabled"
	WhyNoLeader WhyKind = "no_leader"
	WhyPaused   WhyKind = "paused"
	WhyRetrying WhyKind = "retrying"
	WhyDeferred WhyKind = "deferred"
	WhyDead     WhyKind = "dead"
	WhyRefused  WhyKind = "platform_pause" // the platform takes no calls for a time
	WhyLimit    WhyKind = "limit"          // a limit of calls is used up
	WhyLane     WhyKind = "lane"           // the subtask waits for its turn
	WhyFanOut   WhyKind = "fan_out"        // the run has not reached the account
	WhyNextRun  WhyKind = "next_run"
)

// Why reports whether an account's figures of today are late, and what they wait for.
type Why struct {
	Late      bool
	Kind      WhyKind
	Line      string    // the reason as one sentence
	PulledAt  time.Time // the last pull of today's hours; zero if there was none
	LateAfter time.Duration
	Task      string // the task concerned, if any
	RunID     int64  // the run concerned, if any
	Until     time.Time
	Command   string // shows more of it, or ends it
}

// whyTables are the tables that Why reads outside a Glance.
type whyTables interface {
	OpenRuns(ctx context.Context, taskIDs []int64, limit int) ([]ledger.Run, error)
	OpenSubtasksOfAccount(ctx context.Context, runIDs []int64, accountID int64) ([]ledger.OpenSubtask, error)
	SubtaskLog(ctx context.Context, k task.Key) (ledger.SubtaskLog, error)
	WaitOf(ctx context.Context, k task.Key) (reason string, due time.Time, err error)
	ListDead(ctx context.Context, f task.DeadFilter, after dead.DeadPlace, limit int) (
		all []dead.DeadSubtask, end dead.DeadPlace, err error)
}

const (
	whyRuns = 200 // open runs that are searched for the account
	whyDead = 20  // dead subtasks of the account that are looked at
)

// Why reports whether the figures of an account's present day are late, and the likeliest reason. It checks what
// excludes the account from pulls before what its pull waits for. Figures are late after two missed pulls of its
// hours, as for Media.Late.
func (r *Reader) Why(ctx context.Context, account settings.Account) (Why, error) {
	w := &whyLate{Reader: r, account: account, business: r.Clock.Now(), name: account.Media + "/" + account.ExternalID}
	steps := []func(context.Context) (bool, error){w.checkAccount, w.checkAge, w.checkTasks, w.checkStops, w.checkSubtasks}
	for _, check := range steps {
		if found, err := check(ctx); found || err != nil {
			return w.Why, err
		}
	}
	w.awaitsRun()
	return w.Why, nil
}

// whyLate is one search for the reason. Each check reports whether it has found it.
type whyLate struct {
	*Reader
	Why

	account  settings.Account
	name     string    // of the account
	business time.Time // now, by the clock of ticks and business days
	at       time.Time // now, by the database
	leads    bool
	stops    []task.Stop
	tasks    []producer.Task // the enabled tasks that pull the account's hours
}

func (w *whyLate) found(kind WhyKind, command, format string, args ...any) (bool, error) {
	w.Kind, w.Command, w.Line = kind, command, sentence(fmt.Sprintf(format, args...))
	return true, nil
}

// checkAccount finds what excludes the account from pulls.
func (w *whyLate) checkAccount(context.Context) (bool, error) {
	w.Late = true
	show := "adsync accounts show " + w.name
	switch a := &w.account; {
	case !a.Bound:
		return w.found(WhyUnbound, show, "the account is not bound, so it is not pulled")
	case a.Parked != "":
		return w.found(WhyParked, show, "the account is parked: %s", a.Parked)
	case a.Tier == settings.TierInvalid:
		return w.found(WhyInvalid, show, "the account's tier is invalid, and such accounts are not pulled")
	}
	return false, nil
}

// checkAge reads the tables as of one moment, and finds whether the figures are late.
func (w *whyLate) checkAge(ctx context.Context) (bool, error) {
	zone, err := schedule.Zone(w.account.Timezone)
	if err != nil {
		zone = time.UTC // As in facts.todayIn.
	}
	today := day.Of(w.business, zone)
	var pulled []overview.Pulled
	err = w.Store.Glance(ctx, func(g *overview.Glance) (err error) {
		if w.at, err = g.Now(); err != nil {
			return err
		}
		if _, w.leads, err = g.Leader(); err != nil {
			return err
		}
		if w.stops, err = g.Stops(groupRowsMax); err != nil {
			return err
		}
		pulled, err = g.Pulled([]int64{w.account.ID}, []day.Day{today})
		return err
	})
	if err != nil {
		return false, err
	}
	for _, p := range pulled {
		if p.Report == "report_hourly" {
			w.PulledAt = p.PulledAt.Time
		}
	}
	w.LateAfter = w.Real(2 * cmp.Or(hoursPeriod(w.Tasks(), w.account.Media, w.account.Tier, w.business), periodDefault))
	age := w.at.Sub(w.PulledAt)
	if began := w.Real(w.business.Sub(today.Start(zone))); w.PulledAt.IsZero() && began <= w.LateAfter {
		w.Late = false
		return w.found(WhyFresh, "", "the account's day began %s ago, and its first figures are not late",
			began.Round(time.Second))
	}
	if !w.PulledAt.IsZero() && age <= w.LateAfter {
		w.Late = false
		return w.found(WhyFresh, "", "today's figures are not late: they were pulled %s ago", max(age, 0).Round(time.Second))
	}
	return false, nil
}

// checkTasks finds whether no enabled task pulls the account's hours.
func (w *whyLate) checkTasks(context.Context) (bool, error) {
	var off *producer.Task
	all := w.Tasks()
	for i := range all {
		switch t := &all[i]; {
		case !pullsHours(t, w.account.Media, w.account.Tier):
		case t.Enabled:
			w.tasks = append(w.tasks, *t)
		default:
			off = t
		}
	}
	switch {
	case len(w.tasks) > 0:
		return false, nil
	case off != nil:
		w.Task = off.Name
		return w.found(WhyDisabled, "adsync tasks enable "+quote(off.Name),
			"the task %s, which pulls the hours of such accounts, is disabled", off.Name)
	case w.account.Tier != settings.TierActive:
		w.Late = false
	}
	return w.found(WhyNoTask, "adsync tasks list", "no usable task of cron_task pulls the hours of %s accounts of %s",
		w.account.Tier, w.account.Media)
}

// checkStops finds what stops all work, or the account's.
func (w *whyLate) checkStops(context.Context) (bool, error) {
	if !w.leads {
		return w.found(WhyNoLeader, "adsync overview", "no producer leads, so nothing is planned")
	}
	stops := task.NewStops(w.stops)
	for i := range w.tasks {
		stop := stops.Paused(task.Subject{TaskID: w.tasks[i].ID, AccountID: w.account.ID, Media: w.account.Media}, w.at)
		if stop == nil {
			return false, nil // Another task pulls the account.
		}
		w.Until = stop.Until
		w.Line = fmt.Sprintf("the %s %s is %s", stop.Kind, stop.TargetName, stop.Text())
		w.Command = fmt.Sprintf("adsync resume %d", stop.ID)
	}
	return w.found(WhyPaused, w.Command, "%s", w.Line)
}

// checkSubtasks finds what the account's newest open subtask waits for, or why its last one failed for good.
func (w *whyLate) checkSubtasks(ctx context.Context) (bool, error) {
	ids := make([]int64, len(w.tasks))
	for i := range w.tasks {
		ids[i] = w.tasks[i].ID
	}
	runs, err := w.Store.OpenRuns(ctx, ids, whyRuns)
	if err != nil {
		return false, err
	}
	slices.Reverse(runs) // The newest first.
	run, key, err := w.newestOpen(ctx, runs)
	if err != nil {
		return false, err
	}
	var log ledger.SubtaskLog
	if run != nil {
		if log, err = w.Store.SubtaskLog(ctx, key); err != nil {
			return false, err
		}
		w.Task, w.RunID = run.TaskName, run.ID
		if log.State == task.Retrying || log.State == task.Deferred {
			return w.waitsUntil(ctx, key, log.State)
		}
	}
	if found, err := w.checkDead(ctx, ids); found || err != nil {
		return found, err
	}
	switch {
	case run != nil:
		return w.awaitsTurn(ctx, runs, run, log)
	case len(runs) > 0 && runs[0].State == task.RunFanningOut:
		w.Task, w.RunID = runs[0].TaskName, runs[0].ID
		return w.found(WhyFanOut, fmt.Sprintf("adsync runs show %d", w.RunID),
			"run %d of %s is being fanned out, and has no subtask of the account yet", w.RunID, w.Task)
	}
	return false, nil
}

// newestOpen returns the newest run that has an open subtask of the account, and its key; nil if none has.
func (w *whyLate) newestOpen(ctx context.Context, runs []ledger.Run) (*ledger.Run, task.Key, error) {
	for len(runs) > 0 {
		n := 1
		for n < len(runs) && task.LogDay(runs[n].ID) == task.LogDay(runs[0].ID) {
			n++
		}
		ids := make([]int64, n)
		for i := range ids {
			ids[i] = runs[i].ID
		}
		open, err := w.Store.OpenSubtasksOfAccount(ctx, ids, w.account.ID)
		if err != nil {
			return nil, task.Key{}, err
		}
		if len(open) > 0 {
			key := open[len(open)-1].Key // They are ordered by key.
			return &runs[slices.Index(ids, key.RunID)], key, nil
		}
		runs = runs[n:]
	}
	return nil, task.Key{}, nil
}

func (w *whyLate) waitsUntil(ctx context.Context, key task.Key, state task.State) (bool, error) {
	reason, due, err := w.Store.WaitOf(ctx, key)
	if err != nil {
		return false, err
	}
	w.Until = due
	show := fmt.Sprintf("adsync subtasks show %d %d %s", key.RunID, key.AccountID, quote(key.Part))
	if state == task.Retrying {
		return w.found(WhyRetrying, show, "its subtask of %s failed and is tried again at %s: %s",
			w.Task, moment(due, w.at), reason)
	}
	return w.found(WhyDeferred, show, "its subtask of %s is held up until %s: %s", w.Task, moment(due, w.at), reason)
}

// checkDead finds a subtask of the account and these tasks that failed for good since its last pull.
func (w *whyLate) checkDead(ctx context.Context, taskIDs []int64) (bool, error) {
	filter := task.DeadFilter{AccountID: w.account.ID, Since: w.PulledAt}
	all, _, err := w.Store.ListDead(ctx, filter, dead.DeadPlace{}, whyDead)
	if err != nil {
		return false, err
	}
	for i := range all {
		if d := &all[i]; slices.Contains(taskIDs, d.TaskID) && d.RedriveRun == 0 && w.at.Sub(d.DeadAt) < deadSince {
			w.Task, w.RunID = cmp.Or(d.TaskName, w.Task), d.RunID
			return w.found(WhyDead, "adsync dead redrive --account "+w.name, "its subtask of %s failed for good at %s: %s",
				w.Task, moment(d.DeadAt, w.at), d.ErrorText)
		}
	}
	return false, nil
}

// deadSince is the age up to which a subtask's death counts as the reason.
const deadSince = 24 * time.Hour

// awaitsTurn finds what a subtask that was sent waits for: the platform, a call limit, or its lane.
func (w *whyLate) awaitsTurn(
	ctx context.Context, runs []ledger.Run, run *ledger.Run, log ledger.SubtaskLog,
) (bool, error) {
	if found, err := w.checkLimits(ctx); found || err != nil {
		return found, err
	}
	open := int64(0)
	for i := range runs {
		if r := &runs[i]; r.Total != nil && r.Settings.Lane == run.Settings.Lane {
			open += *r.Total - r.Ended()
		}
	}
	return w.found(WhyLane, "adsync consumers",
		"its subtask of %s has waited since %s for its turn in the lane %s, which has %s of these tasks",
		w.Task, moment(log.CreatedAt, w.at), run.Settings.Lane, plural.Count(open, "open subtask", "open subtasks"))
}

// checkLimits finds whether the platform takes no calls of the account, or a call limit is used up.
func (w *whyLate) checkLimits(ctx context.Context) (bool, error) {
	if w.Limits == nil {
		return false, nil
	}
	show := "adsync limits --media " + w.account.Media
	concerns := func(scope, subject string) bool {
		return scope != string(grant.ScopeAccount) || subject == w.account.ExternalID
	}
	states, pauses, err := w.Limits.State(ctx, w.account.Media)
	if err != nil {
		return w.found(WhyLimit, show, "its subtask of %s waits, and the call limits cannot be read: %v", w.Task, err)
	}
	for _, p := range pauses {
		if !p.Until.IsZero() && concerns(string(p.Scope), p.Subject) {
			w.Until = p.Until
			return w.found(WhyRefused, show, "the platform takes no calls of %s until %s, and its subtask of %s waits",
				cmp.Or(p.Endpoint, "any endpoint"), moment(p.Until, w.at), w.Task)
		}
	}
	for i := range states {
		if l := limitOf(&states[i]); Scarce(&l) && l.Waiting > 0 && concerns(l.Scope, l.Subject) {
			return w.found(WhyLimit, show, "the limit of %d %s per %s of %s is used up, and its subtask of %s waits",
				l.Allowed, l.Unit, l.Period, l.Endpoint, w.Task)
		}
	}
	return false, nil
}

// awaitsRun sets the reason of an account without an open subtask: the next run of its tasks.
func (w *whyLate) awaitsRun() {
	w.Task, w.RunID = w.tasks[0].Name, 0
	for i := range w.tasks {
		s, err := schedule.Parse(w.tasks[i].Cron, w.tasks[i].Timezone, w.tasks[i].Name)
		if err != nil {
			continue
		}
		if next := s.NextN(w.business, 1); len(next) > 0 && (w.Until.IsZero() || next[0].Before(w.Until)) {
			w.Until, w.Task = next[0], w.tasks[i].Name
		}
	}
	at := "when the tasks before it have ended"
	if !w.Until.IsZero() {
		at = "at " + moment(w.Until, w.business)
	}
	_, _ = w.found(WhyNextRun, "adsync subtasks list --account "+w.name,
		"it has no open subtask, and waits for the next run of %s, %s", w.Task, at)
}
