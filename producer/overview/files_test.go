package overview_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/publishing"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/producer/overview"
	"adsync/producer/overview/overviewtest"
)

func TestRead_NamesFilesThatDoNotArrive(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	now := overviewtest.Clock{}.Now()
	for _, name := range []string{"shelf", "idle"} {
		row := publishing.Destination{Name: name, Kind: "dir", Address: "/srv", Enabled: true}
		require.NoError(t, s.Config.Writer(t.Context()).Create(&row).Error)
	}
	var all []publishing.Publication
	add := func(state publishing.State, change func(*publishing.Publication)) {
		on := day.Day("2026-11-01").Add(len(all))
		id := task.NewRunID(now.Add(time.Duration(len(all)) * time.Second))
		p := publishing.Publication{ID: id, Subscription: "sales", FromDay: on, ToDay: on, Revision: 1,
			Sequence: 1, Destination: "shelf", Name: "x", State: state, PlannedAt: now.Add(-time.Hour), ReadyAt: now,
			UpdatedAt: now}
		if change != nil {
			change(&p)
		}
		all = append(all, p)
	}
	plan := func() {
		_, err := s.PlanFiles(t.Context(), all)
		require.NoError(t, err)
	}
	items := func() map[string][]string {
		found := map[string][]string{}
		for _, a := range overview.NewReader(options(s)).Read(t.Context()).Attention {
			if a.Kind == "destination" || len(a.Kind) > 5 && a.Kind[:5] == "files" {
				found[a.Kind] = []string{a.Severity, a.Title, a.Cause, a.Command}
			}
		}
		return found
	}
	add(publishing.Waiting, func(p *publishing.Publication) { p.LatestAt = now.Add(time.Second) })
	add(publishing.Planned, func(p *publishing.Publication) { p.ReadyAt = now.Add(-30 * time.Minute) })
	add(publishing.Published, nil)
	add(publishing.Failed, func(p *publishing.Publication) { p.PlannedAt = now.Add(-25 * time.Hour) })
	plan()
	require.Empty(t, items(), "nothing needs attention")

	add(publishing.Waiting, func(p *publishing.Publication) { p.LatestAt = now })
	add(publishing.Uploaded, func(p *publishing.Publication) { p.ReadyAt = now.Add(-31 * time.Minute) })
	add(publishing.Failed, func(p *publishing.Publication) { p.ErrorText = "the query has no rows" })
	add(publishing.Failed, func(p *publishing.Publication) { p.ErrorText = "the name is taken" })
	plan()
	require.Equal(t, map[string][]string{
		"files_failed": {"bad", "2 report files have not been delivered to shelf",
			"The last one, sales/2026-11-08/r1: the name is taken.",
			"adsync publications list --state failed --destination shelf"},
		"files_held": {"bad", "1 report file for shelf held at the latest moment",
			"Figures are missing that they wait for, and their subscriptions hold incomplete files.",
			"adsync publications list --state waiting --destination shelf"},
		"files_late": {"warn", "Report files for shelf are late",
			"The figures are there, and at least one file has not been published for half an hour.",
			"adsync publications list --destination shelf"},
	}, items())

	require.NoError(t, s.DestinationFailed(t.Context(), "shelf", "connect: refused", now, now))
	require.NoError(t, s.DestinationFailed(t.Context(), "gone", "connect: refused", now, now))
	got := items()
	require.Equal(t, []string{"warn", "The destination shelf cannot be used", "Connect: refused.",
		"adsync destinations check shelf"}, got["destination"])
	require.NotContains(t, got, "files_late", "the destination is why")

	require.NoError(t, s.DestinationWorked(t.Context(), "shelf", time.Time{}))
	require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE destination SET enabled = 0").Error)
	require.Equal(t, "The destination is switched off.", items()["files_late"][2])
}
