package standalone

import (
	"context"
	"strings"

	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/producer"
	"adsync/publish"
	"adsync/upkeep"
)

// firstRound runs every task of a new world once, so that nobody must wait for the crons: first those that keep today
// fresh, with the day of the sample reports, then what the samples need, and then everything else.
func (s *stack) firstRound(ctx context.Context) {
	by := task.Order{By: "standalone's first start"}
	day := by
	day.From = sampleDay(s.world.clock.Now())
	day.To, day.Lane = day.From, settings.LaneImportant
	for _, step := range []orderFor{
		func(row producer.Task) (task.Order, bool) {
			if strings.HasSuffix(row.Handler, ".report_daily") && strings.HasSuffix(row.Name, ".look_back") {
				return day, true
			}
			return by, phaseOf(row) == 0 && row.Lane == settings.LaneImportant
		},
		func(row producer.Task) (task.Order, bool) { return by, row.Handler == upkeep.SummaryName },
		func(row producer.Task) (task.Order, bool) { return by, row.Handler == publish.FilesName },
		func(row producer.Task) (task.Order, bool) {
			return by, phaseOf(row) == 0 && row.Lane != settings.LaneImportant
		},
		ofPhase(1, by), ofPhase(2, by),
	} {
		if _, err := s.runPhase(ctx, s.world.clock.Now(), step, func([]ledger.Run) {}); err != nil {
			if ctx.Err() == nil {
				s.Logger.Error("the first round of all tasks failed; their crons continue", "err", err)
			}
			return
		}
	}
}
