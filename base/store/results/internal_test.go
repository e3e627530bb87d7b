package results

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
)

// gatheringTest runs values that are named after table, account and number of rows. Each run lasts until it is ended.
type gatheringTest struct {
	gathering[string]
	mu   sync.Mutex
	runs []string
	ends chan struct{}
}

func (g *gatheringTest) run(values []*gathered[string]) {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.value
	}
	g.mu.Lock()
	g.runs = append(g.runs, strings.Join(names, " "))
	g.mu.Unlock()
	<-g.ends
}

func (g *gatheringTest) want(t *testing.T, runs ...string) {
	t.Helper()
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Equal(t, runs, g.runs)
}

func (g *gatheringTest) add(name, table string, account int64, rows int) {
	go g.gathering.add(&gathered[string]{of: Scope{AccountID: account}, table: table, rows: rows, value: name}, g.run)
	synctest.Wait()
}

func TestGathering_WhatWaitsRunsTogetherByTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gatheringTest{ends: make(chan struct{})}
		g.add("first", "a", 1, 1)
		g.add("second", "a", 2, 1)
		g.add("a3", "a", 3, 1)
		g.add("b4", "b", 4, 1)
		g.add("a5", "a", 5, 1)
		g.add("a3-again", "a", 3, 1)
		g.add("b6-large", "b", 6, togetherRows)
		g.add("b7", "b", 7, 1)
		g.want(t, "first", "second")
		g.ends <- struct{}{}
		g.want(t, "first", "second", "a3 a5")
		g.ends <- struct{}{}
		g.want(t, "first", "second", "a3 a5", "b4 b7")
		g.ends <- struct{}{}
		g.want(t, "first", "second", "a3 a5", "b4 b7", "a3-again")
		g.ends <- struct{}{}
		g.want(t, "first", "second", "a3 a5", "b4 b7", "a3-again", "b6-large")
		g.ends <- struct{}{}
		g.ends <- struct{}{}
		synctest.Wait()
		require.Zero(t, g.running)
	})
}

func TestGathering_ASlowRunHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gatheringTest{ends: make(chan struct{})}
		g.add("first", "a", 1, 1)
		g.add("second", "a", 2, 1)
		g.add("third", "b", 3, 1)
		g.add("fourth", "c", 4, 1)
		time.Sleep(runnerSlow - 1)
		g.want(t, "first", "second")
		time.Sleep(time.Nanosecond)
		g.want(t, "first", "second", "third", "fourth")
		time.Sleep(runnerSlow)
		g.add("fifth", "a", 5, 1)
		g.want(t, "first", "second", "third", "fourth", "fifth")
		close(g.ends)
		synctest.Wait()
		require.Zero(t, g.running, "a slow run is not counted down twice")
	})
}

// Pulls that are compared with what their accounts have elsewhere run apart from others, one of an account at a time.
func TestGathering_ComparedPullsOfAnAccountRunOneByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gatheringTest{ends: make(chan struct{})}
		add := func(name string, account int64, level string) {
			go g.gathering.add(&gathered[string]{of: Scope{AccountID: account, Level: level}, table: "a", value: name,
				compared: true}, g.run)
			synctest.Wait()
		}
		add("1x", 1, "x")
		add("1y", 1, "y")
		g.want(t, "1x")
		add("2x", 2, "x")
		g.want(t, "1x", "2x")
		add("2y", 2, "y")
		add("3x", 3, "x")
		add("3y", 3, "y")
		g.add("plain1", "a", 1, 1)
		g.add("plain3", "a", 3, 1)
		g.want(t, "1x", "2x")
		time.Sleep(runnerSlow)
		g.want(t, "1x", "2x", "3x", "plain1 plain3")
		time.Sleep(runnerSlow)
		close(g.ends)
		synctest.Wait()
		later := slices.Sorted(slices.Values(strings.Fields(strings.Join(g.runs[4:], " "))))
		require.Equal(t, []string{"1y", "2y", "3y"}, later, "nothing is left behind, though its account was busy")
		require.Zero(t, g.running)
		require.Empty(t, g.held)
	})
}

func TestGathering_APanicIsLeftToTheCallers(t *testing.T) {
	t.Parallel()
	var g gathering[string]
	v := &gathered[string]{}
	g.add(v, func([]*gathered[string]) { panic("a bug") })
	require.True(t, v.alone)
	v = &gathered[string]{}
	g.add(v, func([]*gathered[string]) {})
	require.False(t, v.alone)
	require.Empty(t, g.waiting)
}

// What is locked and added up are the days of each account, and not those of all accounts for each.
func TestAround_EachAccountHasItsOwnDays(t *testing.T) {
	t.Parallel()
	with := []ReportLevel{{"report_daily", "account"}, {"report_daily", "adgroup"}}
	yesterday, before := []day.Day{"2026-11-19"}, []day.Day{"2026-11-18"}
	var a around
	a.add(1, yesterday, with)
	a.add(3, yesterday, with)
	condition, args := a.whereCoverage()
	require.Equal(t, "account_id IN (1,3) AND day IN ? AND report IN ? AND level IN ?", condition)
	require.Equal(t, []any{yesterday, []string{"report_daily"}, []string{"account", "adgroup"}}, args)
	a.add(2, before, with)
	condition, args = a.where()
	require.Equal(t, "account_id IN (1,3,2) AND (account_id IN (1,3) AND day IN ? OR account_id IN (2) AND day IN ?)",
		condition)
	require.Equal(t, []any{yesterday, before}, args)
}
