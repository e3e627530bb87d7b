package overview

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"adsync/base/plural"
	"adsync/base/store/dead"
	"adsync/client"
)

// deadItems lists the subtasks that failed for good.
type deadItems struct {
	*facts

	store  deadTables
	glance interface {
		NewestDead(limit int) ([]dead.DeadSubtask, error)
	}
}

// addDead groups the subtasks that died last by the prints of their errors.
func (l *deadItems) addDead(ctx context.Context) error {
	newest, err := l.glance.NewestDead(groupRowsMax)
	if err != nil {
		return err
	}
	isHealed, err := l.store.Healed(ctx, newest)
	if err != nil {
		return err
	}
	looked := len(newest)
	l.addHealed(slices.DeleteFunc(slices.Clone(newest), func(d dead.DeadSubtask) bool { return !isHealed[d.Key] }),
		looked)
	newest = slices.DeleteFunc(newest, func(d dead.DeadSubtask) bool { return isHealed[d.Key] })
	names := map[int64]string{}
	tasks := l.tasks
	for i := range tasks {
		names[tasks[i].ID] = tasks[i].Name
	}
	type key struct{ media, print string }
	var order []key
	groups := map[key][]dead.DeadSubtask{}
	for i := range newest {
		k := key{newest[i].Media, newest[i].ErrorPrint}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], newest[i])
	}
	for _, k := range order {
		group := groups[k]
		a := item{Attention: client.Attention{Kind: "dead", Severity: Bad, Media: k.media,
			Title: plural.Count(len(group), "subtask", "subtasks") + " failed for good", Cause: sentence(group[0].ErrorText),
			AtLeast: looked == groupRowsMax, Since: group[len(group)-1].DeadAt, MoneyOf: "a day of these accounts",
			Remedy:  "Fix the cause, then redrive them; or drop them.",
			Command: fmt.Sprintf("adsync dead redrive --media %s --print %s", k.media, quote(k.print))}}
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
		a.count()
		l.add(a)
	}
	return nil
}

// addHealed lists dead subtasks whose days were pulled whole since they died. They need no action, and are dropped
// after their retention.
func (l *deadItems) addHealed(healed []dead.DeadSubtask, looked int) {
	byMedia := map[string][]dead.DeadSubtask{}
	for _, d := range healed {
		byMedia[d.Media] = append(byMedia[d.Media], d)
	}
	for _, media := range slices.Sorted(maps.Keys(byMedia)) {
		group := byMedia[media]
		a := item{Attention: client.Attention{Kind: "healed", Severity: Note, Media: media,
			Title: plural.Count(len(group), "subtask that failed for good has", "subtasks that failed for good have") +
				" healed", AtLeast: looked == groupRowsMax,
			Cause: "Everything that they pull has been pulled whole since they failed. The newest error was: " +
				sentence(group[0].ErrorText),
			Remedy:  "Nothing needs to be done: they are dropped after retention.healed_days.",
			Command: "adsync dead list --rows --media " + media, Since: group[len(group)-1].DeadAt}}
		for i := range group {
			a.ids = append(a.ids, group[i].AccountID)
		}
		a.count()
		l.add(a)
	}
}
