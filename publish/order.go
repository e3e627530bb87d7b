package publish

import (
	"encoding/json"
	"fmt"
	"time"

	"adsync/base/config"
	"adsync/base/day"
	"adsync/base/store/publishing"
)

// Defaults returns the row of a new subscription, before it is filled.
func Defaults(name string) publishing.Subscription {
	return publishing.Subscription{
		Name: name, Source: `{"query": ""}`, Format: "{}", Timezone: "UTC", Period: "day", OnEmpty: emptySend,
		OnExists: existsReplace, Verify: verifyReadback, Manifest: true, Enabled: true,
	}
}

// SourceText returns the column source for a query.
func SourceText(query string) (string, error) {
	text, err := json.Marshal(Source{Query: query})
	return string(text), err
}

// orderedMax is the most files of one order by hand.
const orderedMax = 366

// Periods returns the periods of the subscription's files that lie within a range of days, in order. Days that are not
// over in its zone have none.
func (s *Subscription) Periods(from, to string, now time.Time) ([]Period, error) {
	first, err := day.Parse(from)
	if err != nil || first < day.Earliest {
		return nil, &config.FieldError{Key: "from", Value: from, Want: "a day such as 2026-11-21, " +
			string(day.Earliest) + " or a later one"}
	}
	last, err := day.Parse(to)
	if err != nil || last < first {
		return nil, &config.FieldError{Key: "to", Value: to, Want: "a day such as 2026-11-21, from or a later one"}
	}
	var all []Period
	today := day.Of(now, s.zone)
	for at := first.Add(1); first < today && at <= today && at.Add(-1) <= last; at = at.Add(1) {
		// The period of a file that is due at noon of this day.
		p := s.rule.at(at.Start(s.zone).Add(12 * time.Hour))
		if p.From < first || p.To > last || len(all) > 0 && all[len(all)-1] == p {
			continue
		}
		all = append(all, p)
	}
	switch {
	case len(all) == 0:
		return nil, &config.FieldError{Key: "to", Value: to,
			Want: fmt.Sprintf("a range that has a whole period of the subscription (%s) and is over", s.Period)}
	case len(all) > orderedMax:
		return nil, &config.FieldError{Key: "to", Value: to,
			Want: fmt.Sprintf("at most %d files in one order: this range has %d", orderedMax, len(all))}
	}
	return all, nil
}

// Order returns the files of periods: the first revision, or the next one after those that were made.
func (s *Subscription) Order(of []Period, made []publishing.Publication, last publishing.Progress, now time.Time,
) (all []publishing.Publication) {
	newest := map[Period]publishing.Publication{}
	for _, p := range made {
		at := Period{From: p.FromDay, To: p.ToDay}
		if p.Revision > newest[at].Revision {
			newest[at] = p
		}
	}
	for _, period := range of {
		p := s.publication(period, last.Sequence+1, now, now)
		if before, there := newest[period]; there {
			p.Revision, p.Sequence = before.Revision+1, before.Sequence
			p.Name = s.path.name(s, &p)
		} else {
			last.Sequence++
		}
		all = append(all, p)
	}
	return all
}
