package engine

import (
	"context"
	"log/slog"
	"slices"

	"adsync/base/ratelimit/grant"
	"adsync/base/store"
	"adsync/media"
	"adsync/media/external"
)

// ExternalPlatforms reads the enabled platforms without Go code. A row that cannot be used is logged and left out: the
// other platforms work. A change takes effect when the processes start again.
func ExternalPlatforms(ctx context.Context, s *store.Store, log *slog.Logger) ([]media.Platform, error) {
	rows, err := s.ExternalMedias(ctx)
	if err != nil {
		return nil, err
	}
	taken := append(PlatformNames(), "system")
	var all []media.Platform
	for i := range rows {
		row := &rows[i]
		if !row.Enabled {
			continue
		}
		rules, err := row.Rules()
		if err == nil {
			err = grant.NewRules().Set(rules)
		}
		if err != nil || slices.Contains(taken, row.Name) {
			log.Error("a row of media_external cannot be used", "media", row.Name, "err", err)
			continue
		}
		all = append(all, external.New(row.Name, rules))
	}
	return all, nil
}

// names returns the names of platforms, in their order.
func names(platforms []media.Platform) []string {
	all := make([]string, len(platforms))
	for i, p := range platforms {
		all[i] = p.Name()
	}
	return all
}
