package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReport_ComparesTurnsWithTheBestPeers(t *testing.T) {
	t.Parallel()
	r := newReport(options{only: []string{"noop", "latency"}})
	for _, v := range []float64{900, 1000, 1200} {
		r.add("noop", ours, v)
	}
	for _, v := range []float64{300, 500, 800} { // The ratios are 3, 2 and 1.5.
		r.add("noop", "fast", v)
		r.add("noop", "slow", v/2)
	}
	r.add("latency-p99", ours, 10)
	r.add("latency-p99", "slow", 40)
	r.add("latency-p99", "fast", 20)

	file := filepath.Join(t.TempDir(), "out", "results.json")
	var table bytes.Buffer
	require.NoError(t, r.write(&table, file))
	require.Contains(t, table.String(), "fast 500")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var got Report
	require.NoError(t, json.Unmarshal(data, &got))
	byID := map[string]*Measure{}
	for _, m := range got.Measures {
		byID[m.ID] = m
	}
	require.Len(t, byID, 3+len(budget("noop")))
	require.InDelta(t, 1000, byID["noop"].Ours, 0)
	require.Equal(t, 3, byID["noop"].Rounds)
	require.InDelta(t, 0.3, byID["noop"].Spread, 1e-9)
	require.InDelta(t, 2, byID["noop"].Ratio, 0, "more is better")
	require.InDelta(t, 2, byID["latency-p99"].Ratio, 0, "less is better")
	require.Contains(t, table.String(), "fast 2, slow 4", "the report has the ratio to each of them")
	require.Zero(t, byID["latency-p50"].Rounds)
}

func TestMeasures_AreNamedOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range measures {
		for _, f := range m.figures {
			require.False(t, seen[f.id], f.id)
			seen[f.id] = true
			require.NotEmpty(t, m.durable, "%s must name what was durable", f.id)
		}
	}
}

func TestParseOptions_RefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	_, err := parseOptions([]string{"-only", "noop,speed"}, io.Discard)
	require.ErrorContains(t, err, "-only noop,speed: want some of noop, ")
	_, err = parseOptions([]string{"-rounds", "0"}, io.Discard)
	require.Error(t, err)
	o, err := parseOptions(nil, io.Discard)
	require.NoError(t, err)
	for _, m := range measures {
		require.Equal(t, !m.long, slices.Contains(o.only, m.id), m.id)
	}
	require.NotContains(t, o.only, "day", "it takes a quarter of an hour")
	require.NotContains(t, o.only, "flat-day", "so does this")
}

func TestReport_IsJSONOfTheFieldsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	r := newReport(options{only: []string{"noop"}, accounts: 7})
	r.add("noop", ours, 300)
	r.add("noop", river, 100)
	file := filepath.Join(t.TempDir(), "results.json")
	require.NoError(t, r.write(io.Discard, file))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var got struct {
		Measures []map[string]any `json:"measures"`
	}
	require.NoError(t, json.Unmarshal(data, &got))
	require.Equal(t, map[string]any{
		"id": "noop", "unit": "subtasks/s", "ours": 300.0, "peers": map[string]any{river: 100.0}, "ratio": 3.0, "rounds": 1.0,
		"spread":  0.0,
		"durable": allDurable, "peers_durable": riverDurable,
	}, got.Measures[0])
}

func TestReport_HasASpreadOfWhatCostsNothing(t *testing.T) {
	t.Parallel()
	r := newReport(options{only: []string{"noop"}})
	r.add("noop-cpu-redis", ours, 0)
	require.NoError(t, r.write(io.Discard, filepath.Join(t.TempDir(), "results.json")), "JSON cannot hold NaN")
}

func TestMeasures_NameTheirPeersOnce(t *testing.T) {
	t.Parallel()
	queues := slices.Collect(maps.Keys(peerModules))
	for _, m := range measures {
		for _, peer := range m.peers {
			require.NotEqual(t, slices.Contains(queues, peer), m.sideBySide[peer] != nil,
				"%s of %s is either a task queue or taken in this process", m.id, peer)
		}
		require.Len(t, m.sideBySide, len(slices.DeleteFunc(slices.Clone(m.peers),
			func(peer string) bool { return slices.Contains(queues, peer) })), m.id)
	}
}

func TestTake_FailsWithAMeasureWhoseCountIsWrong(t *testing.T) {
	t.Parallel()
	wrong := errors.New("run 1 has 2 rows of subtasks that have succeeded, want 3, and 0 that wait")
	m := measure{
		id: "noop", ours: func(*deployment, context.Context) (map[string]float64, error) {
			return map[string]float64{"noop": 1}, wrong
		},
		sideBySide: map[string]take{shortDay: func(*deployment, context.Context) (map[string]float64, error) {
			return nil,
				wrong
		}},
	}
	for _, who := range []string{ours, shortDay} {
		_, err := m.take(t.Context(), &deployment{}, who)
		require.ErrorIs(t, err, wrong, who)
	}
}
