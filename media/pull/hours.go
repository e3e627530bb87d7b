package pull

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/media"
)

// movingHoursMax is how many hours a pull of the last ones may ask for.
const movingHoursMax = 24

func (params reportParams) checkHours(report media.Report) error {
	switch hours := params.MovingHours; {
	case hours == 0:
		return nil
	case hours < 0 || hours > movingHoursMax:
		return fmt.Errorf("params.moving_hours: %d is refused: want 1 to %d, or leave it out for whole days", hours,
			movingHoursMax)
	case !report.HasHours:
		return fmt.Errorf(
			"params.moving_hours: %d is refused: the platform's %s cannot be asked for some hours of a day: leave it out", hours,
			report.Name)
	case params.Days > 1:
		return fmt.Errorf(
			"params.moving_hours: %d is refused beside params.days %d: want days 1, the hours of other days do not move", hours,
			params.Days)
	}
	return nil
}

// movingParts are the last hours at the planned moment, in the account's zone: the hours of the present day, and
// before them, just after midnight, those of the day before. The hours are those that went by: where the clock was
// put back there are more than their names tell.
func movingParts(plan media.Plan, hours int) []string {
	first := plan.PlannedAt.Add(-time.Duration(hours-1) * time.Hour).In(plan.Zone)
	today := day.Of(plan.PlannedAt, plan.Zone)
	parts := []string{formatHours(day.Of(first, plan.Zone), first.Hour())}
	for d := day.Of(first, plan.Zone).Add(1); d <= today; d = d.Add(1) {
		parts = append(parts, d.String())
	}
	return parts
}

// hoursMark stands between the day and the hour of a part such as "2026-11-21@15": the day from 15:00 on.
const hoursMark = "@"

// formatHours names a day from an hour on; from hour 0 on it is the whole day.
func formatHours(d day.Day, from int) string {
	if from == 0 {
		return d.String()
	}
	return d.String() + hoursMark + strconv.Itoa(from)
}

// parsePart reads the days of a report's part, and of a day's last hours the first of them; 0 is whole days.
func parsePart(part string) (from, to day.Day, fromHour int, err error) {
	days, hour, isHours := strings.Cut(part, hoursMark)
	if from, to, err = parseDays(days); err != nil || !isHours {
		return from, to, 0, err
	}
	if fromHour, err = strconv.Atoi(hour); err != nil || fromHour < 1 || fromHour > 23 || from != to {
		return "", "", 0, &media.Error{Class: media.Bug, Message: fmt.Sprintf("part %q is not a day and an hour of it", part),
			Err: err}
	}
	return from, to, fromHour, nil
}
