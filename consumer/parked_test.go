package consumer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
	"adsync/media"
)

func TestJudge_WhatWaitsForItsAccountIsNotExpiredBeforehand(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	e := task.Envelope{RetryMax: 5}
	v := judge(e, media.WaitForParked(7, "frozen"), time.Minute, func() float64 { return 0 })
	o := v.outcome(e, now)
	require.Equal(t, task.Deferred, o.State)
	require.Equal(t, now.Add(24*time.Hour), o.DueAt)
	require.Equal(t, "account:7", o.WaitsFor)
	require.Equal(t, "its account is parked, frozen", o.Reason)

	e.Deadline = now.Add(time.Hour)
	o = v.outcome(e, now)
	require.Equal(t, task.Deferred, o.State, "the account may come back within the hour")
	require.Equal(t, e.Deadline, o.DueAt)
}
