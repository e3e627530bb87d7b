package verify

import (
	"slices"
	"time"

	"adsync/base/day"
)

// misled is a query that the simulator answered with other figures than it had published, in a way that no answer
// shows. adsync cannot detect this before the next pull.
type misled struct {
	Media, Account, Kind, Level string
	From, To                    day.Day
	At                          time.Time // of the world
}

// misledSlack is by how much a query's time may be outside the times of its pull: the simulator reports whole seconds.
const misledSlack = 2 * time.Second

// trusted returns the days of a pull without a misled answer; moments are the pull's.
func (p *Published) trusted(pull []pulledDay, query truthQuery, moments []time.Time) []pulledDay {
	begin, end := slices.MinFunc(moments, time.Time.Compare).Add(-misledSlack),
		slices.MaxFunc(moments, time.Time.Compare).Add(misledSlack)
	return slices.DeleteFunc(slices.Clone(pull), func(d pulledDay) bool {
		return slices.ContainsFunc(p.misled, func(m misled) bool {
			// Figures by project are computed from the ads' figures.
			level := m.Level == query.level || m.Level == "ad" && query.level == "project"
			return level && m.Media == query.media && m.Account == query.account && m.Kind == query.kind &&
				m.From <= d.Day && d.Day <= m.To && !m.At.Before(begin) && !m.At.After(end)
		})
	})
}
