package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"adsync/base/store/ledger"
	"adsync/base/store/publishing"
	"adsync/base/task"
	"adsync/base/telemetry"
)

const (
	// momentsMax is how many missed moments of a cron are made up for: the newest ones.
	momentsMax = 400
	// orderMax is how many files one pass orders.
	orderMax = 500
	// openMax is how many open files one pass looks at.
	openMax = 5000
	// revisitAgain is when a second look that was not taken is ordered again.
	revisitAgain = time.Hour
	// sizesFrom is how far back the sizes of files decide the lane of the next ones.
	sizesFrom = 40 * 24 * time.Hour
	// lostAfter is how long a file may be open without a change although its subtask has ended.
	lostAfter = 15 * time.Minute
)

// plan adds the files that are due, ends those whose subtasks have ended without them, and orders runs of the others.
// It returns how many files it added.
func (f files) plan(ctx context.Context) (added int, err error) {
	rows, err := f.Store.AllSubscriptions(ctx)
	if err != nil {
		return 0, err
	}
	progress, err := f.Store.FileProgress(ctx)
	if err != nil {
		return 0, err
	}
	now := f.Clock.Now()
	subscriptions := map[string]*Subscription{} // nil for one that cannot be used
	applications := map[string]string{}         // also of those that cannot be used: the ends of their files are followed
	var due []publishing.Publication
	for _, row := range rows {
		s, err := Check(row)
		subscriptions[row.Name] = s
		if task.IsApplication(row.Application) {
			applications[row.Name] = row.Application
		}
		if err != nil {
			f.causes.Report(slog.LevelError, "subscription/"+row.Name, "a subscription cannot be used; it makes no files",
				telemetry.OneCause(err), "subscription", row.Name)
			continue
		}
		f.causes.Clear("subscription/" + row.Name)
		if row.Enabled {
			due = append(due, s.due(progress[row.Name], now)...)
		}
	}
	if added, err = f.Store.PlanFiles(ctx, due); err != nil {
		return added, err
	}
	return added, errors.Join(f.reconcile(ctx, now), f.release(ctx, subscriptions, now),
		f.order(ctx, subscriptions, applications, now))
}

// release makes the waiting files planned ones whose figures are whole, or that are to go out without. A new one gets
// what it waits for first.
func (f files) release(ctx context.Context, subscriptions map[string]*Subscription, now time.Time) error {
	waiting, err := f.Store.WaitingFiles(ctx, openMax)
	if err != nil {
		return err
	}
	n := &needer{files: f}
	lacking := map[string]string{}
	for i := range waiting {
		p := &waiting[i]
		s, there := subscriptions[p.Subscription]
		switch {
		case !there:
			_, err = f.Store.EndFile(ctx, p.ID, publishing.Cancelled, "its subscription was deleted", now)
		case s == nil: // It may be mended.
		case !s.waits(), s.files != nil: // The delivery looks for the files of a source.
			err = f.Store.ReleaseFile(ctx, p.ID, now)
		default:
			err = n.releaseWhole(ctx, s, p, lacking, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// releaseWhole releases a file if what it waits for is whole, or if it may go out without. lacking has what this pass
// has found out, by need.
func (n *needer) releaseWhole(ctx context.Context, s *Subscription, p *publishing.Publication,
	lacking map[string]string, now time.Time) error {
	if p.Need == "" {
		row, err := n.of(ctx, s, Period{p.FromDay, p.ToDay}, now)
		if err != nil {
			return err
		}
		if err := n.Store.KeepNeed(ctx, p.ID, &row); err != nil {
			return err
		}
		p.Need = row.SHA256
	}
	if s.allowsIncomplete(p, now) {
		return n.Store.ReleaseFile(ctx, p.ID, now)
	}
	lack, known := lacking[p.Need]
	if !known {
		needs, err := n.needOf(ctx, p)
		if err != nil {
			return err
		}
		missing, err := needs.missing(ctx, n.Database.DB, true)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			lack = "waits for figures, such as " + missing[0].String()
		}
		lacking[p.Need] = lack
	}
	if lack == "" {
		return n.Store.ReleaseFile(ctx, p.ID, now)
	}
	lack = s.held(p, now) + lack
	if lack == p.ErrorText {
		return nil
	}
	return n.Store.NoteWaiting(ctx, p.ID, lack)
}

// heldReason begins the text of a file that waits on at its latest moment.
const heldReason = "it was to go out by now, and at_latest is " + latestHold + ": "

// held returns what begins the text of a file that waits at a moment: nothing before its latest one.
func (s *Subscription) held(p *publishing.Publication, now time.Time) string {
	if p.LatestAt.IsZero() || now.Before(p.LatestAt) || s.completeness.AtLatest != latestHold {
		return ""
	}
	return heldReason
}

// needOf returns what a file waits for.
func (f files) needOf(ctx context.Context, p *publishing.Publication) (n need, err error) {
	text, err := f.Store.FileNeed(ctx, p.Need)
	if err == nil {
		err = json.Unmarshal([]byte(text), &n)
	}
	if err != nil {
		err = fmt.Errorf("read what a file waits for: %w", err)
	}
	return n, err
}

// due returns the files of the moments since the last one that was planned.
func (s *Subscription) due(last publishing.Progress, now time.Time) (all []publishing.Publication) {
	from := s.Since
	if last.DueAt.After(from) {
		from = last.DueAt
	}
	var moments []time.Time
	for at := s.schedule.Next(from); !at.IsZero() && !at.After(now); at = s.schedule.Next(at) {
		if moments = append(moments, at); len(moments) > 2*momentsMax {
			moments = append(moments[:0], moments[momentsMax:]...)
		}
	}
	moments = moments[max(0, len(moments)-momentsMax):]
	// Several moments may give one period. The store adds its file once.
	var before Period
	sequence := last.Sequence
	if !last.DueAt.IsZero() {
		before = s.rule.at(last.DueAt.In(s.zone))
	}
	for i, at := range moments {
		of := s.rule.at(at.In(s.zone))
		if of != before {
			sequence++
		} else if i > 0 {
			continue
		}
		before = of
		p := s.publication(of, max(sequence, 1), at, now)
		p.DueAt = at
		all = append(all, p)
	}
	return all
}

// publication returns the row of a new file. moment is that of the cron, or of an order: its latest moment and the time
// of its corrections count from it.
func (s *Subscription) publication(of Period, sequence int64, moment, now time.Time) publishing.Publication {
	p := publishing.Publication{
		ID: task.NewRunID(now), Subscription: s.Name, FromDay: of.From, ToDay: of.To, Revision: 1, Sequence: sequence,
		Destination: s.Destination, Customer: s.Customer, State: publishing.Planned, PlannedAt: now, UpdatedAt: now,
	}
	p.Name = s.path.name(s, &p)
	p.ReadyAt = now
	if s.waits() {
		p.State, p.ReadyAt = publishing.Waiting, time.Time{}
		if s.completeness.LatestMinutes > 0 {
			p.LatestAt = moment.Add(time.Duration(s.completeness.LatestMinutes) * time.Minute)
		}
	}
	if s.corrections.EveryMinutes > 0 {
		p.CorrectUntil = moment.AddDate(0, 0, s.corrections.Days)
	}
	return p
}

// runKind is what the files of a run have in common.
type runKind struct{ lane, application string }

// order orders a run for the planned files of each lane and application, and for published files that are due to be
// looked at again. No application follows the second looks: they deliver nothing.
func (f files) order(ctx context.Context, subscriptions map[string]*Subscription, applications map[string]string,
	now time.Time) error {
	taskID, err := f.taskID(ctx)
	if err != nil {
		return err
	}
	sizes, err := f.Store.FileSizes(ctx, now.Add(-sizesFrom))
	if err != nil {
		return err
	}
	lane := func(p *publishing.Publication) string {
		s := subscriptions[p.Subscription]
		switch {
		case s != nil && s.Lane != "":
			return s.Lane
		case p.Lane != "": // It has outgrown the lane for small files.
			return p.Lane
		case sizes[p.Subscription] > f.LargeBytes:
			return LargeLane
		}
		return Lane
	}
	_, err = f.Store.OrderFiles(ctx, orderMax, func(planned []publishing.Publication) ([]ledger.RunOrder, error) {
		return runsOf(planned, taskID, func(p *publishing.Publication) runKind {
			return runKind{lane(p), applications[p.Subscription]}
		}, now), nil
	})
	if err != nil {
		return err
	}
	return f.Store.OrderRevisits(ctx, orderMax, now, now.Add(revisitAgain),
		func(published []publishing.Publication) ([]ledger.RunOrder, error) {
			return runsOf(published, taskID, func(p *publishing.Publication) runKind {
				return runKind{lane: lane(p)}
			}, now), nil
		})
}

// runsOf returns an order for the files of each kind, and notes its run in them.
func runsOf(all []publishing.Publication, taskID int64, kindOf func(*publishing.Publication) runKind, now time.Time,
) (orders []ledger.RunOrder) {
	of := map[runKind]int{}
	for i := range all {
		kind := kindOf(&all[i])
		at, has := of[kind]
		if !has {
			at = len(orders)
			of[kind] = at
			orders = append(orders, ledger.RunOrder{RunID: task.NewRunID(now), TaskID: taskID, OrderedAt: now,
				Request: task.Order{Scope: task.ScopeAll, Lane: kind.lane, Application: kind.application, By: FilesName}})
		}
		orders[at].Request.Parts = append(orders[at].Request.Parts, all[i].Part())
		all[i].RunID, all[i].Lane = orders[at].RunID, kind.lane
	}
	return orders
}

// taskID returns the id of the task that makes files.
func (f files) taskID(ctx context.Context) (int64, error) {
	rows, err := f.Store.TaskRows(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		if r.Handler == FilesName {
			return r.ID, nil
		}
	}
	return 0, fmt.Errorf("no task has the handler %s", FilesName)
}

// reconcile ends the files whose subtasks have ended without them.
func (f files) reconcile(ctx context.Context, now time.Time) error {
	open, err := f.Store.OrderedFiles(ctx, openMax)
	if err != nil {
		return err
	}
	keys := make([]task.Key, len(open))
	for i := range open {
		keys[i] = task.Key{RunID: open[i].RunID, Part: open[i].Part()}
	}
	states, err := f.Store.SubtaskStates(ctx, keys)
	if err != nil {
		return err
	}
	for i := range open {
		p := &open[i]
		status, there := states[keys[i]]
		if !there || status.State.Open() || now.Sub(p.UpdatedAt) < lostAfter {
			continue // Its run has not made it yet, or a try is under way that another order began.
		}
		switch status.State {
		case task.Superseded, task.Succeeded:
			// A try had taken the file over from this one, and has died.
			err = f.Store.ForgetFileRun(ctx, p.ID, p.RunID)
		case task.Cancelled:
			_, err = f.Store.EndFile(ctx, p.ID, publishing.Cancelled, "its subtask was cancelled", now)
		default:
			reason := p.ErrorText
			if reason == "" {
				reason = "its subtask has " + string(status.State)
			}
			_, err = f.Store.EndFile(ctx, p.ID, publishing.Failed, reason, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
