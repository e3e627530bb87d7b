package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// Report is the measures, in the same form as the report of package bench.
type Report struct {
	Cores    int        `json:"cores"`
	Go       string     `json:"go"`
	Accounts int        `json:"accounts"`
	Rows     []Rows     `json:"rows"`
	Measures []*Measure `json:"measures"`
}

// Rows is the number of rows made in a table, and how fast.
type Rows struct {
	Table     string  `json:"table"`
	Rows      int     `json:"rows"`
	PerSecond float64 `json:"per_second"`
	MB        int     `json:"mb"`
}

// Measure is one figure in milliseconds, with its bound.
type Measure struct {
	ID     string  `json:"id"`
	Unit   string  `json:"unit"`
	Ours   float64 `json:"ours"` // the figure compared with the bound: the p95 of many, the slowest of a few
	Median float64 `json:"median"`
	Rounds int     `json:"rounds"`
	Bound  float64 `json:"bound,omitempty"`
	Over   bool    `json:"over,omitempty"`
}

func newReport(o options) *Report {
	return &Report{Cores: runtime.NumCPU(), Go: runtime.Version(), Accounts: o.accounts}
}

// few is the number of rounds up to which the slowest counts.
const few = 20

// add records how long an operation took each time. bound is the longest allowed time, 0 if there is none.
func (r *Report) add(id string, took []time.Duration, bound time.Duration) *Measure {
	slices.Sort(took)
	at := len(took) - 1
	if len(took) > few {
		at = len(took) * 95 / 100
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	m := &Measure{ID: id, Unit: "ms", Ours: ms(took[at]), Median: ms(took[len(took)/2]), Rounds: len(took),
		Bound: ms(bound)}
	m.Over = bound > 0 && took[at] > bound
	r.Measures = append(r.Measures, m)
	return m
}

// write writes the table, and the JSON to a file.
func (r *Report) write(w io.Writer, file string) error {
	for _, t := range r.Rows {
		fmt.Fprintf(w, "%-44s %12d rows %10.0f rows/s %8d MB\n", t.Table, t.Rows, t.PerSecond, t.MB)
	}
	fmt.Fprintf(w, "%-52s %10s %10s %8s %8s\n", "measure", "ms", "median", "rounds", "bound")
	for _, m := range r.Measures {
		over := ""
		if m.Over {
			over = "OVER"
		}
		fmt.Fprintf(w, "%-52s %10.1f %10.1f %8d %8.0f %s\n", m.ID, m.Ours, m.Median, m.Rounds, m.Bound, over)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
