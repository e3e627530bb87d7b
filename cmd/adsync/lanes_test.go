package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const aLane = `{"media": "tulip", "name": "normal", "pool_size": 7, "workers_max": 3, "partitions": 0, "backlog_max": 0,
  "late_seconds": 60,
  "importance": 25, "in_force": {"backlog_max": 50000, "late_seconds": 60, "importance": 25},
  "tasks": ["a.one", "a.two"]}`

func TestLanes_AreShownAndChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args                 []string
		answer, asked, shown string
	}{
		{
			[]string{"list"}, `{"lanes": [` + aLane + `]}`, "GET /api/v1/lanes ",
			"tulip:normal  7          3            default     50000        1m0s        25          2",
		},
		{[]string{"show", "tulip:normal"}, aLane, "GET /api/v1/lanes/tulip/normal ", "backlog max  50000 (default)"},
		{[]string{"show", "normal"}, aLane, "GET /api/v1/lanes/%2A/normal ", "a.one, a.two"},
		{
			[]string{"set", "tulip:normal", "--pool-size", "0", "--workers-max", "3", "--importance", "25"}, aLane,
			`PUT /api/v1/lanes/tulip/normal {"importance":25,"pool_size":0,"workers_max":3}`, "workers max  3",
		},
		{[]string{"delete", "tulip:normal"}, aLane, "DELETE /api/v1/lanes/tulip/normal ",
			"Deleted the lane tulip:normal, whose pool size was 7. Its topic stays.\n"},
	} {
		stdout, asked := sent(t, c.answer, append([]string{"lanes"}, c.args...)...)
		require.Equal(t, c.asked, asked)
		require.Contains(t, stdout, c.shown)
	}
	require.Equal(t, exitUsage, adsync(nil, "lanes", "set", "--pool-size", "1").code)
}

func TestKinds_AreShown(t *testing.T) {
	t.Parallel()
	const answer = `{"kinds": [{"name": "tulip.a", "target": "accounts", "served_by": ["n/1"], "tasks": [
	  {"name": "a.one", "media": "tulip", "lane": "normal", "served_by": ["n/1"]},
	  {"name": "a.two", "media": "tulip", "lane": "closed", "served_by": []}]}]}`
	stdout, asked := sent(t, answer, "kinds", "--unserved")
	require.Equal(t, "GET /api/v1/kinds?unserved=true ", asked)
	require.Contains(t, stdout, "tulip.a  accounts      2      1          a.two")
}
