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
	"adsync/base/store/overview"
	"adsync/base/task"
	"adsync/client"
)

// summaryLate is the time for which the summaries may lack figures: system.summary runs each minute.
const summaryLate = 5 * time.Minute

// summaryTask is the handler that builds the summaries, and the name of its default task.
const summaryTask = "system.summary"

// summaryItems lists the pulled figures that the summaries lack.
type summaryItems struct {
	*facts

	glance interface {
		Unsummed(media string, since time.Time, limit int) ([]overview.Unsummed, error)
	}
}

// addSummaries lists pulled figures that the summaries have lacked for too long. If no summaries are built it lists
// them at once.
func (l *summaryItems) addSummaries(context.Context) error {
	off := l.whyNotBuilt()
	for i := range l.o.Media {
		name, late := l.o.Media[i].Name, summaryLate
		if off.Cause != "" {
			late = 0
		}
		days, err := l.glance.Unsummed(name, l.o.At.Add(-late), groupRowsMax)
		if err != nil {
			return err
		}
		if len(days) == 0 {
			continue
		}
		a := item{Attention: client.Attention{Kind: "summary", Severity: Bad, Media: name,
			Title: "The summaries lack newer figures", Since: time.UnixMicro(days[0].Since).UTC(),
			AtLeast: len(days) == groupRowsMax,
			MoneyOf: "a day of these accounts",
			Remedy:  cmp.Or(off.Remedy, "Find out why "+summaryTask+" does not succeed, then order it."),
			Command: cmp.Or(off.Command, "adsync tasks run "+summaryTask+" --all --wait")}}
		seen := map[day.Day]bool{}
		for _, d := range days {
			a.ids, seen[d.Day] = append(a.ids, d.AccountID), true
		}
		a.count()
		dates := slices.Sorted(maps.Keys(seen))
		a.Cause = fmt.Sprintf("Figures of %s were pulled and wait for %s.", span(dates), summaryTask)
		if reason := cmp.Or(off.Cause, l.whyTask(summaryTask)); reason != "" {
			a.Cause += " " + reason
		}
		l.add(a)
	}
	return nil
}

// whyNotBuilt returns cause, remedy and command if no summaries are built; an empty cause if a task builds them.
func (l *summaryItems) whyNotBuilt() client.Attention {
	for i := range l.stops {
		s := &l.stops[i]
		if s.InForce(l.o.At) && (s.Kind == task.StopTask && s.TargetName == summaryTask || s.Kind == task.StopMedia &&
			s.Target == "system") {
			return client.Attention{Cause: fmt.Sprintf("The %s %s is paused: %s", s.Kind, s.TargetName,
				sentence(cmp.Or(s.Reason, "no reason was given"))),
				Remedy: "They are built when it is resumed.", Command: fmt.Sprintf("adsync resume %d", s.ID)}
		}
	}
	tasks := l.tasks
	for i := range tasks {
		if t := &tasks[i]; t.Handler == summaryTask && t.Enabled {
			return client.Attention{}
		}
	}
	if len(tasks) == 0 {
		return client.Attention{} // The tasks are not loaded yet.
	}
	return client.Attention{Cause: "It is switched off, or its row of cron_task is gone.",
		Remedy:  "Switch it on: the waiting figures are then summed up within a minute.",
		Command: "adsync tasks enable " + summaryTask}
}

// whyTask returns why a subtask of a task's media waits to be tried again; "" if none waits.
func (l *summaryItems) whyTask(media string) string {
	media, _, _ = strings.Cut(media, ".")
	for _, w := range l.waiting {
		if w.Media == media {
			return "Its last error is: " + sentence(w.Reason)
		}
	}
	return ""
}
