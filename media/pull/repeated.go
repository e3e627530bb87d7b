package pull

import (
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/media"
)

// hourOf is an hour of a day, as clocks name it.
type hourOf struct {
	day  day.Day
	hour int
}

// repeatedHours returns the hours that occur twice on some days of a zone, as its clock is put back.
func repeatedHours(days []day.Day, zone *time.Location) map[hourOf]bool {
	repeated := map[hourOf]bool{}
	for _, d := range days {
		start, end := d.Start(zone), d.Add(1).Start(zone)
		if end.Sub(start) <= 24*time.Hour {
			continue
		}
		var quarters [24]int
		for t := start; t.Before(end); t = t.Add(15 * time.Minute) {
			if quarters[t.Hour()]++; quarters[t.Hour()] > 4 {
				repeated[hourOf{d, t.Hour()}] = true
			}
		}
	}
	return repeated
}

// noteRepeated stores the place of a row whose hour occurs twice. The row of the other hour is added to it.
func (f *paging) noteRepeated(k rowKey) {
	if f.repeated[hourOf{k.day, k.hour}] {
		f.halves[k] = len(f.rows)
	}
}

// addRepeated adds a row to the one of the same key, and returns false if that is not the other hour of its name.
func (f *paging) addRepeated(k rowKey, row media.Row) bool {
	at, is := f.halves[k]
	if !is {
		return false
	}
	delete(f.halves, k)
	f.rows[at] = addUp(f.rows[at], row)
	f.added++
	return true
}

// addUp returns the sum of two rows. A figure that one of them lacks is not set: a sum without a part would look
// complete.
func addUp(a, b media.Row) media.Row {
	sum := a
	sum.Metrics = metric.Values{}
	for i := range metric.N {
		x, hasX := a.Metrics.Get(i)
		if y, hasY := b.Metrics.Get(i); hasX && hasY {
			sum.Metrics.Set(i, x+y)
		}
	}
	sum.Raw = slices.Clone(a.Raw)
	for i := range sum.Raw {
		x, isX := a.Raw[i].(int64)
		y, isY := b.Raw[i].(int64)
		switch {
		case isX && isY:
			sum.Raw[i] = x + y
		case a.Raw[i] != b.Raw[i]:
			sum.Raw[i] = nil
		}
	}
	sum.JSON = slices.Concat([]byte("["), a.JSON, []byte(","), b.JSON, []byte("]"))
	sum.Faults = slices.Concat(a.Faults, b.Faults)
	return sum
}
