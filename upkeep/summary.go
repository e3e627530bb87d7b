package upkeep

import (
	"context"

	"adsync/base/store/summaries"
	"adsync/media"
)

// dirtyBatch is how many dirty marks a summary subtask reads at a time: the marks of all accounts of a day, so that the
// day is summed once.
const dirtyBatch = 50_000

// SummaryName is the handler that keeps the summaries.
const SummaryName = Name + ".summary"

// summary is the kind system.summary: it rebuilds the summaries of days whose figures changed.
type summary struct {
	Deps
	noParams
}

func (summary) Name() string { return SummaryName }

func (s summary) Parts(plan media.Plan, _ struct{}) ([]string, error) {
	return names(s.Platforms), refuseDays(plan)
}

func (s summary) Run(ctx context.Context, work media.Work, _ struct{}) (media.Result, error) {
	return rebuildSummaries(ctx, s.Deps, work.Part)
}

// summaryStore is what rebuildSummaries needs of the store.
type summaryStore interface {
	DirtyDays(ctx context.Context, media string, upTo int64, limit int) ([]summaries.DirtyDay, error)
	RebuildSummary(ctx context.Context, d summaries.DirtyDay) (int, error)
}

// rebuildSummaries rebuilds a platform's summaries for every mark that existed when it began. It leaves later marks to
// the next run, so that it ends.
func rebuildSummaries(ctx context.Context, deps Deps, platform string) (media.Result, error) {
	var result media.Result
	begin, err := deps.Marks.Now(ctx)
	if err != nil {
		return result, err
	}
	for {
		days, err := deps.Store.DirtyDays(ctx, platform, begin.UnixMicro(), dirtyBatch)
		if err != nil || len(days) == 0 {
			return result, err
		}
		for _, d := range days {
			n, err := deps.Store.RebuildSummary(ctx, d)
			if err != nil {
				return result, err
			}
			result.Rows += n
		}
	}
}
