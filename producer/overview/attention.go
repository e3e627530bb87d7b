package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/ratelimit"
	"adsync/base/roster"
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

// attendDead gathers the subtasks that died last by the prints of their errors.
func (l *look) attendDead(ctx context.Context) error {
	dead, err := l.glance.NewestDead(groupLooked)
	if err != nil {
		return err
	}
	isHealed, err := l.Store.Healed(ctx, dead)
	if err != nil {
		return err
	}
	looked := len(dead)
	l.attendHealed(slices.DeleteFunc(slices.Clone(dead), func(d store.DeadSubtask) bool { return !isHealed[d.Key] }), looked)
	dead = slices.DeleteFunc(dead, func(d store.DeadSubtask) bool { return isHealed[d.Key] })
	names := map[int64]string{}
	tasks := l.Tasks()
	for i := range tasks {
		names[tasks[i].ID] = tasks[i].Name
	}
	type key struct{ media, print string }
	var order []key
	groups := map[key][]store.DeadSubtask{}
	for i := range dead {
		k := key{dead[i].Media, dead[i].ErrorPrint}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], dead[i])
	}
	for _, k := range order {
		group := groups[k]
		a := Attention{Kind: "dead", Severity: Bad, Media: k.media, Title: plural.Count(len(group), "subtask", "subtasks") + " failed for good", Cause: sentence(group[0].ErrorText),
			AtLeast: looked == groupLooked, Since: group[len(group)-1].DeadAt, MoneyOf: "a day of these accounts",
			Remedy:  "Mend the cause, and have them taken up again; or drop them.",
			Command: fmt.Sprintf("adsync dead redrive --media %s --print %s", k.media, quote(k.print))}
		of := map[string]bool{}
		for i := range group {
			if group[i].AccountID != 0 {
				a.ids = append(a.ids, group[i].AccountID)
			}
			if name := names[group[i].TaskID]; name != "" {
				of[name] = true
			}
		}
		if len(of) > 0 {
			a.Title += ", of " + few(slices.Sorted(maps.Keys(of)))
		}
		a.ids = unique(a.ids)
		a.Accounts = len(a.ids)
		l.add(a)
	}
	return nil
}

// attendHealed lists dead subtasks whose days were pulled whole since they died: they need nobody, and go after their retention.
func (l *look) attendHealed(healed []store.DeadSubtask, looked int) {
	byMedia := map[string][]store.DeadSubtask{}
	for _, d := range healed {
		byMedia[d.Media] = append(byMedia[d.Media], d)
	}
	for _, media := range slices.Sorted(maps.Keys(byMedia)) {
		group := byMedia[media]
		a := Attention{Kind: "healed", Severity: Note, Media: media, Title: plural.Count(len(group), "subtask that failed for good has", "subtasks that failed for good have") + " healed", AtLeast: looked == groupLooked,
			Cause:  "All that they were to pull has been pulled whole since they failed. The newest error was: " + sentence(group[0].ErrorText),
			Remedy: "Nothing is to be done: they are dropped after retention.healed_days.", Command: "adsync dead list --rows --media " + media, Since: group[len(group)-1].DeadAt}
		for i := range group {
			a.ids = append(a.ids, group[i].AccountID)
		}
		a.ids = unique(a.ids)
		a.Accounts = len(a.ids)
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

// attendFailed gathers the runs that failed of late by their platforms.
func (l *look) attendFailed(context.Context) error {
	since := l.o.Business.Add(-failedSince).UTC().Truncate(time.Second) // As the command has it, so that it lists these.
	from := task.FirstRunIDAt(since)
	byMedia := map[string][]store.RunLook{}
	for _, state := range []task.RunState{task.RunFailed, task.RunPartial, task.RunExpired} {
		runs, err := l.glance.RunsIn(state, from, endedMost)
		if err != nil {
			return err
		}
		for i := range runs {
			byMedia[runs[i].Media] = append(byMedia[runs[i].Media], runs[i])
		}
	}
	for _, media := range slices.Sorted(maps.Keys(byMedia)) {
		runs := byMedia[media]
		slices.SortFunc(runs, func(a, b store.RunLook) int { return cmp.Compare(b.ID, a.ID) })
		var failed, expired, cancelled int64
		said := ""
		byTask := map[string]int{}
		for i := range runs {
			failed, expired, cancelled = failed+runs[i].Failed, expired+runs[i].Expired, cancelled+runs[i].Cancelled
			said = cmp.Or(said, runs[i].Error)
			byTask[runs[i].Task]++
		}
		var names []string
		for _, name := range slices.Sorted(maps.Keys(byTask)) {
			names = append(names, fmt.Sprintf("%s (%d)", name, byTask[name]))
		}
		cause := fmt.Sprintf("Of %s: %s.", few(names), undone(failed, expired, cancelled))
		if said != "" {
			cause += " The last that says more: " + sentence(said)
		}
		remedy, command := lookAtRuns(runs, failed, since)
		l.add(Attention{Kind: "run", Severity: Warn, Media: media, Title: plural.Count(len(runs), "run", "runs") + " went wrong within the hour", Cause: cause, Since: runs[len(runs)-1].EndedAt,
			AtLeast: len(runs) >= endedMost, Remedy: remedy, Command: command})
	}
	return nil
}

// lookAtRuns is how somebody sees just these runs of a platform, of which so many subtasks failed for good.
func lookAtRuns(runs []store.RunLook, failed int64, since time.Time) (remedy, command string) {
	id := strconv.FormatInt(runs[0].ID, 10)
	switch {
	case len(runs) == 1 && failed > 0:
		return "What failed for good can be taken up again: adsync runs rerun " + id + ".", "adsync dead list --run " + id
	case len(runs) == 1:
		return "See what it could not do; it can be ordered again.", "adsync runs show " + id
	}
	remedy = "See what they could not do; a run can be ordered again."
	if failed > 0 {
		remedy = "adsync dead list --run ID lists what failed for good in one of them, and adsync runs rerun ID takes it up again."
	}
	states := map[string]bool{}
	for i := range runs {
		states[string(runs[i].State)] = true
	}
	return remedy, fmt.Sprintf("adsync runs list --media %s --state %s --since %s", runs[0].Media, strings.Join(slices.Sorted(maps.Keys(states)), ","), since.Format(time.RFC3339))
}

// undone names how many subtasks ended without having been done, by how they ended.
func undone(failed, expired, cancelled int64) string {
	var parts []string
	for _, of := range []struct {
		n         int64
		one, many string
	}{
		{failed, "subtask failed", "subtasks failed"},
		{expired, "subtask expired", "subtasks expired"},
		{cancelled, "subtask was cancelled", "subtasks were cancelled"},
	} {
		if of.n > 0 {
			parts = append(parts, plural.Count(of.n, of.one, of.many))
		}
	}
	if len(parts) == 0 {
		return "they ended before they had subtasks"
	}
	return strings.Join(parts, ", ")
}

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

func (l *look) attendUnassigned() {
	for i := range l.o.Media {
		m := &l.o.Media[i]
		cost := map[string]int64{}
		for _, s := range m.Spend {
			if s.Unassigned != 0 {
				cost[s.Currency] += s.Unassigned
			}
		}
		if len(cost) == 0 {
			continue
		}
		ids := l.bare[m.Name]
		l.add(Attention{Kind: "unassigned", Severity: Warn, Media: m.Name, Title: "Spend of today belongs to no game", Accounts: len(ids), ids: ids, Money: moneyOf(cost), MoneyOf: "today",
			Cause:   "The accounts have no binding that holds today.",
			Remedy:  "Bind each to its game: the summaries follow within two minutes.",
			Command: "adsync bind account " + m.Name + "/ID --game GAME --os OS"})
	}
}

// attendGames names the accounts that belong to games nobody knows: a slip of the pen in a row that somebody wrote by SQL.
func (l *look) attendGames(ctx context.Context) error {
	wrong, err := l.Store.UnknownGames(ctx, day.Of(l.o.Business, time.UTC), groupLooked)
	if err != nil {
		return err
	}
	byMedia := map[string][]store.UnknownGame{}
	for _, w := range wrong {
		byMedia[w.Media] = append(byMedia[w.Media], w)
	}
	for _, media := range slices.Sorted(maps.Keys(byMedia)) {
		a := Attention{Kind: "unknown_game", Severity: Warn, Media: media, Title: "Accounts belong to games that nobody knows", AtLeast: len(wrong) == groupLooked, MoneyOf: "a day of these accounts",
			Remedy:  "Correct each, and its days go to the right game; or give the game its row of the table game.",
			Command: "adsync bind account " + media + "/ID --game GAME --os OS --correct"}
		names := map[string]bool{}
		for _, w := range byMedia[media] {
			a.ids, names[quote(w.Game)] = append(a.ids, w.AccountID), true
		}
		a.ids = unique(a.ids)
		a.Accounts = len(a.ids)
		a.Cause = "Rows of account_binding name " + few(slices.Sorted(maps.Keys(names))) + ", and the table game does not."
		l.add(a)
	}
	return nil
}

// attendImpossible names the rows of account_binding whose days no platform has: what is applied of the account stays.
func (l *look) attendImpossible(ctx context.Context) error {
	wrong, err := l.Store.ImpossibleBindings(ctx, groupLooked)
	if err != nil {
		return err
	}
	byMedia := map[string][]store.ImpossibleBinding{}
	for _, w := range wrong {
		byMedia[w.Media] = append(byMedia[w.Media], w)
	}
	for _, name := range slices.Sorted(maps.Keys(byMedia)) {
		first := byMedia[name][0]
		a := Attention{Kind: "impossible_binding", Severity: Warn, Media: name, Title: "Bindings name impossible days", AtLeast: len(wrong) == groupLooked, MoneyOf: "a day of these accounts",
			Cause:   sentence("a row of account_binding is not used: " + (&store.Binding{From: first.From, To: first.To}).Impossible()),
			Remedy:  "Correct the row's days, or delete it. Until then the games of these accounts stay as they were.",
			Command: "adsync accounts show " + name + "/" + exampleID}
		for _, w := range byMedia[name] {
			a.ids = append(a.ids, w.AccountID)
		}
		a.ids = unique(a.ids)
		a.Accounts = len(a.ids)
		l.add(a)
	}
	return nil
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

func (l *look) attendPauses() {
	for _, p := range l.o.Pauses {
		what := cmp.Or(p.Endpoint, "any endpoint")
		ids := l.behind(p)
		a := Attention{Kind: "calls_paused", Severity: Note, Media: p.Media, Title: "No calls of " + what + " until " + moment(p.Until, l.o.At),
			Accounts: len(ids), ids: ids, MoneyOf: "a day of these accounts",
			Cause:  "The platform has refused a call as over its limit, or asked for a pause.",
			Remedy: "Calls continue automatically then; the command shows what would end the pause before its time, and ends it with --yes.", Command: "adsync limits end-pause --media " + p.Media}
		if p.Endpoint != "" {
			a.Command += " --endpoint " + quote(p.Endpoint)
		}
		if p.Times > 1 {
			a.Cause = fmt.Sprintf("The platform has refused calls as over its limit, or asked for a pause, %d times since this was first counted.", p.Times)
			a.Remedy = "Calls continue automatically then. Since pauses repeat: either the limit is lower than we know, so lower calls of its row of rate_limit to what the platform's console says;" +
				" or others call with the same app, so lower share of the row to what they leave us. A change holds within seconds."
		}
		l.add(a)
	}
}

// behind returns the accounts that are pulled all the time and whose calls a pause holds back.
func (l *look) behind(p Pause) (ids []int64) {
	for _, a := range l.pulled[p.Media] {
		subject := a.AppID
		if p.Scope == string(ratelimit.ScopeAccount) {
			subject = a.ExternalID
		}
		if p.Subject == "" || p.Subject == subject {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// fill adds what the accounts of each item are called and what is at stake.
func (l *look) fill(ctx context.Context) error {
	var ids, named []int64
	for i := range l.o.Attention {
		a := &l.o.Attention[i]
		named = append(named, a.ids[:min(len(a.ids), examplesShown)]...)
		if a.Money == nil && a.MoneyOf != "" {
			a.ids = a.ids[:min(len(a.ids), accountsLooked)]
			ids = append(ids, a.ids...)
		}
	}
	accounts, err := l.Store.AccountsByID(ctx, unique(named))
	if err != nil {
		return err
	}
	last, err := LastCosts(l.glance, l.o.Business, unique(ids))
	if err != nil {
		return err
	}
	for i := range l.o.Attention {
		a := &l.o.Attention[i]
		for _, id := range a.ids[:min(len(a.ids), examplesShown)] {
			if account, ok := accounts[id]; ok {
				a.Examples = append(a.Examples, account.Media+"/"+account.ExternalID)
				a.Command = strings.Replace(a.Command, exampleID, account.ExternalID, 1)
			}
		}
		if a.Money != nil || a.MoneyOf == "" {
			continue
		}
		a.Money = Spent(last, a.ids)
		if len(a.ids) < a.Accounts && a.Money != nil {
			a.MoneyOf = fmt.Sprintf("%s, of the first %d", a.MoneyOf, len(a.ids))
		}
	}
	l.o.Stakes = stakes(l.o.Attention, last)
	return nil
}

// stakes adds up the items of each kind and media. An account of several items counts once.
func stakes(items []Attention, last map[int64]store.DayCost) []Stake {
	type key struct{ kind, media string }
	groups := map[key][]*Attention{}
	for i := range items {
		k := key{items[i].Kind, items[i].Media}
		groups[k] = append(groups[k], &items[i])
	}
	all := make([]Stake, 0, len(groups))
	for k, group := range groups {
		s := Stake{Kind: k.kind, Media: k.media}
		sums, seen, twice := map[string]int64{}, map[int64]bool{}, 0
		for _, a := range group {
			s.Accounts += a.Accounts
			for _, m := range a.Money {
				sums[m.Currency] += m.Micros
			}
			for _, id := range a.ids {
				if !seen[id] {
					seen[id] = true
					continue
				}
				twice++
				if c, ok := last[id]; ok && strings.HasPrefix(a.MoneyOf, "a day") {
					sums[c.Currency] -= c.Cost
				}
			}
		}
		s.Accounts -= min(twice, s.Accounts)
		for currency, micros := range sums {
			if micros == 0 {
				delete(sums, currency)
			}
		}
		s.Money = moneyOf(sums)
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Stake) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Media, b.Media)) })
	return all
}

const (
	examplesShown = 3
	// exampleID stands in a command for the external id of the first account that an item is about.
	exampleID = "EXAMPLE_ID"
	// costDays is how far back a day's spend of an account is looked for.
	costDays = 7
)

// LastCosts returns what accounts spent on the last day, before that of a business time in UTC, of which that is known, by our ids.
func LastCosts(g *store.Glance, at time.Time, ids []int64) (map[int64]store.DayCost, error) {
	today := day.Of(at, time.UTC)
	days := day.Between(today.Add(-costDays), today.Add(-1))
	last := map[int64]store.DayCost{}
	for page := range slices.Chunk(ids, accountsPage) {
		costs, err := g.DayCosts(page, days)
		if err != nil {
			return nil, err
		}
		for _, c := range costs {
			last[c.AccountID] = c // They come by day.
		}
	}
	return last, nil
}

// Spent adds up what accounts spent, by currency; what is 0 or not known is left out.
func Spent(last map[int64]store.DayCost, ids []int64) []Money {
	costs := map[string]int64{}
	for _, id := range ids {
		if c, ok := last[id]; ok && c.Cost != 0 {
			costs[c.Currency] += c.Cost
		}
	}
	return moneyOf(costs)
}

func moneyOf(byCurrency map[string]int64) []Money {
	var all []Money
	for _, currency := range slices.Sorted(maps.Keys(byCurrency)) {
		all = append(all, Money{Currency: currency, Micros: byCurrency[currency]})
	}
	return all
}

func unique(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
