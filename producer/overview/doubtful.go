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

// retriesFor is how long after its last pull a day that is not whole is left to its retries.
const retriesFor = 30 * time.Minute

// doubtful are days of a report and level of a media that are suspect, or partial.
type doubtful struct {
	media, report, level string
	state                results.CoverageState
}

// doubtfulItems are what is suspect or partial in coverage.
type doubtfulItems struct {
	*facts

	glance interface {
		Doubtful(media string, state results.CoverageState, limit int) ([]overview.DoubtfulDay, error)
	}
}

// attendDoubtful lists what is suspect or partial in coverage, however old it is and whatever became of the subtask
// that pulled it.
func (l *doubtfulItems) attendDoubtful(context.Context) error {
	for i := range l.o.Media {
		for _, state := range []results.CoverageState{results.Suspect, results.Partial} {
			rows, err := l.glance.Doubtful(l.o.Media[i].Name, state, groupLooked)
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
			keys := slices.SortedFunc(maps.Keys(groups), func(a,
				b doubtful) int {
				return cmp.Or(cmp.Compare(a.report, b.report), cmp.Compare(a.level, b.level))
			})
			for _, k := range keys {
				a := l.doubtfulCard(k, groups[k])
				a.AtLeast = len(rows) == groupLooked
				l.add(a)
			}
		}
	}
	return nil
}

// doubtfulCard is the item of what is doubtful of one report and level, the newest day of which comes first.
func (l *doubtfulItems) doubtfulCard(k doubtful, rows []overview.DoubtfulDay) item {
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
	if days[len(days)-1] == day.Epoch { // A list, or what an account has now.
		of, between = "the list "+k.report, ""
	} else if k.level != settings.AccountLevel {
		of += " by " + k.level
	}
	a.Command = "adsync tasks run " + quote(l.taskThatPulls(k)) + " --accounts ID" + between
	if k.state == results.Suspect {
		a.Title, a.Cause = "An answer for "+of+" was not believed",
			sentence(cmp.Or(rows[0].Note, "it would have taken away much of what was spent"))
		a.Remedy = "Nothing was deleted, and it is pulled again. Look at the platform: if its answer is right, say so."
		a.Command += " --confirm"
		return a
	}
	a.Title, a.Cause = "What is known of "+of+" is not whole", sentence(cmp.Or(rows[0].Note, "its pages did not agree"))
	a.Remedy = "Nothing was deleted, and the days are looked for again after they have settled. Have them pulled now, " +
		"and see what the platform says."
	if k.report == media.FundDailyName {
		a.Severity = Note // Platforms report the newest days late.
	}
	return a
}

// taskThatPulls names a task that pulls a report and level, or a whole list; what a task of the first installation is
// called where none is known.
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
	case media.FundDailyName, media.BalanceName:
		return name
	case "report_daily", "report_hourly":
		return name + "." + k.level
	}
	return name + ".full"
}
