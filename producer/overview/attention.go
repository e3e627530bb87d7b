package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/store"
	"adsync/base/task"
)

// From when on things are worth a look.
const (
	// failedSince is how long ago a run may have failed.
	failedSince = time.Hour
	// endedMost is how many runs that failed are looked at.
	endedMost = 200
)

// attend lists what somebody should look at.
func (l *look) attend(ctx context.Context) error {
	l.attendEngine()
	l.attendTasks()
	l.attendStops()
	for state, into := range map[task.State]*[]store.Waiting{task.Retrying: &l.waiting, task.Deferred: &l.held} {
		var err error
		if *into, err = l.glance.Waiting(state, groupLooked); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{
		l.attendLogins, l.attendRests, l.attendParked, l.attendSummaries, l.attendGames, l.attendImpossible,
		l.attendDead, l.attendDoubtful, l.attendDifferences, l.attendFailed, l.attendUnusable, l.attendFields,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	l.attendLate()
	l.attendSlow(ctx)
	l.attendUnassigned()
	l.attendRetries()
	l.attendPauses()
	return l.fill(ctx)
}

func (l *look) add(a Attention) { l.o.Attention = append(l.o.Attention, a) }

func (l *look) attendEngine() {
	if !l.leads {
		cause := "No producer has ever led."
		if l.holder != "" {
			cause = "The lead of " + l.holder + " has run out, and nobody has taken it."
		}
		l.add(Attention{Kind: "leader", Severity: Bad, Title: "Nothing is planned: no producer leads", Cause: cause,
			Remedy: "Start a producer, or look at the log of those that run.", Command: "adsync serve --role=producer"})
	}
}

// attendTasks names the rows of cron_task that cannot be used.
func (l *look) attendTasks() {
	tasks := l.Tasks()
	for i := range tasks {
		t := &tasks[i]
		if len(t.Errors) == 0 {
			continue
		}
		wrong := make([]string, len(t.Errors))
		for i, e := range t.Errors {
			wrong[i] = e.Error()
		}
		a := Attention{Kind: "task", Severity: Bad, Media: t.Media, Title: "The task " + t.Name + " cannot be used, and never could", Cause: strings.Join(wrong, "; "),
			Remedy: "Put its row of cron_task right.", Command: "adsync tasks show " + quote(t.Name)}
		if t.Usable {
			a.Severity, a.Title = Warn, "The task "+t.Name+" runs on with its last good settings"
		}
		l.add(a)
	}
}

func (l *look) attendStops() {
	for i := range l.stops {
		s := &l.stops[i]
		if !s.InForce(l.o.At) {
			continue
		}
		what := string(s.Kind) + " " + s.TargetName
		a := Attention{Kind: "pause", Severity: Note, Title: "Paused: " + what, Cause: sentence(cmp.Or(s.Reason, "no reason was given") + ", by " + cmp.Or(s.By, "somebody")), Since: s.OrderedAt,
			Remedy: "It goes on when it is resumed.", Command: fmt.Sprintf("adsync resume %d", s.ID)}
		if !s.Until.IsZero() {
			a.Remedy = "It goes on by itself at " + moment(s.Until, l.o.At) + ", or when it is resumed."
		}
		if s.Kind == task.StopMedia {
			a.Media = s.Target
		}
		if s.Verb == task.Cancel {
			a.Kind, a.Title, a.Remedy, a.Command = "cancel", "Being cancelled: "+what, "The leader is carrying it out.", "adsync cancels"
		}
		l.add(a)
	}
}

// attendDifferences gathers the figures of accounts that are not the sums of their levels by platform and level.
func (l *look) attendDifferences(ctx context.Context) error {
	rows, err := l.glance.Confirmed(groupLooked)
	if err != nil || len(rows) == 0 {
		return err
	}
	type key struct{ media, level string }
	groups := map[key][]store.Difference{}
	var ids []int64
	for i := range rows {
		k := key{rows[i].Media, rows[i].Level}
		groups[k] = append(groups[k], rows[i])
		ids = append(ids, rows[i].AccountID)
	}
	accounts, err := l.Store.AccountsByID(ctx, unique(ids))
	if err != nil {
		return err
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b key) int { return cmp.Or(cmp.Compare(a.media, b.media), cmp.Compare(a.level, b.level)) })
	for _, k := range keys {
		a := Attention{Kind: "difference", Severity: Warn, Media: k.media, Title: "Accounts' figures are not the sums of their " + k.level + "s", MoneyOf: "apart in cost", AtLeast: len(rows) == groupLooked,
			Remedy:  "Both levels were pulled again, and it stayed so. Compare with the platform's console, and pull the days again.",
			Command: "adsync reconcile --media " + k.media}
		apart, metrics, days := map[string]int64{}, map[string]bool{}, map[day.Day]bool{}
		for i := range groups[k] {
			d := &groups[k][i]
			a.ids = append(a.ids, d.AccountID)
			metrics[d.Metric], days[d.Day] = true, true
			if d.Metric == "cost" {
				apart[accounts[d.AccountID].Currency] += max(d.AccountValue-d.SumValue, d.SumValue-d.AccountValue)
			}
			if since := d.FirstSeenAt.Time; a.Since.IsZero() || since.Before(a.Since) {
				a.Since = since
			}
		}
		a.ids = unique(a.ids)
		a.Accounts, a.Money = len(a.ids), moneyOf(apart)
		a.Cause = fmt.Sprintf("What differs: %s, of %s.", few(slices.Sorted(maps.Keys(metrics))), span(slices.Sorted(maps.Keys(days))))
		l.add(a)
	}
	return nil
}

func unique(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
