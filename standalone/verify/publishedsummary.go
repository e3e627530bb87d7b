package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"adsync/base/day"
	"adsync/base/metric"
)

// CompareSummaries finds rows of the summaries that are not the sums of the accounts' rows, by the bindings that are
// applied. Rows that are marked for a rebuild may be old. No work may run meanwhile.
func (p *Published) CompareSummaries(ctx context.Context) error {
	for _, hourly := range []bool{false, true} {
		if err := p.compareSums(ctx, hourly); err != nil {
			table, _ := summaryOf(hourly)
			return fmt.Errorf("compare %s: %w", table, err)
		}
	}
	return nil
}

func (p *Published) compareSums(ctx context.Context, hourly bool) error {
	report := reportName(hourly)
	summary, hour := summaryOf(hourly)
	db := p.Store.Data.Writer(ctx)
	type mediaDay struct {
		Media string
		Day   day.Day
	}
	var marked []mediaDay
	if err := db.Raw(
		"SELECT DISTINCT media, day FROM coverage WHERE report = ? AND level = 'account' AND dirty IS NOT NULL",
		report).Scan(&marked).Error; err != nil {
		return fmt.Errorf("read the marks: %w", err)
	}
	group := ", r.media, bound_game, bound_os, r.currency, r.day_zone"
	if hourly {
		group = ", hour" + group
	}
	query := "SELECT r.day, " + hour +
		", r.media, COALESCE(b.game, 'unassigned') bound_game, COALESCE(b.os, 'unknown') bound_os, r.currency, r.day_zone" +
		", SUM(r." + strings.Join(metric.Names(), "), SUM(r.") + ")" +
		" FROM " + report +
		" r LEFT JOIN binding_applied b ON b.account_id = r.account_id AND b.from_day <= r.day AND r.day <= b.to_day" +
		" WHERE r.level = 'account' GROUP BY r.day" + group
	want, have := map[summaryKey]summaryValues{}, map[summaryKey]summaryValues{}
	rows, err := db.Raw(query).Rows()
	if err := scanSummary(rows, err, func(k summaryKey, v summaryValues) { want[k] = v }); err != nil {
		return err
	}
	if err := readSummary(ctx, p.Store, hourly, func(k summaryKey, v summaryValues) { have[k] = v }); err != nil {
		return err
	}
	all := maps.Clone(want)
	maps.Copy(all, have)
	for k := range all {
		if slices.Contains(marked, mediaDay{k.media, k.day}) {
			continue
		}
		p.report.RowsCompared++
		sum, wanted := want[k]
		row, found := have[k]
		if wanted && found && row == sum {
			continue
		}
		p.differ("%s: %s is not the sum of its accounts", summary, k)
	}
	return nil
}
