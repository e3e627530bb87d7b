package standalone

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
	"adsync/simulator"
)

// shortNight is a story of the scenes that bring something of their own, as fast as a small world can.
func shortNight() storyPlan {
	night := nightOf(simulator.Nights())
	events := func(names ...string) (found []event) {
		for _, name := range names {
			for _, sc := range night.scenes {
				for _, e := range sc.events {
					if e.name == name {
						found = append(found, e)
					}
				}
			}
		}
		return found
	}
	return storyPlan{speed: 120, excerpt: true, patience: 3 * time.Minute, scenes: []scene{
		{at: -20 * time.Minute, title: "the evening", events: events("page shifted")},
		{at: 0, title: "midnight", events: events("account frozen", "permission revoked")},
		{at: 100 * time.Minute, title: "the look-back", events: events("empty yesterday", "last row lost", "account rebound", "edits shown late")},
		{
			at: 130 * time.Minute, title: "late figures",
			events: events("older pull ends last", "yesterday corrected", "token died", "account frozen no more"),
		},
		{at: 520 * time.Minute, title: "the morning", calm: true, events: events("metric retired")},
		{at: 540 * time.Minute, title: "rows are lost", events: events("day lost from the tables")},
	}}
}

func TestStory_EveryRowIsWhatWasPublished(t *testing.T) {
	t.Parallel()
	plan := shortNight()
	report, err := once(t, func(o *Options) { o.Accounts, o.Story, o.plan = ofEach(2), true, &plan })
	require.NoError(t, err)
	require.NotNil(t, report.Story)
	require.Zero(t, report.Story.Differences, "%v", report.Story.Examples)
	require.Greater(t, report.Story.RowsCompared, int64(1000))
	require.Len(t, report.Story.Scenes, len(plan.scenes))
	for _, scene := range report.Story.Scenes {
		require.True(t, scene.Rested, "%s: what waits for a closed account is not waited for", scene.Title)
	}
	require.Zero(t, report.Truth.Differences, "%v", report.Truth.Examples)
	met := map[string]int64{}
	for _, e := range report.Story.Events {
		met[e.Name] += e.Met
	}
	parked := map[string]int{}
	for _, sc := range plan.scenes {
		for _, e := range sc.events {
			require.Positive(t, met[e.name], e.name)
			if e.name == "permission revoked" {
				parked["revoked"]++
			}
		}
	}
	require.Equal(t, AccountsReport{Fresh: ofEach(2) - parked["revoked"], Parked: parked}, report.Accounts)
	require.Equal(t, parked["revoked"], report.Truth.Parked)
}

func TestNightOf_PlaysAllThatThePlatformsHave(t *testing.T) {
	t.Parallel()
	platforms, own := simulator.Nights(), 0
	for _, p := range platforms {
		own += len(p.Events)
	}
	// To each platform its pages shift and its tokens end; three events are of all platforms together.
	want := own + 2*len(platforms) + 3
	for _, sc := range nightOf(platforms).scenes {
		want -= len(sc.events)
	}
	require.Zero(t, want, "an event is at a moment that has no scene")
}

func TestNewStory_IsForANewWorldInside(t *testing.T) {
	t.Parallel()
	o, dir := Options{Once: true, Story: true}, &dataDir{isNew: true}
	require.True(t, newStory(o, dir).excerpt, "a world of few accounts need not meet every trap")
	o.Accounts = 200
	require.False(t, newStory(o, dir).excerpt)
	require.Nil(t, newStory(o, &dataDir{}), "one that has had its night is not given another one")
	o.Simulator = "http://127.0.0.1:1"
	require.Nil(t, newStory(o, dir))
	require.Nil(t, newStory(Options{Once: true}, dir))
	require.Nil(t, newStory(Options{Story: true}, dir))
}

func TestOnceReport_WhatAStoryNeverMetIsAFailure(t *testing.T) {
	t.Parallel()
	good := func() OnceReport {
		r := OnceReport{Story: &StoryReport{Events: []EventReport{{Name: "token died", Met: 1}}}}
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
	require.EqualError(t, r.Check(), "nothing differs, but the story never met: token died")
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
	r.traps = []trap{{Name: "has_more", Met: 3, Survived: "pulled again"}, {Name: "short_page"}}
	var out bytes.Buffer
	printOnce(&out, r)
	require.Contains(t, out.String(), "survived 3×: has_more: pulled again\n")
	require.NotContains(t, out.String(), "short_page")
	require.Contains(t, out.String(), "accounts: 0 fresh, 0 late, 2 parked (2 frozen)\n")
}
