package verify

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/store"
)

// summaries adds up the truth of the account level by the bindings that operators wrote.
type summaries struct {
	bindings map[int64][]binding
	daily    map[summaryKey]map[string]int64
	hourly   map[summaryKey]map[string]int64
}

type binding struct {
	from, to day.Day
	game, os string
}

type summaryKey struct {
	day             day.Day
	hour            int
	media, game, os string
	Home            // sums of two currencies, or of days that begin at two moments, mean nothing
}

// summaryDay is a day of a platform in one of the summaries.
type summaryDay struct {
	hourly bool
	media  string
	day    day.Day
	Home
}

func (k summaryKey) String() string {
	return fmt.Sprintf("%s %02dh %s %s %s %s %s", k.day, k.hour, k.media, k.game, k.os, k.Currency, k.Timezone)
}

func newSummaries(ctx context.Context, s *store.Store) (*summaries, error) {
	sums := &summaries{bindings: map[int64][]binding{}, daily: map[summaryKey]map[string]int64{},
		hourly: map[summaryKey]map[string]int64{}}
	rows, err := s.Config.Writer(ctx).Raw("SELECT account_id, from_day, to_day, game, os FROM account_binding").Rows()
	if err != nil {
		return nil, fmt.Errorf("read account_binding: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var b binding
		if err := rows.Scan(&id, &b.from, &b.to, &b.game, &b.os); err != nil {
			return nil, fmt.Errorf("read account_binding: %w", err)
		}
		sums.bindings[id] = append(sums.bindings[id], b)
	}
	return sums, rows.Err()
}

func (s *summaries) add(w world, a account, hourly bool, k rowKey, r truthRow) {
	key := summaryKey{day: k.day, hour: k.hour, media: w.media, Home: a.Home}
	key.game, key.os = s.gameOf(a.id, k.day)
	into := s.daily
	if hourly {
		into = s.hourly
	}
	if into[key] == nil {
		into[key] = map[string]int64{}
	}
	for name, value := range r.Metrics {
		into[key][name] += value
	}
}

// gameOf returns the game to which an account belongs on a day.
func (s *summaries) gameOf(accountID int64, on day.Day) (game, os string) {
	game, os = "unassigned", "unknown"
	for _, b := range s.bindings[accountID] {
		if b.from <= on && on <= b.to {
			game, os = b.game, b.os
		}
	}
	return game, os
}

// summaryOf returns a summary's table, and its column of the hour.
func summaryOf(hourly bool) (table, hour string) {
	if hourly {
		return "summary_hourly", "hour"
	}
	return "summary_daily", "0"
}

// summaryValues are the metrics of a summary's row.
type summaryValues [metric.N]sql.NullInt64

// readSummary calls each for the rows of a summary.
func readSummary(ctx context.Context, s *store.Store, hourly bool, each func(summaryKey, summaryValues)) error {
	table, hour := summaryOf(hourly)
	rows, err := s.Data.Writer(ctx).Raw("SELECT day, " + hour + ", media, game, os, currency, day_zone, " +
		strings.Join(metric.Names(), ", ") + " FROM " + table).Rows()
	return scanSummary(rows, err, each)
}

// scanSummary calls each for rows that have the columns of a summary: day, hour, media, game, os, currency, zone and
// the metrics.
func scanSummary(rows *sql.Rows, err error, each func(summaryKey, summaryValues)) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k summaryKey
		var values summaryValues
		dest := []any{&k.day, &k.hour, &k.media, &k.game, &k.os, &k.Currency, &k.Timezone}
		for i := range values {
			dest = append(dest, &values[i])
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		each(k, values)
	}
	return rows.Err()
}

func (v *verifier) compareSummaries(ctx context.Context, sums *summaries) error {
	for _, hourly := range []bool{false, true} {
		want := sums.daily
		if hourly {
			want = sums.hourly
		}
		if err := v.compareSummary(ctx, hourly, want); err != nil {
			table, _ := summaryOf(hourly)
			return fmt.Errorf("compare %s: %w", table, err)
		}
	}
	return nil
}

func (v *verifier) compareSummary(ctx context.Context, hourly bool, want map[summaryKey]map[string]int64) error {
	public := map[string]map[string]string{}
	for _, w := range worlds {
		public[w.media] = w.public
	}
	table, _ := summaryOf(hourly)
	c := v.table(table, metric.N+2)
	isLeft := func(k summaryKey) bool {
		return v.left[summaryDay{hourly: hourly, media: k.media, day: k.day, Home: k.Home}]
	}
	err := readSummary(ctx, v.Store, hourly, func(k summaryKey, values summaryValues) {
		if isLeft(k) {
			return
		}
		truth, ok := want[k]
		if !ok {
			c.extra(k.String())
			return
		}
		delete(want, k)
		c.expect(true, k.String())
		v.expected(1, truthRow{Metrics: truth})
		compareMetrics(c, k.String(), public[k.media], values, truth)
	})
	if err != nil {
		return err
	}
	for k, truth := range want {
		if isLeft(k) {
			continue
		}
		v.expected(1, truthRow{Metrics: truth})
		c.expect(false, k.String())
	}
	c.close()
	return nil
}
