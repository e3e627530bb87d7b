package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// unit is a field of an expression: its name and its values.
type unit struct {
	name      string
	low, high int
	names     []string // from low on; nil if the field has none
}

var units = []unit{
	{name: "second", high: 59},
	{name: "minute", high: 59},
	{name: "hour", high: 23},
	{name: "day of the month", low: 1, high: 31},
	{name: "month", low: 1, high: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{name: "day of the week", high: 6, names: strings.Fields("sun mon tue wed thu fri sat")},
}

const (
	dayUnit     = 3
	weekdayUnit = 5
	// daysAlways is the number of days that every month has.
	daysAlways = 28
)

// size returns the number of the field's values.
func (u unit) size() int { return u.high - u.low + 1 }

// item is one entry of a field's list, resolved to numbers.
type item struct {
	text     string
	from, to int
	step     int
}

// unitsOf returns the units of an expression's fields, or none for a descriptor such as "@daily".
func unitsOf(fields []string) []unit {
	switch len(fields) {
	case len(units):
		return units
	case len(units) - 1:
		return units[1:]
	}
	return nil
}

// checkFields returns the correct form if a field contains what the cron library would read differently than written:
// a step that leaves a single value, an empty entry, a range that begins with a wildcard.
func checkFields(fields []string) (want string) {
	for i, u := range unitsOf(fields) {
		for text := range strings.SplitSeq(fields[i], ",") {
			if _, want := u.item(text); want != "" {
				return want
			}
		}
	}
	return ""
}

// item parses one entry of a field's list, or returns the correct form.
func (u unit) item(text string) (i item, want string) {
	i = item{text: text, from: u.low, to: u.high, step: 1}
	span, step, stepped := strings.Cut(text, "/")
	low, high, ranged := strings.Cut(span, "-")
	if text == "" {
		return i, fmt.Sprintf("a %s on both sides of each comma", u.name)
	}
	if low == "*" || low == "?" || low == "~" {
		if ranged {
			return i, fmt.Sprintf("a %s of two numbers, such as %d-%d, not %q", u.name, u.low, u.high, text)
		}
	} else if want := u.span(&i, low, high, ranged, stepped); want != "" {
		return i, want
	}
	if !stepped {
		return i, ""
	}
	var err error
	if i.step, err = digits(step); err != nil || i.step < 1 {
		return i, fmt.Sprintf("a whole number from 1 on as the step of the %s %q", u.name, text)
	}
	if count := i.to - i.from + 1; i.step >= count && i.step > 1 {
		return i, fmt.Sprintf("a step below %d in the %s %q: that step leaves %d alone of the field's values", count, u.name,
			text, i.from)
	}
	return i, ""
}

// span parses the numbers of an entry: "n", "n/step", which ends at the field's highest value, or "n-m".
func (u unit) span(i *item, low, high string, ranged, stepped bool) (want string) {
	if i.from, want = u.number(low); want != "" {
		return want
	}
	switch {
	case ranged:
		if i.to, want = u.number(high); want != "" {
			return want
		}
		if i.to < i.from {
			return fmt.Sprintf("a %s whose range does not end before it begins, such as %d-%d,%d-%d, not %q", u.name, i.from,
				u.high, u.low, i.to, i.text)
		}
	case !stepped:
		i.to = i.from
	}
	return ""
}

// number parses a value of the field, by number or by name.
func (u unit) number(text string) (n int, want string) {
	if i := slices.Index(u.names, strings.ToLower(text)); i >= 0 {
		return u.low + i, ""
	}
	n, err := digits(text)
	if err != nil || n < u.low || n > u.high {
		return 0, fmt.Sprintf("a %s from %d to %d, not %q", u.name, u.low, u.high, text)
	}
	return n, ""
}

// digits parses a number without a sign.
func digits(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err
}

// Warnings returns what is probably unintended in an expression that Parse accepts.
func Warnings(expr string) []string {
	fields := strings.Fields(expr)
	of := unitsOf(fields)
	if of == nil {
		return nil
	}
	var all []string
	for f, u := range of {
		for text := range strings.SplitSeq(fields[f], ",") {
			i, want := u.item(text)
			if want != "" {
				return nil
			}
			if warning := u.uneven(i); warning != "" {
				all = append(all, warning)
			}
		}
	}
	ahead := len(units) - len(of)
	day, weekday := fields[dayUnit-ahead], fields[weekdayUnit-ahead]
	if limited(day) && limited(weekday) {
		all = append(all,
			fmt.Sprintf("day of the month %q and day of the week %q: it runs on each day that either of them names", day,
				weekday))
	}
	if days := strings.Split(day, ","); !slices.ContainsFunc(days, func(text string) bool {
		i, _ := units[dayUnit].item(text)
		return i.from <= daysAlways
	}) {
		all = append(all, fmt.Sprintf("day of the month %q: it does not run in months without that day", day))
	}
	return all
}

// limited reports whether a field excludes values.
func limited(field string) bool {
	return !slices.ContainsFunc(strings.Split(field, ","), func(text string) bool {
		return strings.TrimSuffix(text, "/1") == "*" || strings.TrimSuffix(text, "/1") == "?"
	})
}

// uneven returns a warning about a step with pauses of different lengths.
func (u unit) uneven(i item) string {
	count := i.to - i.from + 1
	if i.step == 1 {
		return ""
	}
	if i.to == u.high { // The next round follows it.
		if u.size()%i.step == 0 {
			return ""
		}
		return fmt.Sprintf(
			"%s %q: the step %d does not divide the field's %d values, so that one pause of each round differs from the others",
			u.name, i.text, i.step, u.size())
	}
	if count%i.step == 0 || (count-1)%i.step == 0 {
		return ""
	}
	return fmt.Sprintf("%s %q: the step %d does not divide the range: the last value is %d", u.name, i.text, i.step,
		i.to-(count-1)%i.step)
}
