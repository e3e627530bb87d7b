package verify

import (
	"context"
	"slices"
	"time"

	"adsync/base/store"
	"adsync/base/store/settings"
)

// pulledReport is a report of a platform at a level.
type pulledReport struct{ media, report, level string }

// retirements are the truth's metrics that reports have lost because their platform retired the field, with the time
// by the database's clock: days pulled whole before it have the figure, days pulled after it have NULL.
type retirements map[pulledReport]map[string]time.Time

func readRetired(ctx context.Context, s *store.Store) (retirements, error) {
	rows, err := s.ReportFields(ctx, "")
	if err != nil {
		return nil, err
	}
	all := retirements{}
	for _, r := range rows {
		if r.State != settings.FieldRetired {
			continue
		}
		report := worldOf(r.Media).report
		at := slices.IndexFunc(report, func(c rawColumn) bool { return c.field() == r.Field })
		if at < 0 {
			continue
		}
		k := pulledReport{r.Media, r.Report, r.Level}
		if all[k] == nil {
			all[k] = map[string]time.Time{}
		}
		all[k][report[at].metric] = r.RetiredAt.Time
	}
	return all, nil
}

// lost returns the metrics that a pull did not get, as one or two answers to try: a metric that was retired during the
// pull may still have come.
func (r retirements) lost(media string, pull pulledDay) [][]string {
	var gone, unsure []string
	for metric, at := range r[pulledReport{media, pull.Report, pull.Level}] {
		// Hours that were not pulled since are those of the last pull of the whole day. The time in the row is cut to
		// milliseconds.
		begin, end := time.UnixMicro(pull.CompleteVersion), pull.PulledAt.Add(time.Millisecond)
		switch {
		case begin.After(at):
			gone = append(gone, metric)
		case end.After(at):
			unsure = append(unsure, metric)
		}
	}
	if len(unsure) == 0 {
		return [][]string{gone}
	}
	return [][]string{gone, slices.Concat(gone, unsure)}
}
