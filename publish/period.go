package publish

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/store/publishing"
)

// daysMax is the most days of a period.
const daysMax = 366

// Period is the days that a file is about.
type Period struct{ From, To day.Day } // To is included

func (p Period) String() string { return publishing.Period(p.From, p.To) }

// rule is how a moment of the cron gives the period of its file.
type rule struct {
	unit string // day, week, month or days
	days int    // of the unit days
}

const wantPeriod = `day (the day before), week (the last one from Monday to Sunday), month (the last one), or days:N ` +
	`(N days up to the day before, N from 2 to 366)`

// parseRule reads the column period.
func parseRule(text string) (rule, error) {
	switch text {
	case "day", "week", "month":
		return rule{unit: text}, nil
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(text, "days:")); err == nil && strings.HasPrefix(text, "days:") &&
		n >= 2 && n <= daysMax {
		return rule{unit: "days", days: n}, nil
	}
	return rule{}, fmt.Errorf("%q is not a period", text)
}

// at returns the period of a file that is due at a moment, in the moment's zone. It never has the moment's own day,
// which is not over.
func (r rule) at(moment time.Time) Period {
	yesterday := day.Of(moment, moment.Location()).Add(-1)
	switch r.unit {
	case "week":
		// Monday is 1, and Sunday the last day of its week.
		sunday := yesterday.Add(-int(yesterday.Start(time.UTC).Weekday()))
		return Period{From: sunday.Add(-6), To: sunday}
	case "month":
		first := time.Date(moment.Year(), moment.Month(), 1, 0, 0, 0, 0, time.UTC)
		return Period{From: day.Of(first.AddDate(0, -1, 0), time.UTC), To: day.Of(first.AddDate(0, 0, -1), time.UTC)}
	case "days":
		return Period{From: yesterday.Add(1 - r.days), To: yesterday}
	}
	return Period{From: yesterday, To: yesterday}
}
