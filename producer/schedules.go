package producer

import (
	"context"
	"time"

	"adsync/base/store/settings"
	"adsync/producer/tasklist"
)

// dropEntries removes the tasks from the plan that a new list no longer contains, or has disabled.
func (p *planning) dropEntries(ctx context.Context, list *tasklist.List, now time.Time) error {
	for id := range p.entries {
		if tk, there := list.Tasks[id]; there && tk.Enabled {
			continue
		}
		if err := p.catchUp.abandon(ctx, id, now); err != nil {
			return err
		}
		delete(p.entries, id)
	}
	return nil
}

// goneHash is the hash of a schedule whose task was deleted. If its row returns, the schedule begins at that time.
const goneHash = ""

// syncSchedules updates task_schedule and the plan to a task list. A new schedule begins now: its earlier moments are
// not a gap.
func (p *planning) syncSchedules(ctx context.Context, list *tasklist.List, now time.Time) error {
	known, err := p.store.TaskSchedules(ctx)
	if err != nil {
		return err
	}
	var changed []settings.TaskSchedule
	put := func(id int64, hash string) {
		if known[id].Hash != hash {
			known[id] = settings.TaskSchedule{TaskID: id, Hash: hash, Since: now}
			changed = append(changed, known[id])
		}
	}
	hashes := make(map[int64]string, len(list.Tasks))
	for id, tk := range list.Tasks {
		hashes[id] = tk.ScheduleHash()
		put(id, hashes[id])
	}
	for id := range known {
		_, usable := list.Tasks[id]
		if _, bad := list.Bad[id]; !usable && !bad {
			put(id, goneHash)
		}
	}
	// This comes before the new schedules begin, so that after an error the old ones still exist.
	for id, e := range p.entries {
		if _, usable := list.Tasks[id]; usable && e.hash != hashes[id] {
			if err := p.catchUp.abandon(ctx, id, now); err != nil {
				return err
			}
		}
	}
	if err := p.store.PutTaskSchedules(ctx, p.lease, changed); err != nil {
		return err
	}
	entries := map[int64]*plannedTask{}
	for id, tk := range list.Tasks {
		e, planned := p.entries[id]
		switch {
		case !tk.Enabled || !tk.Schedule.Recurs():
		case planned && e.hash == hashes[id]:
			p.catchUp.edited(tk)
			e.task = tk
			entries[id] = e
		default:
			entries[id] = p.newEntry(tk, hashes[id], known[id].Since, now)
		}
	}
	p.entries, p.version = entries, list.Version
	p.rounds.sync(list, known)
	return nil
}

// newEntry begins to plan a task from the ledger's state since a moment.
func (p *planning) newEntry(tk *tasklist.Task, hash string, since, now time.Time) *plannedTask {
	e := &plannedTask{task: tk, hash: hash, checked: since}
	if recent := now.Add(-catchUpAfter); since.Before(recent) {
		p.catchUp.missed(e, since, recent)
		e.checked = recent
	}
	e.next = tk.Schedule.Next(e.checked)
	return e
}
