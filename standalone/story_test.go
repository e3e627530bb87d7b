package standalone

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
	"adsync/simulator"
	"adsync/simulator/fault/trap"
	"adsync/standalone/story"
)

// shortNight is a story of only the distinct scenes, as fast as a small world can run.
func shortNight() story.Plan {
	night := story.Night(simulator.Nights())
	events := func(names ...string) (found []story.Event) {
		for _, name := range names {
			for _, sc := range night.Scenes {
				for _, e := range sc.Events {
					if e.Name == name {
						found = append(found, e)
					}
				}
			}
		}
		return found
	}
	return story.Plan{Speed: 120, Excerpt: true, Patience: 3 * time.Minute, Scenes: []story.Scene{
		{At: -20 * time.Minute, Title: "the evening", Events: events("page shifted")},
		{At: 0, Title: "midnight", Events: events("account frozen", "permission revoked")},
		{At: 100 * time.Minute, Title: "the look-back",
			Events: events("empty yesterday", "last row lost", "account rebound")},
		{
			At: 130 * time.Minute, Title: "late figures",
			Events: events("older pull ends last", "yesterday corrected", "token died", "account opened again",
				"edits shown late"),
		},
		{At: 520 * time.Minute, Title: "the morning", Calm: true, Events: events("metric retired")},
		{At: 540 * time.Minute, Title: "rows are lost", Events: events("day lost from the tables")},
	}}
}

// storySeed is the seed of a world in which a dozen accounts of all platforms have few ads.
const storySeed = 1719

func TestStory_EveryRowIsWhatWasPublished(t *testing.T) {
	t.Parallel()
	plan := shortNight()
	report, err := once(t, func(o *Options) { o.Accounts, o.Seed, o.Story, o.plan = ofEach(2), storySeed, true, &plan })
	require.NoError(t, err)
	require.NotNil(t, report.Story)
	require.Zero(t, report.Story.Differences, "%v", report.Story.Examples)
	require.Greater(t, report.Story.RowsCompared, int64(1000))
	require.Len(t, report.Story.Scenes, len(plan.Scenes))
	for _, scene := range report.Story.Scenes {
		require.True(t, scene.Rested, "%s: what waits for a closed account is not waited for", scene.Title)
	}
	require.Zero(t, report.Truth.Differences, "%v", report.Truth.Examples)
	met := map[string]int64{}
	for _, e := range report.Story.Events {
		met[e.Name] += e.Met
	}
	parked := map[string]int{}
	for _, sc := range plan.Scenes {
		for _, e := range sc.Events {
			require.Positive(t, met[e.Name], e.Name)
			if e.Name == "permission revoked" {
				parked["revoked"]++
			}
		}
	}
	require.Equal(t, AccountsReport{Fresh: ofEach(2) - parked["revoked"], Parked: parked}, report.Accounts)
	require.Equal(t, parked["revoked"], report.Truth.Parked)
}

func TestNewStory_IsForANewWorldInside(t *testing.T) {
	t.Parallel()
	o, dir := Options{Once: true, Story: true}, &dataDir{isNew: true}
	require.True(t, newStory(o, dir).Excerpt, "a world of few accounts need not meet every trap")
	o.Accounts = 200
	require.False(t, newStory(o, dir).Excerpt)
	require.Nil(t, newStory(o, &dataDir{}), "one that has had its night is not given another one")
	o.Simulator = "http://127.0.0.1:1"
	require.Nil(t, newStory(o, dir))
	require.Nil(t, newStory(Options{Once: true}, dir))
	require.Nil(t, newStory(Options{Story: true}, dir))
}

func TestOnceReport_WhatAStoryNeverMetIsAFailure(t *testing.T) {
	t.Parallel()
	good := func() OnceReport {
		r := OnceReport{Story: &story.Report{Events: []story.EventReport{{Name: "token died", Media: "tulip", Met: 1}}}}
		r.Story.RowsCompared, r.Truth.RowsCompared = 5, 5
		r.Truth.Traps = map[string]int64{"has_more": 3}
		r.Accounts.Parked = map[string]int{"frozen": 2}
		r.Runs = []RunReport{{Task: "a", State: task.RunSucceeded}}
		return r
	}
	require.NoError(t, good().Check(), "parked accounts are no failure")
	r := good()
	r.Truth.Traps["short_page"] = 0
	require.EqualError(t, r.Check(), "nothing differs, but the story never met: short_page")
	r = good()
	r.Story.Events[0].Met = 0
	require.EqualError(t, r.Check(), "nothing differs, but the story never met: tulip: token died")
	r = good()
	r.Story.Differences = 1
	require.ErrorIs(t, r.Check(), ErrDifferent)
	r = good()
	r.Truth.Differences = 1
	require.ErrorIs(t, r.Check(), ErrDifferent)
	r = good()
	r.Truth.RowsCompared = 0
	require.EqualError(t, r.Check(), "there was nothing to compare")
	r = good()
	r.Story.RowsCompared = 0
	require.EqualError(t, r.Check(), "nothing differs, but the story pulled nothing that could be compared")
	r = good()
	r.Runs = []RunReport{{Task: "a", State: task.RunSucceeded}, {Task: "b", State: task.RunPartial}}
	require.EqualError(t, r.Check(), "the run of b ended as partial, though nothing differs")

	r = good()
	r.traps = []trap.Trap{{Name: "has_more", Met: 3, Survived: "pulled again"}, {Name: "short_page"}}
	var out bytes.Buffer
	printOnce(&out, r)
	require.Contains(t, out.String(), "survived 3×: has_more: pulled again\n")
	require.NotContains(t, out.String(), "short_page")
	require.Contains(t, out.String(), "accounts: 0 fresh, 0 late, 2 parked (2 frozen)\n")
}
