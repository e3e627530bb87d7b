package upkeep

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
)

// fillTask is a task that pulls a report and level.
type fillTask struct {
	id         int64
	name       string
	tiers      []string // nil = all
	days       int      // the planned day included
	skip       int      // how many of the newest days it leaves to other tasks
	importance int
}

// fillScope is a report and level with the tasks that pull it.
type fillScope struct {
	media.Report
	tasks      []fillTask
	importance int // of the most important of them
}

// taskOf returns the task that reaches back furthest for accounts of a tier. Among equals it returns the least
// important one, so that fills do not hold up fresh figures.
func (s fillScope) taskOf(tier string) (fillTask, bool) {
	var best fillTask
	for _, t := range s.tasks {
		if t.tiers != nil && !slices.Contains(t.tiers, tier) {
			continue
		}
		if best.id == 0 || t.days > best.days || t.days == best.days && t.importance < best.importance {
			best = t
		}
	}
	return best, best.id != 0
}

func (s fillScope) taskIDs() []int64 {
	ids := make([]int64, len(s.tasks))
	for i, t := range s.tasks {
		ids[i] = t.id
	}
	return ids
}

// fillScopes returns what the enabled tasks pull, the most important first. It skips rows of tasks that are invalid.
func fillScopes(ctx context.Context, s ReachStore, platform media.Platform) ([]fillScope, error) {
	rows, err := s.TaskRows(ctx)
	if err != nil {
		return nil, err
	}
	lanes, err := s.Lanes(ctx)
	if err != nil {
		return nil, err
	}
	var scopes []fillScope
	for _, report := range dailyScopes(platform) {
		scope := fillScope{Report: report}
		for _, row := range rows {
			if row.Enabled != "1" || row.Handler != platform.Name()+"."+report.Name {
				continue
			}
			level, days, skip, err := pulls(row)
			if report.Name == media.FundDailyName {
				level = report.Level // its tasks name none
			}
			if err != nil || level != report.Level || days > report.LookBack+1 {
				continue
			}
			t := fillTask{id: row.ID, name: row.Name, tiers: task.Settings{Scope: row.Scope}.Tiers(), days: days, skip: skip,
				importance: importance(lanes, platform.Name(), row.Lane)}
			scope.tasks = append(scope.tasks, t)
			scope.importance = max(scope.importance, t.importance)
		}
		if len(scope.tasks) > 0 {
			scopes = append(scopes, scope)
		}
	}
	// Equals keep the order of the platform's reports.
	slices.SortStableFunc(scopes, func(a, b fillScope) int { return cmp.Compare(b.importance, a.importance) })
	return scopes, nil
}

// dailyScopes returns what is pulled by the day from a platform: its reports, and the accounts' cash flow.
func dailyScopes(platform media.Platform) []media.Report {
	scopes := platform.Reports()
	if daily := platform.Funds().Daily; daily.Page != nil {
		scopes = append(slices.Clip(scopes), media.Report{Name: media.FundDailyName, Level: media.FundLevel,
			MaxDays: daily.MaxDays, LookBack: daily.LookBack})
	}
	return scopes
}

// pulls returns the level of a report's task, how many days back it goes, and how many of the newest days it leaves
// out.
func pulls(row settings.TaskRow) (level string, days, skip int, err error) {
	params, err := media.ReadPullParams(json.RawMessage(row.Params))
	return params.Level, max(params.Days, 1), params.Skip, err
}

// importance ranks a lane as the brakes of fan-outs do.
func importance(lanes []settings.Lane, media, name string) int {
	rank := 0
	for _, l := range lanes { // those of any media first
		if l.Name == name && (l.Media == media || l.Media == settings.AnyMedia) && l.Importance > 0 {
			rank = l.Importance
		}
	}
	return settings.LaneImportance(name, rank)
}
