package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/client/outcomes"
)

// setApplication makes an application the follower of a task.
func (d *deployment) setApplication(t *testing.T, name, application string) {
	t.Helper()
	_, body := call(t, http.MethodGet, d.api+"/tasks/"+name, nil)
	var row struct {
		Revision int64 `json:"revision"`
	}
	require.NoError(t, json.Unmarshal(body, &row), string(body))
	status, body := call(t, http.MethodPatch, d.api+"/tasks/"+name,
		map[string]any{"revision": row.Revision, "application": application})
	require.Equal(t, http.StatusOK, status, string(body))
}

// follow returns the first n outcomes of an application.
func (d *deployment) follow(t *testing.T, application string, n int) []outcomes.Outcome {
	t.Helper()
	kafka := d.settings["broker"].(map[string]any)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	met := make(chan outcomes.Outcome, n)
	cfg := outcomes.Config{
		Brokers: kafka["brokers"].([]string), Topic: kafka["prefix"].(string) + ".outcomes",
		Group: kafka["prefix"].(string) + "." + application, Application: application,
		Problem: func(err error) { t.Log(err) },
	}
	err := outcomes.Follow(ctx, cfg, func(_ context.Context, o outcomes.Outcome) error {
		if met <- o; len(met) == n {
			cancel()
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, met, n)
	var all []outcomes.Outcome
	for range n {
		all = append(all, <-met)
	}
	return all
}
