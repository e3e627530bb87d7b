// Package schedule parses cron expressions and returns their next moments in a time zone.
//
// The rule for clock changes: a wall time that a change skips runs at the end of the gap. A fixed hour that occurs
// twice runs only the first time. Wildcard and step hours follow the running clock, so skipped ones are not made up
// for and an hour that occurs twice runs twice.
//
// A "~" in the second or minute field stands for a number that is derived from the task's name, see spread.go.
package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"adsync/base/config"
)

// Schedule holds the moments of a cron expression. The zero Schedule has none.
type Schedule struct {
	zone *time.Location
	spec *cron.SpecSchedule // matched against wall times that are represented as UTC
	// every is set instead of spec for "@every". Its moments are the multiples of it since 1970, so they depend neither
	// on the process that computes them nor on the start.
	every time.Duration
	// elapsed is set for wildcard and step hours.
	elapsed bool
}

const (
	wantFields = `five fields "minute hour day-of-month month day-of-week", or six with the second first, ` +
		`such as "*/10 * * * *"`
	wantInterval = "@every with 1s or more, in whole seconds"
)

var parser = cron.NewParser(
	cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Parse parses a cron expression (five fields, six with seconds, or @hourly, @daily, @weekly, @monthly, @yearly,
// @every) in the time zone of an IANA name. A day of the month and a day of the week together mean either. A "~" is
// resolved by name, the task's, in the same way in every process. The error is a *config.FieldError with the key
// "cron" or "timezone".
func Parse(expr, zone, name string) (Schedule, error) {
	loc, err := Zone(zone)
	if err != nil {
		return Schedule{}, err
	}
	refuse := func(want string) (Schedule, error) {
		return Schedule{}, &config.FieldError{Key: "cron", Value: expr, Want: want}
	}
	if strings.Contains(expr, "TZ=") {
		return refuse("an expression without TZ=: the zone goes into timezone")
	}
	fields := strings.Fields(expr)
	if len(fields) == 0 {
		return refuse(wantFields)
	}
	if fields[0] == "@every" {
		return parseEvery(expr, fields, loc)
	}
	written := slices.Clone(fields)
	if want := spread(fields, name); want != "" {
		return refuse(want)
	}
	if want := checkFields(written); want != "" {
		return refuse(want)
	}
	parsed, err := parse(strings.Join(fields, " "))
	if err != nil {
		return refuse(wantFields + ": " + err.Error())
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return refuse(wantFields)
	}
	spec.Location = time.UTC
	// The check uses a year without 29 February, so that the answer is the same in every year.
	reference := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	if first := spec.Next(reference.Add(-time.Second)); first.IsZero() || first.Year() > reference.Year() {
		return refuse("an expression that occurs every year: a day such as 31 February or 29 February does not")
	}
	return Schedule{zone: loc, spec: spec, elapsed: elapsedHours(fields)}, nil
}

func parseEvery(expr string, fields []string, loc *time.Location) (Schedule, error) {
	refused := &config.FieldError{Key: "cron", Value: expr, Want: wantInterval}
	if len(fields) != 2 {
		return Schedule{}, refused
	}
	every, err := time.ParseDuration(fields[1])
	if err != nil || every < time.Second || every%time.Second != 0 || every > 365*24*time.Hour {
		return Schedule{}, refused
	}
	return Schedule{zone: loc, every: every}, nil
}

// parse recovers from panics of the parser, which some malformed expressions cause.
func parse(expr string) (s cron.Schedule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not understood: %v", p)
		}
	}()
	return parser.Parse(expr)
}

// elapsedHours reports whether the hour field is a wildcard or has a step.
func elapsedHours(fields []string) bool {
	switch len(fields) {
	case 1:
		return fields[0] == "@hourly"
	case 5:
		return strings.ContainsAny(fields[1], "*?/")
	default:
		return strings.ContainsAny(fields[2], "*?/")
	}
}

// Recurs reports whether the schedule has any moments.
func (s Schedule) Recurs() bool { return s.every > 0 || s.spec != nil }
