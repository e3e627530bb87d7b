package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// ours names adsync among those that are measured.
const ours = "adsync"

// Report is the result of all measures.
type Report struct {
	Cores    int        `json:"cores"`
	Go       string     `json:"go"`
	Accounts int        `json:"accounts"`
	Measures []*Measure `json:"measures"`
}

// Measure is one figure of adsync, and of the peers that have that figure.
type Measure struct {
	ID    string             `json:"id"`
	Unit  string             `json:"unit"`
	Ours  float64            `json:"ours"` // the median of the rounds
	Peers map[string]float64 `json:"peers,omitempty"`
	// Ratio is adsync's figure to the best peer's, above 1 where adsync's is better; 0 without a peer. It is the median
	// of the ratios of turns taken one after another: when the machine is slow, it is slow for both.
	Ratio  float64 `json:"ratio,omitempty"`
	Rounds int     `json:"rounds"` // turns of adsync
	// Spread is how far adsync's rounds are apart, as a part of their median.
	Spread  float64 `json:"spread"`
	Durable string  `json:"durable"` // of ours
	// PeersDurable is what was durable for the peers.
	PeersDurable string `json:"peers_durable,omitempty"`

	ratios map[string]float64 // to each peer's
	more   bool               // more is better
	values map[string][]float64
}

func newReport(o options) *Report {
	r := &Report{Cores: runtime.NumCPU(), Go: runtime.Version(), Accounts: o.accounts}
	for _, m := range measures {
		if !slices.Contains(o.only, m.id) {
			continue
		}
		for _, f := range m.figures {
			r.Measures = append(r.Measures, &Measure{
				ID: f.id, Unit: f.unit, Durable: m.durable, PeersDurable: m.peersDurable, more: f.more,
				values: map[string][]float64{},
			})
		}
	}
	return r
}

// add records a value of a round.
func (r *Report) add(id, who string, value float64) {
	for _, m := range r.Measures {
		if m.ID == id {
			m.values[who] = append(m.values[who], value)
			m.reckon()
		}
	}
}

func (m *Measure) reckon() {
	m.Peers, m.ratios, m.Ratio = map[string]float64{}, map[string]float64{}, 0
	for who, values := range m.values {
		if who != ours {
			m.Peers[who] = median(values)
			continue
		}
		m.Ours, m.Rounds, m.Spread = median(values), len(values), 0
		if m.Ours > 0 { // A cost below the measurable minimum is 0.
			m.Spread = (slices.Max(values) - slices.Min(values)) / m.Ours
		}
	}
	for who := range m.Peers {
		var ratios []float64
		for turn := range min(len(m.values[ours]), len(m.values[who])) {
			over, under := m.values[ours][turn], m.values[who][turn]
			if !m.more {
				over, under = under, over
			}
			if over > 0 && under > 0 {
				ratios = append(ratios, over/under)
			}
		}
		if len(ratios) == 0 {
			continue
		}
		m.ratios[who] = median(ratios)
		if m.Ratio == 0 || m.ratios[who] < m.Ratio {
			m.Ratio = m.ratios[who]
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// inWords returns figures with their names as text.
func inWords(values map[string]float64) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, fmt.Sprintf("%s %.4g", id, values[id]))
	}
	return strings.Join(parts, ", ")
}

// write writes the table, and the JSON to a file.
func (r *Report) write(w io.Writer, file string) error {
	fmt.Fprintf(w, "%-26s %-14s %12s %8s  %-34s %-28s  %s\n", "measure", "unit", ours, "spread", "peers", "ratio",
		"durable")
	for _, m := range r.Measures {
		durable := m.Durable
		if m.PeersDurable != "" {
			durable += "; peers: " + m.PeersDurable
		}
		fmt.Fprintf(w, "%-26s %-14s %12.4g %7.1f%%  %-34s %-28s  %s\n", m.ID, m.Unit, m.Ours, 100*m.Spread, inWords(m.Peers),
			inWords(m.ratios), durable)
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
