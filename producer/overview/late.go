package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/overview"
	"adsync/base/task"
	"adsync/client"
)

// lateItems lists the figures that are late.
type lateItems struct{ *facts }

func (l *lateItems) addLate(context.Context) error {
	for i := range l.o.Media {
		m := &l.o.Media[i]
		ids := l.late[m.Name]
		if len(ids) == 0 {
			continue
		}
		cause, command := l.whyLate(m)
		a := item{Attention: client.Attention{Kind: "late", Severity: Warn, Media: m.Name, Title: "Today's figures are late",
			Accounts: int64(len(ids)), MoneyOf: "a day of these accounts", Cause: cause,
			Remedy: "The command shows what they wait for.", Command: command}, ids: ids}
		if m.Fresh == 0 {
			a.Severity = Bad
		}
		l.add(a)
	}
	return nil
}

// whyLate returns the likeliest reason why figures are late, and the command that shows more. It checks what stops all
// work before what slows some of it.
func (l *lateItems) whyLate(m *client.MediaOverview) (cause, command string) {
	if !l.leads {
		return "No producer leads, so nothing is planned.", ""
	}
	for i := range l.stops {
		if s := &l.stops[i]; s.InForce(l.o.At) && s.Kind == task.StopMedia && s.Target == m.Name {
			return "The platform is paused: " + sentence(cmp.Or(s.Reason, "no reason was given")), "adsync pauses"
		}
	}
	if reason, n := mostFrequent(l.waiting, m.Name); n > 0 {
		return fmt.Sprintf("%s to be tried again: %s", plural.Count(n, "subtask waits", "subtasks wait"), sentence(reason)),
			"adsync subtasks due --state retrying --media " + m.Name
	}
	for _, p := range l.o.Pauses {
		if p.Media == m.Name {
			return fmt.Sprintf("The platform takes no calls of %s until %s.", cmp.Or(p.Endpoint, "any endpoint"),
				moment(p.Until, l.o.At)), "adsync limits --media " + m.Name
		}
	}
	if reason, n := mostFrequent(l.held, m.Name); n > 0 {
		return fmt.Sprintf("%s held up: %s", plural.Count(n, "subtask is", "subtasks are"), sentence(reason)),
			"adsync subtasks due --state deferred --media " + m.Name
	}
	for i := range l.o.Limits {
		if limit := &l.o.Limits[i]; limit.Media == m.Name && Scarce(limit) && limit.Waiting > 0 {
			return fmt.Sprintf("%s for the limit of %s.", plural.Count(limit.Waiting, "call waits", "calls wait"),
				limit.Endpoint), "adsync limits --media " + m.Name
		}
	}
	if l.periods[m.Name] == 0 {
		return "No task in cron_task pulls the hours of accounts.", "adsync tasks list"
	}
	open, first := 0, time.Time{}
	for i := range l.o.Open {
		if r := &l.o.Open[i]; r.Media == m.Name {
			open++
			if first.IsZero() || r.CreatedAt.Before(first) {
				first = r.CreatedAt
			}
		}
	}
	if open > 0 {
		return fmt.Sprintf("%s under way, the oldest since %s: its consumers are behind, or none runs.",
			plural.Count(open, "run is", "runs are"), moment(first, l.o.At)), "adsync consumers"
	}
	return fmt.Sprintf("No pull of them has succeeded within %s.", l.lateAfter(m.Name).Round(time.Second)),
		"adsync coverage " + m.Name + "/" + exampleID
}

// mostFrequent returns a reason of the media's most frequent error print, and the number of subtasks with that print.
func mostFrequent(waiting []overview.Waiting, media string) (reason string, n int) {
	counts := map[string]int{}
	example := map[string]string{}
	for _, w := range waiting {
		if w.Media == media {
			k := sqldb.ErrorPrint(w.Reason)
			counts[k]++
			example[k] = w.Reason
		}
	}
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if counts[k] > n {
			reason, n = example[k], counts[k]
		}
	}
	return reason, n
}
