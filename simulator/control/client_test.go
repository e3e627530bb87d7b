package control_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator"
	"adsync/simulator/control"
)

func TestClient_ReadsAndOrders(t *testing.T) {
	t.Parallel()
	sim, err := simulator.New(simulator.Config{Accounts: 2, Seed: 1, Frozen: true})
	require.NoError(t, err)
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	c := control.Client{Address: server.URL}
	var clock struct {
		Now    time.Time `json:"now"`
		Frozen bool      `json:"frozen"`
	}
	require.NoError(t, c.Get(t.Context(), "clock", &clock))
	require.True(t, clock.Frozen)
	require.True(t, sim.Clock().Now().Equal(clock.Now))
	require.NoError(t, c.Post(t.Context(), "clock", map[string]any{"frozen": false}))
	require.False(t, sim.Clock().Frozen())

	err = c.Send(t.Context(), http.MethodDelete, "faults/none", nil, nil)
	require.EqualError(t, err, "the simulator answered DELETE "+server.URL+"/_sim/faults/none with 404 Not Found")
	require.ErrorContains(t, c.Post(t.Context(), "clock", map[string]any{"frozn": true}), "400 Bad Request")
	require.ErrorContains(t, c.Get(t.Context(), "clock", new(int)), "read the simulator's answer to GET "+server.URL+
		"/_sim/clock")
	err = control.Client{Address: "http://127.0.0.1:1"}.Get(t.Context(), "clock", nil)
	require.ErrorContains(t, err, "call the simulator: ")
}
