package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The bounds.
const (
	residentBound = 250.0 // MB
	ratioBound    = 0.6
	sheetBound    = 5.0 // MB/s
	smallBound    = 120.0
)

// Report is the measures.
type Report struct {
	Cores    int        `json:"cores"`
	Go       string     `json:"go"`
	CSVRows  int        `json:"csv_rows"`
	XLSXRows int        `json:"xlsx_rows"`
	Small    int        `json:"small_files"`
	Measures []*Measure `json:"measures"`
}

// Measure is one figure.
type Measure struct {
	ID     string    `json:"id"`
	Unit   string    `json:"unit"`
	Median float64   `json:"median"`
	Values []float64 `json:"values"`
	// Bound is what is wanted, at least or at most; "" for a figure that is only compared.
	Bound string `json:"bound,omitempty"`
	Met   *bool  `json:"met,omitempty"`
}

func newReport(o options) *Report {
	return &Report{Cores: runtime.NumCPU(), Go: runtime.Version(), CSVRows: o.csvRows, XLSXRows: o.xlsxRows,
		Small: o.small}
}

// add records a figure that has no bound.
func (r *Report) add(id, unit string, value float64) *Measure {
	i := slices.IndexFunc(r.Measures, func(m *Measure) bool { return m.ID == id })
	if i < 0 {
		i = len(r.Measures)
		r.Measures = append(r.Measures, &Measure{ID: id, Unit: unit})
	}
	m := r.Measures[i]
	m.Values = append(m.Values, value)
	sorted := slices.Sorted(slices.Values(m.Values))
	m.Median = (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	return m
}

func (r *Report) atMost(id, unit string, value, bound float64) {
	m := r.add(id, unit, value)
	met := m.Median <= bound
	m.Bound, m.Met = fmt.Sprintf("at most %g", bound), &met
}

func (r *Report) atLeast(id, unit string, value, bound float64) {
	m := r.add(id, unit, value)
	met := m.Median >= bound
	m.Bound, m.Met = fmt.Sprintf("at least %g", bound), &met
}

// mega is a million bytes.
const mega = 1e6

func measureCSV(ctx context.Context, d *deployment, r *Report) error {
	drained, err := d.do(ctx, jobDrain)
	if err != nil {
		return err
	}
	written, err := d.do(ctx, jobWrite)
	if err != nil {
		return err
	}
	made, err := d.do(ctx, jobCSV)
	if err != nil {
		return err
	}
	if drained.Rows != made.Rows {
		return fmt.Errorf("the query has %d rows, and the file %d", drained.Rows, made.Rows)
	}
	// All rates are of the file's bytes: a figure of seconds and one of bytes are comparable then.
	bytes := float64(made.Bytes) / mega
	render, drain := bytes/made.Seconds, bytes/drained.Seconds
	write := float64(written.Bytes) / mega / written.Seconds
	r.add("csv-size", "MB", bytes)
	r.add("csv-drain", "MB/s", drain)
	r.add("csv-write", "MB/s", write)
	r.add("csv-render", "MB/s", render)
	r.atLeast("csv-ratio", "of the slower one", render/min(drain, write), ratioBound)
	r.add("csv-deliver", "MB/s", bytes/made.Deliver)
	r.atMost("csv-resident", "MB", made.ResidentMB, residentBound)
	return d.forget(ctx)
}

func measureXLSX(ctx context.Context, d *deployment, r *Report) error {
	made, err := d.do(ctx, jobXLSX)
	if err != nil {
		return err
	}
	sheets, err := sheetBytes(filepath.Join(d.shelf(), xlsxFile, string(large)+".xlsx"))
	if err != nil {
		return err
	}
	r.add("xlsx-size", "MB", float64(made.Bytes)/mega)
	r.add("xlsx-rows", "rows/s", float64(made.Rows)/made.Seconds)
	r.atLeast("xlsx-sheets", "MB/s of sheet XML", float64(sheets)/mega/made.Seconds, sheetBound)
	r.add("xlsx-deliver", "MB/s", float64(made.Bytes)/mega/made.Deliver)
	r.atMost("xlsx-resident", "MB", made.ResidentMB, residentBound)
	return d.forget(ctx)
}

// sheetBytes returns the length of all sheets of an XLSX file before compression.
func sheetBytes(name string) (n uint64, err error) {
	z, err := zip.OpenReader(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = z.Close() }()
	for _, f := range z.File {
		if strings.HasPrefix(f.Name, "xl/worksheets/") {
			n += f.UncompressedSize64
		}
	}
	return n, nil
}

func measureMix(ctx context.Context, d *deployment, r *Report) error {
	made, err := d.do(ctx, jobMix)
	if err != nil {
		return err
	}
	r.atMost("mix-small", "s until the last small file", made.Small, smallBound)
	r.add("mix-large", "s until the large file", made.Seconds+made.Deliver)
	r.add("mix-resident", "MB", made.ResidentMB)
	return d.forget(ctx)
}

// write writes the table, and the JSON to a file.
func (r *Report) write(w io.Writer, file string) error {
	fmt.Fprintf(w, "%-16s %12s  %-28s %s\n", "measure", "median", "unit", "wanted")
	for _, m := range r.Measures {
		verdict := m.Bound
		if m.Met != nil && !*m.Met {
			verdict += " MISSED"
		}
		fmt.Fprintf(w, "%-16s %12.2f  %-28s %s\n", m.ID, m.Median, m.Unit, verdict)
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
