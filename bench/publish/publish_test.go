package main

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish"
)

func TestParseOptions(t *testing.T) {
	t.Parallel()
	o, err := parseOptions([]string{"-scale", "0.02", "-only", "csv, mix"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 250_000, o.csvRows)
	require.Equal(t, 20, o.small)
	require.Equal(t, []string{"csv", "mix"}, o.parts)
	for _, args := range [][]string{{"-only", "pdf"}, {"-scale", "0"}, {"-rounds", "0"}, {"-csv-rows", "5"}} {
		_, err := parseOptions(args, io.Discard)
		require.Error(t, err, args)
	}
}

func TestReport_JudgesTheMedian(t *testing.T) {
	t.Parallel()
	r := newReport(options{})
	for _, v := range []float64{100, 300, 200} {
		r.atMost("csv-resident", "MB", v, residentBound)
		r.atLeast("csv-ratio", "of the slower one", v/1000, ratioBound)
	}
	var table bytes.Buffer
	require.NoError(t, r.write(&table, filepath.Join(t.TempDir(), "out", "publish.json")))
	require.Contains(t, table.String(), "at most 250\n")
	require.Contains(t, table.String(), "at least 0.6 MISSED\n")
}

func TestQueries_CanBeSubscribedTo(t *testing.T) {
	t.Parallel()
	for _, query := range []string{csvQuery, smallQuery} {
		row := publish.Defaults("a")
		var err error
		row.Source, err = publish.SourceText(query)
		require.NoError(t, err)
		row.Format, row.Path, row.Destination, row.Cron = `{"format": "csv"}`, "{day}{ext}", depot, "0 9 * * *"
		_, err = publish.Check(row)
		require.NoError(t, err)
	}
}
