package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/base/task"
)

// rawUpsert is the peer of upsert: only the same rows, in prepared statements.
const rawUpsert = "prepared"

const (
	// pulls is how many pulls are written, each with pulledRows rows: first all as new ones, then all with other figures.
	pulls     = 60
	pullRows  = 1000
	pullLevel = "creative"
	// rawBatch is how many rows a prepared statement has: with half or twice as many it is no faster.
	rawBatch = 250
)

var (
	pullDay  = day.Day("2026-11-20")
	rawTable = rawtable.Table{Name: platform + "_daily", Shape: rawtable.DailyRows, Columns: []rawtable.Column{
		{Name: "campaign_id", Kind: rawtable.Int}, {Name: "adgroup_id", Kind: rawtable.Int},
		{Name: "cost_fen", Kind: rawtable.Int}, {Name: "view_count", Kind: rawtable.Int},
		{Name: "valid_click_count", Kind: rawtable.Int}, {Name: "title", Kind: rawtable.Text},
	}}
)

// rawJSON is about as long as a platform's row.
var rawJSON = strings.Repeat(`,"some_metric_of_the_platform":12345`, 14)

// pulled returns the rows of an account's pull; figures vary them.
func pulled(figures int) []results.ReportRow {
	rows := make([]results.ReportRow, pullRows)
	for i := range rows {
		row := results.ReportRow{
			Day: pullDay, Object: fmt.Sprintf("%012d", i),
			Raw:  []any{i / 100, i / 10, figures + i, 7 * i, i, "a title of a creative"},
			JSON: fmt.Sprintf(`{"creative_id":%d,"cost":%d%s}`, i, figures+i, rawJSON),
		}
		for m := range metric.N {
			row.Metrics.Set(m, int64(figures+i+m))
		}
		rows[i] = row
	}
	return rows
}

// upsert measures how many rows of reports are written in a second, with their claims and their coverage, into the raw
// and the public table.
func (d *deployment) upsert(ctx context.Context) (map[string]float64, error) {
	var took time.Duration
	for _, figures := range []int{0, 1_000_000} {
		for account := range pulls {
			rows := pulled(figures)
			began := clock.Mark()
			claim, _, err := d.store.BeginPull(ctx, results.Scope{
				AccountID: int64(account + 1), Media: platform, Report: "daily", Level: pullLevel, Days: []day.Day{pullDay},
			}, fmt.Sprint("bench-", figures, "-", account), task.NewRunID(d.time.Now()))
			if err != nil {
				return nil, err
			}
			result, err := d.store.WriteReport(ctx, results.ReportWrite{Claim: claim, Raw: rawTable, Currency: "CNY",
				Zone: "Asia/Shanghai", Rows: rows, Whole: true})
			if err != nil {
				return nil, err
			}
			took += clock.Since(began)
			if result.Written != pullRows {
				return nil, fmt.Errorf("%d rows were written, want %d", result.Written, pullRows)
			}
		}
	}
	return d.upserted(ctx, took)
}

// upserted checks that all rows exist, and deletes them.
func (d *deployment) upserted(ctx context.Context, took time.Duration) (map[string]float64, error) {
	db := d.store.Data.Writer(ctx)
	for _, table := range []string{rawTable.Name, "report_daily"} {
		var rows int
		if err := db.Raw("SELECT COUNT(*) FROM " + table).Row().Scan(&rows); err != nil {
			return nil, err
		}
		if rows != pulls*pullRows {
			return nil, fmt.Errorf("%s has %d rows, want %d", table, rows, pulls*pullRows)
		}
	}
	return map[string]float64{"upsert": 2 * pulls * pullRows / took.Seconds()}, d.emptyReports(ctx, rawTable.Name)
}

// emptyReports deletes all rows of reports.
func (d *deployment) emptyReports(ctx context.Context, raw string) error {
	for _, table := range []string{raw, "report_daily", "coverage"} {
		if err := d.store.Data.Writer(ctx).Exec("TRUNCATE TABLE " + table).Error; err != nil {
			return err
		}
	}
	return nil
}

// upsertRaw writes the same rows by prepared statements of many rows, in a transaction for each pull.
func (d *deployment) upsertRaw(ctx context.Context) (values map[string]float64, err error) {
	pool, err := sql.Open("mysql", d.mariadb.DSN()+"data")
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	var raw, public *sql.Stmt
	defer func() {
		for _, s := range []*sql.Stmt{raw, public} {
			if s != nil {
				err = errors.Join(err, s.Close())
			}
		}
	}()
	if raw, err = pool.PrepareContext(ctx, upsertOf(rawTable.Name, append(rawTable.Key(), rawTable.Values()...),
		len(rawTable.Key()))); err != nil {
		return nil, err
	}
	columns := append([]string{"day", "account_id", "level", "object_id", "media", "currency", "day_zone"},
		metric.Names()...)
	if public, err = pool.PrepareContext(ctx, upsertOf("report_daily", append(columns, "updated_at", "version"),
		4)); err != nil {
		return nil, err
	}
	var took time.Duration
	for _, figures := range []int{0, 1_000_000} {
		for account := range pulls {
			rows := pulled(figures)
			began := clock.Mark()
			if err := writeRaw(ctx, pool, raw, public, account+1, rows); err != nil {
				return nil, err
			}
			took += clock.Since(began)
		}
	}
	return d.upserted(ctx, took)
}

func writeRaw(ctx context.Context, pool *sql.DB, raw, public *sql.Stmt, account int, rows []results.ReportRow) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // After a commit it does nothing.
	now := clock.System{}.Now().UTC().Format("2006-01-02 15:04:05.000")
	for len(rows) > 0 {
		some := rows[:rawBatch]
		rows = rows[rawBatch:]
		var rawArgs, publicArgs []any
		for _, r := range some {
			key := []any{r.Day.String(), account, pullLevel, r.Object}
			rawArgs = append(append(append(append(rawArgs, key...), r.Raw...), r.JSON), 1)
			publicArgs = append(append(publicArgs, key...), platform, "CNY", "Asia/Shanghai")
			publicArgs = append(r.Metrics.Args(publicArgs), now, 1)
		}
		//nolint:sqlclosecheck // The transaction closes it.
		if _, err := tx.StmtContext(ctx, raw).ExecContext(ctx, rawArgs...); err != nil {
			return err
		}
		//nolint:sqlclosecheck // The transaction closes it.
		if _, err := tx.StmtContext(ctx, public).ExecContext(ctx, publicArgs...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// upsertOf returns the upsert statement for rawBatch rows.
func upsertOf(table string, columns []string, keys int) string {
	var set []string
	for _, c := range columns[keys:] {
		set = append(set, c+" = VALUES("+c+")")
	}
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " +
		sqldb.Tuples(rawBatch, len(columns)) + " ON DUPLICATE KEY UPDATE " + strings.Join(set, ", ")
}
