package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"adsync/base/plural"
	"adsync/base/roster"
	"adsync/base/store"
	"adsync/base/task"
)

func (l *look) attendLate() {
	for i := range l.o.Media {
		m := &l.o.Media[i]
		ids := l.late[m.Name]
		if len(ids) == 0 {
			continue
		}
		cause, command := l.whyLate(m)
		a := Attention{Kind: "late", Severity: Warn, Media: m.Name, Title: "Today's figures are late", Accounts: len(ids), ids: ids, MoneyOf: "a day of these accounts", Cause: cause,
			Remedy: "The command shows what they wait for.", Command: command}
		if m.Fresh == 0 {
			a.Severity = Bad
		}
		l.add(a)
	}
}

// whyLate is the likeliest reason for figures being late, from what stops all to what slows some, with the command
// that shows more of it.
func (l *look) whyLate(m *Media) (cause, command string) {
	if !l.leads {
		return "No producer leads, so nothing is planned.", ""
	}
	for i := range l.stops {
		if s := &l.stops[i]; s.InForce(l.o.At) && s.Kind == task.StopMedia && s.Target == m.Name {
			return "The platform is paused: " + sentence(cmp.Or(s.Reason, "no reason was given")), "adsync pauses"
		}
	}
	if reason, n := mostFrequent(l.waiting, m.Name); n > 0 {
		return fmt.Sprintf("%s to be tried again: %s", plural.Count(n, "subtask waits", "subtasks wait"), sentence(reason)), "adsync subtasks due --state retrying --media " + m.Name
	}
	for _, p := range l.o.Pauses {
		if p.Media == m.Name {
			return fmt.Sprintf("The platform takes no calls of %s until %s.", cmp.Or(p.Endpoint, "any endpoint"), moment(p.Until, l.o.At)), "adsync limits --media " + m.Name
		}
	}
	if reason, n := mostFrequent(l.held, m.Name); n > 0 {
		return fmt.Sprintf("%s held up: %s", plural.Count(n, "subtask is", "subtasks are"), sentence(reason)), "adsync subtasks due --state deferred --media " + m.Name
	}
	for i := range l.o.Limits {
		if limit := &l.o.Limits[i]; limit.Media == m.Name && limit.Scarce() && limit.Waiting > 0 {
			return fmt.Sprintf("%s of %s for their limit.", plural.Count(limit.Waiting, "call waits", "calls wait"), limit.Endpoint), "adsync limits --media " + m.Name
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
		return fmt.Sprintf("%s under way, the oldest since %s: its consumers are behind, or none runs.", plural.Count(open, "run is", "runs are"), moment(first, l.o.At)), "adsync consumers"
	}
	return fmt.Sprintf("No pull of them has ended well within %s.", l.lateAfter(m.Name).Round(time.Second)), "adsync coverage " + m.Name + "/" + exampleID
}

func mostFrequent(waiting []store.Waiting, media string) (reason string, n int) {
	counts := map[string]int{}
	example := map[string]string{}
	for _, w := range waiting {
		if w.Media == media {
			k := store.ErrorPrint(w.Reason)
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

// attendSlow names the endpoints that answer slowly, and for whom.
func (l *look) attendSlow(ctx context.Context) {
	if l.Consumers == nil {
		return
	}
	living, err := l.Consumers.List(ctx)
	if err != nil {
		l.trouble("consumers", err)
		return
	}
	type key struct{ media, endpoint string }
	sums, took := map[key]roster.Slow{}, map[key]float64{}
	for _, p := range living {
		for _, s := range p.Slow {
			k := key{s.Media, s.Endpoint}
			sum := sums[k]
			sum.Calls += s.Calls
			sum.Slow += s.Slow
			sum.Accounts = append(sum.Accounts, s.Accounts...)
			sums[k] = sum
			took[k] += s.Seconds * float64(s.Slow)
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b key) int { return cmp.Or(cmp.Compare(a.media, b.media), cmp.Compare(a.endpoint, b.endpoint)) })
	for _, k := range keys {
		sum := sums[k]
		a := Attention{Kind: "slow", Severity: Warn, Media: k.media, Title: "Calls of " + k.endpoint + " are slow", MoneyOf: "a day of these accounts",
			Cause: fmt.Sprintf("%d of %s of the last minutes took %.1f s in the mean. Each holds a slot of its lane meanwhile; %s.",
				sum.Slow, plural.Count(sum.Calls, "call", "calls"), took[k]/float64(max(sum.Slow, 1)), busiest(living, k.media)),
			Remedy:  "Where slots are short, raise pool_size of the lane while it lasts. If it lasts for hours, ask the platform, and pause the tasks that need it.",
			Command: "adsync consumers"}
		for _, text := range sum.Accounts {
			if id, err := strconv.ParseInt(text, 10, 64); err == nil {
				a.ids = append(a.ids, id)
			}
		}
		a.ids = unique(a.ids)
		a.Accounts = len(a.ids)
		l.add(a)
	}
}

// slotsShort is from which part of a lane's slots on they are short.
const slotsShort = 0.8

// busiest tells of the lane of a media that is shortest of slots.
func busiest(living []roster.Process, media string) string {
	running, capacity := map[string]int{}, map[string]int{}
	for _, p := range living {
		for _, pool := range p.Pools {
			if pool.Media == media {
				running[pool.Lane] += pool.Running
				capacity[pool.Lane] += pool.Capacity
			}
		}
	}
	lane, part := "", 0.0
	for _, name := range slices.Sorted(maps.Keys(capacity)) {
		if of := float64(running[name]) / float64(max(capacity[name], 1)); of > part {
			lane, part = name, of
		}
	}
	if part < slotsShort {
		return "no lane is short of slots"
	}
	return fmt.Sprintf("the lane %s has %d of %d taken", lane, min(running[lane], capacity[lane]), capacity[lane])
}

// attendRetries tells what is being tried again, by its reason, where it is more than a hiccup.
func (l *look) attendRetries() {
	type key struct{ media, print string }
	groups := map[key][]store.Waiting{}
	for _, w := range l.waiting {
		k := key{w.Media, store.ErrorPrint(w.Reason)}
		groups[k] = append(groups[k], w)
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		return cmp.Or(cmp.Compare(len(groups[b]), len(groups[a])), cmp.Compare(a.media, b.media), cmp.Compare(a.print, b.print))
	})
	for _, k := range keys {
		group := groups[k]
		a := Attention{Kind: "retry", Severity: Note, Media: k.media, Title: plural.Count(len(group), "subtask waits", "subtasks wait") + " to be tried again", Cause: sentence(group[0].Reason),
			AtLeast: len(l.waiting) == groupLooked, MoneyOf: "a day of these accounts",
			Remedy: "They are tried again automatically: " + next(group[0].Due, l.o.At) + ". If the cause stays, they end among the dead. To have them tried at once: adsync limits end-pause --media " +
				k.media + " --yes.", Command: "adsync subtasks due --state retrying --media " + k.media}
		for _, w := range group {
			if w.AccountID != 0 {
				a.ids = append(a.ids, w.AccountID)
			}
		}
		a.ids = unique(a.ids)
		a.Accounts = len(a.ids)
		l.add(a)
	}
}
