package overview

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/store/overview"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/media"
)

// retriesFor is the time after its last pull for which a partial day is not listed, because its retries may fix it.
const retriesFor = 30 * time.Minute

// doubtful identifies the suspect or partial days of a report and level of a media.
type doubtful struct {
	media, report, level string
	state                results.CoverageState
}

// doubtfulItems lists what is suspect or partial in coverage.
type doubtfulItems struct {
	*facts

	glance interface {
		Doubtful(media string, state results.CoverageState, limit int) ([]overview.DoubtfulDay, error)
	}
}

// addDoubtful lists what is suspect or partial in coverage, of any age, also if the subtask that pulled it is gone.
func (l *doubtfulItems) addDoubtful(context.Context) error {
	for i := range l.o.Media {
		for _, state := range []results.CoverageState{results.Suspect, results.Partial} {
			rows, err := l.glance.Doubtful(l.o.Media[i].Name, state, groupRowsMax)
			if err != nil {
				return err
			}
			groups := map[doubtful][]overview.DoubtfulDay{}
			for _, r := range rows {
				if state == results.Partial && l.o.At.Sub(r.PulledAt.Time) < retriesFor {
					continue
				}
				k := doubtful{l.o.Media[i].Name, r.Report, r.Level, state}
				groups[k] = append(groups[k], r)
			}
			keys := slices.SortedFunc(maps.Keys(groups), func(a, b doubtful) int {
				return cmp.Or(cmp.Compare(a.report, b.report), cmp.Compare(a.level, b.level))
			})
			for _, k := range keys {
				a := l.doubtfulItem(k, groups[k])
				a.AtLeast = len(rows) == groupRowsMax
				l.add(a)
			}
		}
	}
	return nil
}

// doubtfulItem returns the item of a report's and level's rows, which are ordered from the newest day.
func (l *doubtfulItems) doubtfulItem(k doubtful, rows []overview.DoubtfulDay) item {
	a := item{Attention: client.Attention{Kind: string(k.state), Severity: Warn, Media: k.media,
		MoneyOf: "a day of these accounts"}}
	seen := map[day.Day]bool{}
	for _, r := range rows {
		a.ids, seen[r.Day] = append(a.ids, r.AccountID), true
		if !r.PulledAt.IsZero() && (a.Since.IsZero() || r.PulledAt.Before(a.Since)) {
			a.Since = r.PulledAt.Time
		}
	}
	a.count()
	days := slices.Sorted(maps.Keys(seen))
	of, between := span(days), " --from "+days[0].String()+" --to "+days[len(days)-1].String()
	if days[len(days)-1] == day.Epoch { // A list, or a balance.
		of, between = "the list "+k.report, ""
	} else if k.level != settings.AccountLevel {
		of += " by " + k.level
	}
	a.Command = "adsync tasks run " + quote(l.taskThatPulls(k)) + " --accounts ID" + between
	if k.state == results.Suspect {
		a.Title, a.Cause = "An answer for "+of+" was not believed",
			sentence(cmp.Or(rows[0].Note, "it would have removed much of the spend"))
		a.Remedy = "Nothing was deleted, and it is pulled again. If the platform's console shows that the answer is right, " +
			"confirm it with the command."
		a.Command += " --confirm"
		return a
	}
	a.Title, a.Cause = "The pull of "+of+" was not whole", sentence(cmp.Or(rows[0].Note, "its pages did not agree"))
	a.Remedy = "Nothing was deleted, and the days are pulled again after they have settled. Or pull them now, and look " +
		"at the platform's answer."
	if k.report == media.FundDailyName {
		a.Severity = Note // Platforms report the newest days late.
	}
	return a
}

// taskThatPulls returns the name of a task that pulls a report and level, or a whole list. If there is none, it returns
// the name of the task that a first installation has.
func (l *doubtfulItems) taskThatPulls(k doubtful) string {
	tasks := l.tasks
	for i := range tasks {
		t := &tasks[i]
		var params struct{ Level, Mode string }
		if !t.Usable || t.Handler != k.media+"."+k.report || len(t.Params) > 0 && json.Unmarshal(t.Params, &params) != nil {
			continue
		}
		if params.Level != "" && params.Level != k.level {
			continue
		}
		if params.Mode != "changes" {
			return t.Name
		}
	}
	name := k.media + "." + k.report
	switch k.report {
	case media.FundDailyName, media.BalanceName, media.OperationsName:
		return name
	case "report_daily", "report_hourly":
		return name + "." + k.level
	}
	return name + ".full"
}
