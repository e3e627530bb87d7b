package alone

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/exclusion"
	"adsync/base/task"
)

func TestHistory_Judge(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }
	holder := task.Key{RunID: 1, AccountID: 7}
	floor := exclusion.Floor{ID: 1, Key: holder, Media: "tencent", Lane: "normal", Scope: task.OverPlatform,
		Hold: time.Minute, Claim: "host-1/word/5", HeldAt: at(10)}
	worked := func(key task.Key, node, media string, began, ended float64) work {
		return work{key: key, node: node, began: at(began), ended: at(ended), task: "a", media: media, lane: "normal"}
	}
	other := task.Key{RunID: 2, AccountID: 8}
	own := worked(holder, "host-1", "tencent", 10.1, 12)
	tests := []struct {
		name     string
		last     float64 // when the floor was last seen
		works    []work
		dead     []string
		pauses   []pause
		excused  int
		problems []string
	}{
		{name: "before and after", last: 12, works: []work{own, worked(other, "host-2", "tencent", 8, 10),
			worked(other, "host-2", "tencent", 12, 13)}},
		{name: "another platform", last: 12, works: []work{own, worked(other, "host-2", "kuaishou", 8, 20)}},
		{name: "not idle when it began", last: 12, works: []work{own, worked(other, "host-2", "tencent", 8, 11)},
			problems: []string{"subtask 8 of run 2 of a worked for 1s next to"}},
		{name: "after its last sight, while it works", last: 11, works: []work{own,
			worked(other, "host-2", "tencent", 11.2, 12.5)}, problems: []string{"subtask 8 of run 2 of a worked for 800ms"}},
		{name: "while it belongs to a dead process", last: 20, dead: []string{"host-1"}, works: []work{
			worked(holder, "host-2", "tencent", 18, 20), worked(other, "host-3", "tencent", 14, 15)},
			problems: []string{"subtask 8 of run 2 of a worked for 1s"}},
		{name: "after its time", last: 100, works: []work{worked(other, "host-2", "tencent", 70.1, 75)}},
		{name: "gone with its process", last: 11, dead: []string{"host-1"}, works: []work{
			worked(holder, "host-2", "tencent", 18, 20)}, problems: []string{"and the floor was gone 7s before its next try"}},
		{name: "free after a failure", last: 12, dead: []string{"host-1"}, works: []work{own,
			worked(holder, "host-2", "tencent", 18, 20)}},
		{name: "under way in a process that stood still", last: 12,
			pauses: []pause{{node: "host-2", began: at(5), ended: at(11)}},
			works:  []work{own, worked(other, "host-2", "tencent", 4, 11.5)}, excused: 1},
		{name: "begun by a process after it stood still", last: 13,
			pauses: []pause{{node: "host-2", began: at(5), ended: at(11)}},
			works:  []work{own, worked(other, "host-2", "tencent", 11.1, 12)}, problems: []string{
				"subtask 8 of run 2 of a worked for 900ms"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := &history{dead: tt.dead, pauses: tt.pauses}
			a.see(exclusion.Reading{Now: at(10), Floors: []exclusion.Floor{floor, {ID: 2, Key: other}}})
			a.see(exclusion.Reading{Now: at(tt.last), Floors: []exclusion.Floor{floor}})
			found := a.judge(tt.works)
			require.Equal(t, 1, found.floors, "one that is not held does not count")
			require.Equal(t, tt.excused, found.excused)
			require.Len(t, found.problems, len(tt.problems), "%v", found.problems)
			for i, text := range tt.problems {
				require.Contains(t, found.problems[i], text)
			}
		})
	}
}

func TestHistory_SeesAFloorPass(t *testing.T) {
	t.Parallel()
	a := &history{}
	for _, claim := range []string{"host-1/word/5", "host-1/word/6", "host-2/other/1", "host-2/other/1"} {
		a.see(exclusion.Reading{Floors: []exclusion.Floor{{ID: 1, Claim: claim, HeldAt: time.Unix(1, 0)}}})
	}
	require.Equal(t, 1, a.passed)
}
