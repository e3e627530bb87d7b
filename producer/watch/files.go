package watch

import (
	"context"
	"time"

	"adsync/base/store/publishing"
	"adsync/base/task"
)

// filesSince is how far back files that have ended are counted.
const filesSince = 24 * time.Hour

// readFiles reads how far report files have come, and how their destinations are.
func (w *Watch) readFiles(ctx context.Context, _ []task.Task) (metrics, error) {
	var m metrics
	destinations, err := w.Store.Destinations(ctx)
	if err != nil || len(destinations) == 0 {
		return m, err
	}
	states, err := w.Store.DestinationStates(ctx)
	if err != nil {
		return m, err
	}
	now := w.Clock.Now()
	counts, err := w.Store.FileCounts(ctx, now.Add(-filesSince), now)
	if err != nil {
		return m, err
	}
	oldest, held := map[string]time.Time{}, map[string]int{}
	for _, c := range counts {
		m.gauge(files, float64(c.Files), string(c.State), c.Destination)
		m.gauge(fileBytes, float64(c.Bytes), string(c.State), c.Destination)
		held[c.Destination] += c.Held
		if !c.State.Open() || c.State == publishing.Waiting {
			continue
		}
		if at := oldest[c.Destination]; at.IsZero() || c.Oldest.Before(at) {
			oldest[c.Destination] = c.Oldest
		}
	}
	for _, d := range destinations {
		down, age := 0.0, 0.0
		if !states[d.Name].DownSince.IsZero() {
			down = 1
		}
		if at := oldest[d.Name]; !at.IsZero() {
			age = max(0, now.Sub(at).Seconds())
		}
		m.gauge(destinationDown, down, d.Name)
		m.gauge(oldestFile, age, d.Name)
		m.gauge(filesHeld, float64(held[d.Name]), d.Name)
		if at := states[d.Name].SuccessAt; !at.IsZero() {
			m.gauge(destinationSuccess, now.Sub(at).Seconds(), d.Name)
		}
	}
	return m, nil
}
