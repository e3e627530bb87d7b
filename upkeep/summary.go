package upkeep

import (
	"context"
	"encoding/json"

	"adsync/base/store/summaries"
	"adsync/media"
)

// dirtyBatch is how many dirty marks a summary subtask reads at a time: the marks of all accounts of a day, so that the
// day is summed once.
const dirtyBatch = 50_000

func summaryHandler(deps Deps) media.Handler {
	return media.Handler{
		Name:   Name + ".summary",
		Target: media.Once,
		Check:  func(raw json.RawMessage) error { return media.CheckParams(raw, &struct{}{}) },
		Parts:  func(plan media.Plan) ([]string, error) { return names(deps.Platforms), refuseDays(plan) },
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			return rebuildSummaries(ctx, deps, work.Part)
		},
	}
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
