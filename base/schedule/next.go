package schedule

import "time"

// Next returns the first moment after the given one, in UTC.
func (s Schedule) Next(after time.Time) time.Time {
	switch {
	case s.every > 0:
		return after.Truncate(0).UTC().Add(s.every - modulo(after, s.every))
	case s.spec == nil:
		return time.Time{}
	case s.elapsed:
		return s.nextElapsed(after)
	default:
		return s.nextFixed(after)
	}
}

// NextN returns the first n moments after the given one.
func (s Schedule) NextN(after time.Time, n int) []time.Time {
	moments := make([]time.Time, 0, n)
	for range n {
		if after = s.Next(after); after.IsZero() {
			break
		}
		moments = append(moments, after)
	}
	return moments
}

// modulo returns how far t is beyond the last multiple of every since 1970.
func modulo(t time.Time, every time.Duration) time.Duration {
	seconds := int64(every / time.Second)
	beyond := t.Unix() % seconds
	if beyond < 0 {
		beyond += seconds
	}
	return time.Duration(beyond)*time.Second + time.Duration(t.Nanosecond())
}

// nextElapsed searches the periods between changes of the clock. Within one, wall time and elapsed time agree.
func (s Schedule) nextElapsed(after time.Time) time.Time {
	at := after.In(s.zone)
	for {
		wall := s.spec.Next(naive(at))
		if wall.IsZero() {
			return time.Time{}
		}
		_, offset := at.Zone()
		moment := wall.Add(-time.Duration(offset) * time.Second)
		_, end := at.ZoneBounds()
		if end.IsZero() || moment.Before(end) {
			return moment
		}
		// A moment at the change itself belongs to the new period, so the search starts just before its first wall time.
		at = end
		if first := naive(at); s.matches(first) {
			return at.UTC()
		}
	}
}

// matches reports whether the schedule includes a wall time in whole seconds.
func (s Schedule) matches(wall time.Time) bool {
	return s.spec.Next(wall.Add(-time.Second)).Equal(wall)
}

// nextFixed returns the first moment after the given one of the schedule's wall times.
func (s Schedule) nextFixed(after time.Time) time.Time {
	at := after.In(s.zone)
	wall := naive(at)
	// In the second pass of an hour that occurs twice, the wall times of the first pass are done. Those after the
	// repeated span are still to come, and the repeated ones map to past moments.
	if begin, _ := at.ZoneBounds(); !begin.IsZero() {
		if before := naive(begin.Add(-time.Nanosecond)); wall.Before(before) {
			wall = before
		}
	}
	for {
		wall = s.spec.Next(wall)
		if wall.IsZero() {
			return time.Time{}
		}
		if moment := s.moment(wall); moment.After(after) {
			return moment
		}
	}
}

// moment returns when a wall time is first reached. A skipped one is reached at the end of the gap.
func (s Schedule) moment(wall time.Time) time.Time {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, s.zone)
	begin, end := at.ZoneBounds()
	switch shown := naive(at); {
	case shown.After(wall): // Skipped, and interpreted with the offset from before the gap.
		return begin.UTC()
	case shown.Before(wall): // Skipped, and interpreted with the offset from after the gap.
		return end.UTC()
	}
	if begin.IsZero() {
		return at.UTC()
	}
	_, offset := at.Zone()
	_, offsetBefore := begin.Add(-time.Nanosecond).Zone()
	if first := at.Add(-time.Duration(offsetBefore-offset) * time.Second); offsetBefore > offset && first.Before(begin) {
		return first.UTC()
	}
	return at.UTC()
}

// naive returns the wall time of t as if it were UTC.
func naive(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}
