package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/test/big"
)

const (
	// resultBound is the longest time that a summary or an analyst's query may take.
	resultBound = time.Second
	// How many days each of the public tables has; the last is today.
	dailyDays, hourlyDays, wideDays = 100, 10, 75
	// analystRounds is how often each query is run.
	analystRounds = 5
)

// public fills the public tables, and measures their readers.
func (d *deployment) public(ctx context.Context) error {
	if err := d.store.EnsurePartitions(ctx, today.Add(1-dailyDays), today.Add(2)); err != nil {
		return err
	}
	for _, t := range []struct {
		table        string
		share        float64 // of all rows
		days, perRow int
		least        int // days that the measures look at
		fill         func(context.Context, day.Day) error
	}{
		{"report_daily", 0.4, dailyDays, 1, 8, d.tables.Daily},
		{"report_hourly", 0.3, hourlyDays, 24, 2, d.tables.Hourly},
		{"wide_daily", 0.3, wideDays, 1, 8, d.tables.Wide},
	} {
		rows := int(t.share*float64(d.o.public)) / t.days / t.perRow
		if err := d.tables.Skew(ctx, d.o.accounts, max(rows, d.o.accounts)); err != nil {
			return err
		}
		err := d.build(ctx, t.table, func() error {
			for on := today.Add(1 - max(min(t.days, t.least), int(float64(t.days)*d.o.days))); on <= today; on = on.Add(1) {
				if err := t.fill(ctx, on); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := d.build(ctx, "coverage", func() error {
		return d.tables.Coverage(ctx, d.o.accounts, today.Add(-13),
			today)
	}); err != nil {
		return err
	}
	if err := d.build(ctx, "summary_hourly", func() error {
		return d.tables.Summaries(ctx, today.Add(-6),
			today)
	}); err != nil {
		return err
	}
	if err := d.tables.DropSkew(ctx); err != nil {
		return err
	}
	if err := d.tables.Analyze(ctx); err != nil {
		return err
	}
	if err := d.summaries(ctx, "public"); err != nil {
		return err
	}
	if err := d.analysts(ctx, "public"); err != nil {
		return err
	}
	return d.retention(ctx)
}

// summaries measures rebuilds of summaries: of one account that has changed, and of a whole day.
func (d *deployment) summaries(ctx context.Context, of string) error {
	for _, hourly := range []bool{false, true} {
		report := map[bool]string{false: "report_daily", true: "report_hourly"}[hourly]
		whole := func() error {
			var took []time.Duration
			for range 3 {
				// All accounts are marked, as after a night's pull.
				if err := d.mark(ctx, report, "account_id > 0"); err != nil {
					return err
				}
				began := clock.Mark()
				if err := d.rebuild(ctx, hourly); err != nil {
					return err
				}
				took = append(took, clock.Since(began))
			}
			bound := resultBound
			m := d.report.add(of+": "+report+", summary of a day of all accounts", took, bound)
			d.say("%s: %.0f ms", m.ID, m.Ours)
			return nil
		}
		if err := whole(); err != nil {
			return err
		}
		var took []time.Duration
		for i := range few {
			if err := d.mark(ctx, report, fmt.Sprintf("account_id = %d", 1+2*(i*97%(d.o.accounts/2)))); err != nil {
				return err
			}
			began := clock.Mark()
			if err := d.rebuild(ctx, hourly); err != nil {
				return err
			}
			took = append(took, clock.Since(began))
		}
		m := d.report.add(of+": "+report+", summary of one account's day", took, resultBound)
		d.say("%s: %.0f ms", m.ID, m.Ours)
		if err := d.exactSummary(ctx, hourly); err != nil {
			return err
		}
	}
	return nil
}

// mark marks today's accounts as dirty, and no others.
func (d *deployment) mark(ctx context.Context, report, accounts string) error {
	for _, statement := range []string{
		"UPDATE coverage SET dirty = NULL WHERE media IN ('" + big.Media + "', '" + big.Other + "') AND dirty > 0",
		"UPDATE coverage SET dirty = claimed_version WHERE " + accounts + " AND media = '" + big.Media + "' AND report = '" +
			report + "' AND level = 'account' AND day = '" + today.String() + "'",
	} {
		if _, err := d.tables.DB.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (d *deployment) rebuild(ctx context.Context, hourly bool) error {
	now, err := d.store.Data.Now(ctx)
	if err != nil {
		return err
	}
	days, err := d.store.DirtyDays(ctx, big.Media, now.UnixMicro(), 50_000)
	if err != nil {
		return err
	}
	if len(days) != 1 || days[0].Hourly != hourly {
		return fmt.Errorf("%d days are marked", len(days))
	}
	_, err = d.store.RebuildSummary(ctx, days[0])
	return err
}

// exactSummary compares the summary of the day with the sums of its accounts.
func (d *deployment) exactSummary(ctx context.Context, hourly bool) error {
	from, into := "report_daily", "summary_daily"
	if hourly {
		from, into = "report_hourly", "summary_hourly"
	}
	const sums = "SELECT CONCAT_WS(' ', SUM(cost), SUM(impressions), SUM(clicks), SUM(conversions)) FROM "
	of := " WHERE day = '" + today.String() + "' AND media = '" + big.Media + "'"
	var accounts, summary string
	if err := d.tables.DB.QueryRowContext(ctx, sums+from+" FORCE INDEX (level_account)"+of+
		" AND level = 'account'").Scan(&accounts); err != nil {
		return err
	}
	if err := d.tables.DB.QueryRowContext(ctx, sums+into+of).Scan(&summary); err != nil {
		return err
	}
	if accounts != summary {
		return fmt.Errorf("%s has the sums %s, and its accounts %s", into, summary, accounts)
	}
	return nil
}

var queryBlock = regexp.MustCompile("(?s)```sql\n-- (.*?)\n(.*?)```")

// analysts runs the queries of the documentation, and logs the plan of a query that takes too long.
func (d *deployment) analysts(ctx context.Context, of string) error {
	text, err := os.ReadFile("docs/queries.md")
	if err != nil {
		return err
	}
	for _, block := range queryBlock.FindAllStringSubmatch(string(text), -1) {
		if of == "summary" && !strings.Contains(block[2], "summary_") {
			continue
		}
		var took []time.Duration
		rows := 0
		for range analystRounds {
			began := clock.Mark()
			if rows, err = d.query(ctx, block[2]); err != nil {
				return fmt.Errorf("%s: %w", block[1], err)
			}
			took = append(took, clock.Since(began))
		}
		m := d.report.add(of+": "+block[1], took, resultBound)
		d.say("%s: %.0f ms, median %.0f, %d rows", m.ID, m.Ours, m.Median, rows)
		if !m.Over {
			continue
		}
		var plan string
		if err := d.tables.DB.QueryRowContext(ctx, "ANALYZE FORMAT=JSON "+block[2]).Scan(&plan); err != nil {
			return fmt.Errorf("plan of %s: %w", block[1], err)
		}
		d.say("its plan: %s", plan)
	}
	return nil
}

func (d *deployment) query(ctx context.Context, query string) (n int, err error) {
	rows, err := d.tables.DB.QueryContext(ctx, query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

// summary fills the summaries, keeping the last days of the public tables, and measures the summaries' readers and
// writers.
func (d *deployment) summary(ctx context.Context) error {
	for _, table := range []string{"summary_daily", "summary_hourly"} {
		if _, err := d.tables.DB.ExecContext(ctx, "TRUNCATE TABLE "+table); err != nil {
			return err
		}
	}
	const perDay = 25 * big.Games * 4
	days := max(3, d.o.summary/perDay)
	err := d.build(ctx, "summary_hourly", func() error { return d.tables.Summaries(ctx, today.Add(1-days), today) })
	if err != nil {
		return err
	}
	if err := d.tables.Analyze(ctx); err != nil {
		return err
	}
	if n, err := d.rowsOf(ctx, "coverage"); err == nil && n > 0 { // Summaries are built from these rows.
		if err := d.summaries(ctx, "summary"); err != nil {
			return err
		}
	}
	return d.analysts(ctx, "summary")
}
