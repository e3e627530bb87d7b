package publish

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"adsync/base/config"
	"adsync/base/store/publishing"
	"adsync/base/strictjson"
	"adsync/media"
	"adsync/upkeep"
)

// When a file is made.
const (
	whenDue      = "due"      // at the moment of the cron
	whenComplete = "complete" // at that moment, or later: when the figures of its period are whole
)

// What happens to a file whose figures are not whole at the latest moment.
const (
	latestSend = "send" // it goes out, marked incomplete, with the list of what is missing
	latestHold = "hold" // it waits on, with an alert
)

// How a file treats accounts that are parked: nothing pulls them.
const (
	parkedWait   = "wait"   // it waits for them as for others
	parkedName   = "name"   // it does not wait, and its manifest names what is missing
	parkedIgnore = "ignore" // it does not wait
)

// Completeness is what the column completeness has as JSON: when a file is made. The moment of a file is that of the
// cron, or of the order by hand.
type Completeness struct {
	When string `json:"when,omitempty"`
	// LatestMinutes is how long after its moment a file waits at most; 0 is without end. Revisions wait on.
	LatestMinutes int    `json:"latest_minutes,omitempty"`
	AtLatest      string `json:"at_latest,omitempty"`
	Parked        string `json:"parked,omitempty"`
}

// Corrections is what the column corrections has as JSON: whether revisions of a file follow when its figures change.
type Corrections struct {
	EveryMinutes int `json:"every_minutes,omitempty"` // the least time between two revisions; 0 = there are none
	QuietMinutes int `json:"quiet_minutes,omitempty"` // how long a change must stay the same
	Days         int `json:"days,omitempty"`          // how long after the moment of the file there are revisions
}

const (
	latestMax       = 31 * 24 * 60 // minutes
	correctEveryMin = 5            // minutes
	correctEveryMax = 7 * 24 * 60
	correctDaysMax  = 366
	quietDefault    = 10 // minutes
)

// readCompleteness reads the columns completeness and corrections. It comes after readSource and readPath.
func (s *Subscription) readCompleteness() error {
	s.completeness = Completeness{When: whenDue, AtLatest: latestSend, Parked: parkedWait}
	if s.Completeness != "" {
		if err := strictjson.Unmarshal([]byte(s.Completeness), &s.completeness); err != nil {
			return within("completeness", s.Completeness, err)
		}
	}
	var errs []error
	refuse := func(key string, value any, want string) {
		errs = append(errs, &config.FieldError{Key: key, Value: fmt.Sprint(value), Want: want})
	}
	c := &s.completeness
	for _, f := range []struct {
		key, value string
		words      []string
	}{
		{"completeness.when", c.When, []string{whenDue, whenComplete}},
		{"completeness.at_latest", c.AtLatest, []string{latestSend, latestHold}},
		{"completeness.parked", c.Parked, []string{parkedWait, parkedName, parkedIgnore}},
	} {
		if !slices.Contains(f.words, f.value) {
			refuse(f.key, f.value, "one of "+strings.Join(f.words, ", "))
		}
	}
	if c.LatestMinutes < 0 || c.LatestMinutes > latestMax {
		refuse("completeness.latest_minutes", c.LatestMinutes, fmt.Sprintf("0 (it waits without end) to %d", latestMax))
	}
	if c.When == whenComplete && s.Query != nil && len(s.needs.scopes) == 0 {
		refuse("completeness.when", c.When, whenDue+", since the query reads no figures of days that are pulled")
	}
	if c.When == whenComplete && s.files != nil && s.files.Done == "" {
		refuse("completeness.when", c.When, whenDue+", or a source with done, a file that ends it")
	}
	if s.Corrections != "" {
		if err := strictjson.Unmarshal([]byte(s.Corrections), &s.corrections); err != nil {
			return errors.Join(append(errs, within("corrections", s.Corrections, err))...)
		}
	}
	k := &s.corrections
	if k.EveryMinutes != 0 && (k.EveryMinutes < correctEveryMin || k.EveryMinutes > correctEveryMax) {
		refuse("corrections.every_minutes", k.EveryMinutes,
			fmt.Sprintf("0 (no corrections), or %d to %d", correctEveryMin, correctEveryMax))
	}
	if k.QuietMinutes < 0 || k.QuietMinutes > correctEveryMax {
		refuse("corrections.quiet_minutes", k.QuietMinutes, fmt.Sprintf("0 (%d) to %d", quietDefault, correctEveryMax))
	}
	if k.EveryMinutes != 0 && (k.Days < 1 || k.Days > correctDaysMax) {
		refuse("corrections.days", k.Days, fmt.Sprintf("1 to %d", correctDaysMax))
	}
	if k.EveryMinutes != 0 && s.OnExists == existsRefuse && len(s.path) > 0 && !s.path.of("revision") {
		refuse("path", s.Path, "a path with {revision}, since there are corrections and on_exists is "+existsRefuse+
			": the file of revision 1 has the name")
	}
	if k.QuietMinutes == 0 {
		k.QuietMinutes = quietDefault
	}
	return errors.Join(errs...)
}

// waits reports whether the subscription's files wait for figures.
func (s *Subscription) waits() bool { return s.completeness.When == whenComplete }

// allowsIncomplete reports whether a file may go out at a moment although figures are missing.
func (s *Subscription) allowsIncomplete(p *publishing.Publication, now time.Time) bool {
	return !p.LatestAt.IsZero() && !now.Before(p.LatestAt) && s.completeness.AtLatest == latestSend
}

// every returns the least time between two revisions, and quiet how long a change must stay the same.
func (c Corrections) every() time.Duration { return time.Duration(c.EveryMinutes) * time.Minute }
func (c Corrections) quiet() time.Duration { return time.Duration(c.QuietMinutes) * time.Minute }

// needs is what the query of a subscription needs of each account and day.
type needs struct {
	scopes []upkeep.Scope // that must be pulled, sorted
	// Whether the summaries, and the wide table, must show what was pulled.
	summed, wide bool
}

// levels are the levels of figures.
var levels = []string{"account", "campaign", "adgroup", "creative"}

// needsOf returns what a query needs that reads these views.
func needsOf(views []string) (n needs) {
	add := func(report string, of ...string) {
		for _, level := range of {
			if scope := (upkeep.Scope{Report: report, Level: level}); !slices.Contains(n.scopes, scope) {
				n.scopes = append(n.scopes, scope)
			}
		}
	}
	for _, view := range views {
		switch view {
		case "summary_daily", "summary_hourly":
			add(strings.Replace(view, "summary", "report", 1), "account")
			n.summed = true
			continue
		case "report_daily_creative_asset":
			add(reportDaily, "creative")
			continue
		case media.FundDailyName:
			add(media.FundDailyName, media.FundLevel)
			continue
		}
		for _, prefix := range []string{reportDaily, reportHourly, wideDaily} {
			level, of := strings.CutPrefix(view, prefix)
			if !of {
				continue
			}
			report := prefix
			if prefix == wideDaily {
				report, n.wide = reportDaily, true
			}
			if level == "" {
				add(report, levels...)
			} else {
				add(report, strings.TrimPrefix(level, "_"))
			}
		}
	}
	return n
}
