package pull

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/media"
)

// movingHoursMax is the highest value of moving_hours.
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
			"params.moving_hours: %d is refused: the platform's %s only has whole days: leave it out", hours,
			report.Name)
	case params.Days > 1:
		return fmt.Errorf(
			"params.moving_hours: %d is refused with params.days %d: want days 1, the hours of other days do not move", hours,
			params.Days)
	}
	return nil
}

// movingParts returns the parts for the last hours at the planned moment, in the account's zone: the hours of the
// present day and, just after midnight, also the last hours of the day before. It counts elapsed hours: where the
// clock was put back, two of them have the same name.
func movingParts(plan media.Plan, hours int) []string {
	first := plan.PlannedAt.Add(-time.Duration(hours-1) * time.Hour).In(plan.Zone)
	today := day.Of(plan.PlannedAt, plan.Zone)
	parts := []string{formatHours(day.Of(first, plan.Zone), first.Hour())}
	for d := day.Of(first, plan.Zone).Add(1); d <= today; d = d.Add(1) {
		parts = append(parts, d.String())
	}
	return parts
}

// hoursMark separates the day and the hour of a part such as "2026-11-21@15", which is the day from 15:00 on.
const hoursMark = "@"

// formatHours returns the part of a day from an hour on. From hour 0 on it is the whole day.
func formatHours(d day.Day, from int) string {
	if from == 0 {
		return d.String()
	}
	return d.String() + hoursMark + strconv.Itoa(from)
}

// parsePart returns the days of a report's part. fromHour is the first hour where the part is the last hours of a
// day, and 0 for whole days.
func parsePart(part string) (from, to day.Day, fromHour int, err error) {
	days, hour, isHours := strings.Cut(part, hoursMark)
	if from, to, err = parseDays(days); err != nil || !isHours {
		return from, to, 0, err
	}
	if fromHour, err = strconv.Atoi(hour); err != nil || fromHour < 1 || fromHour > 23 || from != to {
		return "", "", 0, &media.Error{Class: media.Bug,
			Message: fmt.Sprintf("part %q is not a day and one of its hours", part),
			Err:     err}
	}
	return from, to, fromHour, nil
}
