package verify

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"adsync/base/day"
	"adsync/base/metric"
)

// sums are the metrics of a row of a summary.
type sums [metric.N]sql.NullInt64

// CompareSummaries finds rows of the summaries that are not the sums of the accounts' rows, by the bindings that are applied. What is
// marked for a rebuild may be old. Nothing may be under way meanwhile.
func (p *Published) CompareSummaries(ctx context.Context) error {
	for _, hourly := range []bool{false, true} {
		report, summary, hour := reportName(hourly), "summary_daily", "0"
		if hourly {
			summary, hour = "summary_hourly", "hour"
		}
		if err := p.compareSums(ctx, report, summary, hour); err != nil {
			return fmt.Errorf("compare %s: %w", summary, err)
		}
	}
	return nil
}

func (p *Published) compareSums(ctx context.Context, report, summary, hour string) error {
	db := p.Store.Data.Writer(ctx)
	type mediaDay struct {
		Media string
		Day   day.Day
	}
	var marked []mediaDay
	if err := db.Raw("SELECT DISTINCT media, day FROM coverage WHERE report = ? AND level = 'account' AND dirty IS NOT NULL", report).Scan(&marked).Error; err != nil {
		return fmt.Errorf("read what is marked: %w", err)
	}
	group := ", r.media, bound_game, bound_os, r.currency, r.day_zone"
	if hour != "0" {
		group = ", hour" + group
	}
	query := "SELECT r.day, " + hour + ", r.media, COALESCE(b.game, 'unassigned') bound_game, COALESCE(b.os, 'unknown') bound_os, r.currency, r.day_zone" +
		", SUM(r." + strings.Join(metric.Names(), "), SUM(r.") + ")" +
		" FROM " + report + " r LEFT JOIN binding_applied b ON b.account_id = r.account_id AND b.from_day <= r.day AND r.day <= b.to_day" +
		" WHERE r.level = 'account' GROUP BY r.day" + group
	want, err := readSums(db.Raw(query).Rows())
	if err != nil {
		return err
	}
	have, err := readSums(db.Raw("SELECT day, " + hour + ", media, game, os, currency, day_zone, " + strings.Join(metric.Names(), ", ") + " FROM " + summary).Rows())
	if err != nil {
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
		p.report.Differences++
		if len(p.report.Examples) < examplesMax {
			p.report.Examples = append(p.report.Examples, fmt.Sprintf("%s: %s is not the sum of its accounts", summary, k))
		}
	}
	return nil
}

func readSums(rows *sql.Rows, err error) (map[summaryKey]sums, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[summaryKey]sums{}
	for rows.Next() {
		var k summaryKey
		var values sums
		dest := []any{&k.day, &k.hour, &k.media, &k.game, &k.os, &k.Currency, &k.Timezone}
		for i := range values {
			dest = append(dest, &values[i])
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		all[k] = values
	}
	return all, rows.Err()
}
