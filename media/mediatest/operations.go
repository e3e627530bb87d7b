package mediatest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/media"
)

// Operation is the truth about an entry of a log of operations.
type Operation struct {
	ID string // "" if the platform gives none
	media.Operation
}

func testOperations(t *testing.T, h *harness) {
	t.Helper()
	log, has := media.OperationsOf(h.platform)
	if !has {
		t.Skip("the platform has no log of operations")
	}
	entries := 0
	for _, account := range h.tested() {
		from, to := h.server.Today.Add(-min(log.MaxDays-1, log.LookBack, 6)), h.server.Today
		rows, _ := pages(t, func(token string) (media.Page, error) {
			return log.Page(t.Context(), h.api(account), media.ReportQuery{From: from, To: to}, token)
		})
		got := []Operation{}
		for _, row := range rows {
			require.True(t, json.Valid(row.JSON))
			require.Empty(t, row.Faults)
			require.NotEmpty(t, row.Operation.Level)
			require.False(t, row.Operation.At.Before(from.Start(h.server.Zone)), "the days are the account's")
			require.True(t, row.Operation.At.Before(to.Add(1).Start(h.server.Zone)), "the days are the account's")
			for _, f := range row.Operation.Fields {
				require.NotEmpty(t, f.Name)
				require.True(t, f.Before == "" || json.Valid([]byte(f.Before)), "%s is JSON", f.Name)
				require.True(t, f.After == "" || json.Valid([]byte(f.After)), "%s is JSON", f.Name)
			}
			row.Operation.At = row.Operation.At.In(time.UTC)
			got = append(got, Operation{ID: row.Object, Operation: *row.Operation})
		}
		if h.server.Operations != nil {
			require.ElementsMatch(t, h.server.Operations(t, account, from, to), got, "the log of account %s", account)
		}
		entries += len(got)
	}
	require.Positive(t, entries)
}
