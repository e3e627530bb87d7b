package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"adsync/base/day"
)

// misled is a query that the simulator answered with other figures than it had published, in a way that no answer shows. Nobody can
// know better before the next pull.
type misled struct {
	Media, Account, Kind, Level string
	From, To                    day.Day
	At                          time.Time // of the world
}

// readMisled returns the queries that were answered so of late.
func readMisled(ctx context.Context, client *http.Client, baseURL string) ([]misled, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/_sim/traps/misled", http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask for the queries that were misled: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask for the queries that were misled: %s", resp.Status)
	}
	var list []misled
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return nil, fmt.Errorf("read the queries that were misled: %w", err)
	}
	return list, nil
}

// misledSlack is by how much a query's time may lie outside the times of its pull: the simulator tells whole seconds.
const misledSlack = 2 * time.Second

// trusted are the days of a pull of which no answer was misled; moments are those of the pull.
func (p *Published) trusted(pull []pulledDay, query truthQuery, moments []time.Time) []pulledDay {
	begin, end := slices.MinFunc(moments, time.Time.Compare).Add(-misledSlack), slices.MaxFunc(moments, time.Time.Compare).Add(misledSlack)
	return slices.DeleteFunc(slices.Clone(pull), func(d pulledDay) bool {
		return slices.ContainsFunc(p.misled, func(m misled) bool {
			// What is told by project is made of the ads' figures.
			level := m.Level == query.level || m.Level == "ad" && query.level == "project"
			return level && m.Media == query.media && m.Account == query.account && m.Kind == query.kind &&
				m.From <= d.Day && d.Day <= m.To && !m.At.Before(begin) && !m.At.After(end)
		})
	})
}
