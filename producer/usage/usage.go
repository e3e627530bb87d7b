// Package usage computes what is left of the call limits, and which tasks, lanes and accounts made the calls.
package usage

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"adsync/base/day"
	"adsync/base/ratelimit/grant"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
)

const (
	// Calls are summed by account from the log, which has a row for each subtask. These numbers limit what is read.
	runsMax     = 1000
	subtasksMax = 200_000

	accountsShown = 20
)

// Left returns what is left of limits in their windows: the longest periods first, in a period the fullest limit first.
func Left(states []grant.LimitState) []client.LimitLeft {
	states = slices.Clone(states)
	free := func(s *grant.LimitState) float64 { return 1 - float64(s.Window)/max(1, allowed(s)) }
	slices.SortStableFunc(states, func(x, y grant.LimitState) int {
		return cmp.Or(cmp.Compare(y.Period, x.Period), cmp.Compare(free(&x), free(&y)))
	})
	all := make([]client.LimitLeft, len(states))
	for i := range states {
		s := &states[i]
		used := int64(s.Window)
		all[i] = client.LimitLeft{
			Media: s.Media, Endpoint: s.Endpoint, Scope: string(s.Scope), Subject: s.Subject,
			Unit: string(cmp.Or(s.Unit, grant.UnitCalls)), Period: s.Period.String(), WindowBegan: s.Key.Window,
			Allowed: int64(allowed(s)), Used: used, Left: max(0, int64(allowed(s))-used),
		}
	}
	return all
}

// allowed returns how much of a limit adsync uses at present.
func allowed(s *grant.LimitState) float64 { return float64(s.Limit) * s.Share * s.Part }

// Store is the part of the store that CallsSince uses.
type Store interface {
	CallsOfRuns(ctx context.Context, from int64) ([]ledger.RunCalls, error)
	CallsOfAccounts(ctx context.Context, runIDs []int64) ([]ledger.AccountCalls, error)
	AccountsByID(ctx context.Context, ids []int64) (map[int64]settings.Account, error)
}

// CallsSince returns the calls of the runs of the given media that were made since a moment. The answer has no limits.
func CallsSince(ctx context.Context, store Store, media []string, since time.Time) (client.LimitUsage, error) {
	u := client.LimitUsage{
		Since: since, Limits: []client.LimitLeft{}, Tasks: []client.TaskCalls{}, Lanes: []client.LaneCalls{},
		Accounts: []client.AccountCalls{},
	}
	runs, err := store.CallsOfRuns(ctx, task.FirstRunIDAt(since))
	if err != nil {
		return u, err
	}
	runs = slices.DeleteFunc(runs, func(r ledger.RunCalls) bool { return !slices.Contains(media, r.Media) })
	addRuns(&u, runs)
	return u, addAccounts(ctx, store, &u, runs)
}

// addRuns sums the calls of runs by task and by lane, and sorts both by descending calls.
func addRuns(u *client.LimitUsage, runs []ledger.RunCalls) {
	tasks, lanes := map[client.TaskCalls]client.TaskCalls{}, map[client.LaneCalls]int64{}
	for _, r := range runs {
		u.Calls += r.Calls
		k := client.TaskCalls{Media: r.Media, Task: r.Task, Lane: r.Lane}
		sum := tasks[k]
		sum.Runs, sum.Calls = sum.Runs+1, sum.Calls+r.Calls
		tasks[k] = sum
		lanes[client.LaneCalls{Media: r.Media, Lane: r.Lane}] += r.Calls
	}
	for k, sum := range tasks {
		k.Runs, k.Calls = sum.Runs, sum.Calls
		u.Tasks = append(u.Tasks, k)
	}
	for k, calls := range lanes {
		k.Calls = calls
		u.Lanes = append(u.Lanes, k)
	}
	slices.SortFunc(u.Tasks, func(x, y client.TaskCalls) int {
		return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Media, y.Media), cmp.Compare(x.Task, y.Task),
			cmp.Compare(x.Lane, y.Lane))
	})
	slices.SortFunc(u.Lanes, func(x, y client.LaneCalls) int {
		return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Media, y.Media), cmp.Compare(x.Lane, y.Lane))
	})
}

// addAccounts adds the accounts with the most calls. It reads the log of the runs with the most calls, up to runsMax
// runs and subtasksMax subtasks.
func addAccounts(ctx context.Context, store Store, u *client.LimitUsage, runs []ledger.RunCalls) error {
	slices.SortFunc(runs, func(x, y ledger.RunCalls) int {
		return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.RunID, y.RunID))
	})
	byDay, subtasks := map[day.Day][]int64{}, int64(0)
	for _, r := range runs[:min(len(runs), runsMax)] {
		if r.Total == 0 || subtasks+r.Total > subtasksMax {
			continue // The fan-out of this run has not ended, or the run is too large.
		}
		subtasks += r.Total
		byDay[task.LogDay(r.RunID)] = append(byDay[task.LogDay(r.RunID)], r.RunID)
	}
	sums := map[int64]int64{}
	for _, ids := range byDay {
		some, err := store.CallsOfAccounts(ctx, ids)
		if err != nil {
			return err
		}
		for _, s := range some {
			sums[s.AccountID] += s.Calls
			u.AccountsCalls += s.Calls
		}
	}
	ids := slices.SortedFunc(maps.Keys(sums), func(x, y int64) int {
		return cmp.Or(cmp.Compare(sums[y], sums[x]), cmp.Compare(x, y))
	})
	ids = ids[:min(len(ids), accountsShown)]
	known, err := store.AccountsByID(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		u.Accounts = append(u.Accounts, client.AccountCalls{
			Media: known[id].Media, Account: known[id].ExternalID, AccountID: strconv.FormatInt(id, 10), Calls: sums[id],
		})
	}
	return nil
}
