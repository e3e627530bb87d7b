package overview

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"adsync/base/task"
	"adsync/client"
)

// engineItems lists what keeps work from being planned or done.
type engineItems struct{ *facts }

func (l *engineItems) addEngine(context.Context) error {
	if !l.leads {
		cause := "No producer has ever led."
		if l.holder != "" {
			cause = "The lead of " + l.holder + " has expired, and no producer has taken it."
		}
		l.add(item{Attention: client.Attention{Kind: "leader", Severity: Bad, Title: "Nothing is planned: no producer leads",
			Cause:  cause,
			Remedy: "Start a producer, or read the logs of those that run.", Command: "adsync serve --role=producer"}})
	}
	return nil
}

// addTasks lists the rows of cron_task that cannot be used.
func (l *engineItems) addTasks(context.Context) error {
	tasks := l.tasks
	for i := range tasks {
		t := &tasks[i]
		if len(t.Errors) == 0 {
			continue
		}
		wrong := make([]string, len(t.Errors))
		for i, e := range t.Errors {
			wrong[i] = e.Error()
		}
		a := item{Attention: client.Attention{Kind: "task", Severity: Bad, Media: t.Media,
			Title: "The task " + t.Name + " cannot be used, and has no last good settings", Cause: strings.Join(wrong, "; "),
			Remedy: "Correct its row of cron_task.", Command: "adsync tasks show " + quote(t.Name)}}
		if t.Usable {
			a.Severity, a.Title = Warn, "The task "+t.Name+" runs with its last good settings"
		}
		l.add(a)
	}
	return nil
}

func (l *engineItems) addStops(context.Context) error {
	for i := range l.stops {
		s := &l.stops[i]
		if !s.InForce(l.o.At) {
			continue
		}
		what := string(s.Kind) + " " + s.TargetName
		a := item{Attention: client.Attention{Kind: "pause", Severity: Note, Title: "Paused: " + what,
			Cause: sentence(cmp.Or(s.Reason, "no reason was given") + ", by " + cmp.Or(s.By, "somebody")), Since: s.OrderedAt,
			Remedy: "Its work continues when it is resumed.", Command: fmt.Sprintf("adsync resume %d", s.ID)}}
		if !s.Until.IsZero() {
			a.Remedy = "Its work continues at " + moment(s.Until, l.o.At) + ", or when it is resumed."
		}
		if s.Kind == task.StopMedia {
			a.Media = s.Target
		}
		if s.Verb == task.Cancel {
			a.Kind, a.Title, a.Remedy, a.Command = "cancel", "Being cancelled: "+what, "The leader is carrying it out.",
				"adsync cancels"
		}
		l.add(a)
	}
	return nil
}
