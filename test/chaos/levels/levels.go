// Package levels judges figures that must stay level over a long time, such as the memory of a process. It compares
// two windows of a series: one after its warm-up and one at the end.
package levels

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// Kind defines how the figures of a window are summed up, and how much larger than the first window the last may be.
type Kind struct {
	Name string
	sum  func(points []point) float64
	// share and more are the growth that counts as level: a share of the first figure, plus a constant.
	share, more float64
}

// The kinds of figures. A garbage collector works in cycles: the least memory of a window is what is in use.
var (
	Memory = Kind{"bytes in use", least, 0.15, 8 << 20}
	Count  = Kind{"count", median, 0.1, 10}
	Rows   = Kind{"rows", most, 0.1, 100}
	Bytes  = Kind{"bytes", most, 0.25, 4 << 20}
	// Growth is for series that grow at a steady rate, such as a ledger: a window's figure is its growth per minute.
	Growth = Kind{"rows a minute", growth, 0.25, 5}
)

// windows is how many windows the whole time has.
const windows = 6

// Verdicts of a series.
const (
	Level = "level"
	Rises = "rises"
	Short = "too short" // It began too late for two windows.
)

// Line is the verdict on one series.
type Line struct {
	Name    string  `json:"name"`
	Kind    string  `json:"kind"`
	First   float64 `json:"first"`
	Last    float64 `json:"last"`
	Verdict string  `json:"verdict"`
}

// Levels are series of figures. Its methods may be called from several goroutines.
type Levels struct {
	mu     sync.Mutex
	series map[string]*series
}

type series struct {
	kind   Kind
	points []point
}

type point struct {
	at    time.Duration
	value float64
}

// Note records a figure of the named series at a time since the beginning. Times of a series must not go back.
func (l *Levels) Note(name string, kind Kind, at time.Duration, value float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.series == nil {
		l.series = map[string]*series{}
	}
	if l.series[name] == nil {
		l.series[name] = &series{kind: kind}
	}
	l.series[name].points = append(l.series[name].points, point{at, value})
}

// Judge returns a verdict on each series, ordered by name. The whole time has six windows: the first sixth of a
// series' own time is its warm-up, the second is compared with the last of the whole time.
func (l *Levels) Judge(whole time.Duration) []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	width := whole / windows
	var lines []Line
	for _, name := range slices.Sorted(maps.Keys(l.series)) {
		s := l.series[name]
		warm := s.points[0].at + width
		first, last := s.between(warm, warm+width), s.between(whole-width, whole)
		line := Line{Name: name, Kind: s.kind.Name, Verdict: Short}
		if warm+width <= whole-width && len(first) > 0 && len(last) > 0 {
			line.First, line.Last, line.Verdict = s.kind.sum(first), s.kind.sum(last), Level
			if line.Last > line.First*(1+s.kind.share)+s.kind.more {
				line.Verdict = Rises
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// between returns the figures from one moment on and before another.
func (s *series) between(from, to time.Duration) []point {
	at := func(p point, t time.Duration) int { return cmp.Compare(p.at, t) }
	low, _ := slices.BinarySearchFunc(s.points, from, at)
	high, _ := slices.BinarySearchFunc(s.points, to, at)
	return s.points[low:max(low, high)]
}

func sorted(points []point) []point {
	return slices.SortedFunc(slices.Values(points), func(a, b point) int { return cmp.Compare(a.value, b.value) })
}

func least(points []point) float64 { return sorted(points)[0].value }

func most(points []point) float64 { return sorted(points)[len(points)-1].value }

func median(points []point) float64 { return sorted(points)[len(points)/2].value }

func growth(points []point) float64 {
	first, last := points[0], points[len(points)-1]
	if first.at == last.at {
		return 0
	}
	return (last.value - first.value) / (last.at - first.at).Minutes()
}
