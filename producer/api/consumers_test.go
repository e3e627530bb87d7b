package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/roster"
)

func TestConsumers_ListsTheLiveOnes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.JSONEq(t, `{"consumers": []}`, b.get("/api/v1/consumers"))
	require.NoError(t, b.roster.Report(t.Context(), roster.Process{
		ID: "n1/abc", Node: "n1", Version: "v1.2.0", Commit: "c0ffee", StartedAt: now,
		Pools: []roster.Pool{{Media: "tulip", Lane: "normal", Running: 3, Capacity: 32, Limited: 1, Partitions: []int{0, 5}}},
	}))
	var got struct {
		Consumers []struct {
			ID, Node, Version, Commit string
			StartedAt                 time.Time `json:"started_at"`
			AgeSeconds                *float64  `json:"age_seconds"`
			Pools                     []roster.Pool
		}
	}
	decode(t, b.get("/api/v1/consumers"), &got)
	require.Len(t, got.Consumers, 1)
	require.Equal(t, "n1", got.Consumers[0].Node)
	require.NotNil(t, got.Consumers[0].AgeSeconds)
	require.Equal(t, []roster.Pool{{Media: "tulip", Lane: "normal", Running: 3, Capacity: 32, Limited: 1,
		Partitions: []int{0, 5}}}, got.Consumers[0].Pools)

	require.NoError(t, b.redis.Close())
	w := b.call(http.MethodGet, "/api/v1/consumers", "", viewerToken)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, b.problem(w).Detail, "The list of consumers cannot be read from Redis")
}
