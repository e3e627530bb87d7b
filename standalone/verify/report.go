package verify

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/sqldb"
)

// rowKey names a row of a report of one account and level.
type rowKey struct {
	day    day.Day
	hour   int
	object string
}

func (k rowKey) String() string { return fmt.Sprintf("%s %02dh object %q", k.day, k.hour, k.object) }

func (v *verifier) compareReport(ctx context.Context, w world, a account, l level, hourly bool, sums *summaries) error {
	level := l.name
	report, raw, days := reportName(hourly), w.rawTable(hourly), dailyDays
	if hourly {
		days = hourlyDays
	}
	pulled, left, err := v.pulledDays(ctx, report, level, a.id, a.today(v.Now), days)
	if err != nil {
		return err
	}
	for _, d := range slices.Concat(pulled, left) {
		v.seen[accountDay{table: raw, level: level, accountID: a.id, day: d}] = true
		v.seen[accountDay{table: report, level: level, accountID: a.id, day: d}] = true
	}
	for _, d := range left {
		if !hourly {
			v.wide.left[levelDay{level, d}] = true
		}
		if level == accountLevel {
			v.left[summaryDay{hourly: hourly, media: w.media, day: d, Home: a.Home}] = true
		}
	}
	scope := scope{accountID: a.id, level: level, hourly: hourly, days: pulled}
	rawRows, err := v.rawReport(ctx, w, raw, scope)
	if err != nil {
		return err
	}
	publicRows, err := v.publicReport(ctx, report, scope)
	if err != nil {
		return err
	}
	rawTable, public := v.table(raw, len(w.columns(hourly))+1), v.table(report, metric.N+3)
	query := truthQuery{media: w.media, kind: report, level: l.truth, from: pulled[0].String(),
		to: pulled[len(pulled)-1].String(), account: a.externalID}
	err = readTruth(ctx, v.Client, v.Simulator, query, func(r truthRow) error {
		k := rowKey{day: day.Day(r.Day), hour: r.Hour, object: r.Object}
		if !slices.Contains(pulled, k.day) {
			return nil
		}
		for name := range v.retired[pulledReport{w.media, report, level}] {
			delete(r.Metrics, name)
		}
		v.expected(2, r)
		what := fmt.Sprintf("account %s %s %s", a.externalID, level, k)
		have, ok := rawRows[k]
		delete(rawRows, k)
		rawTable.expect(ok, what)
		if ok {
			compareRaw(rawTable, what, w.columns(hourly), have, r)
		}
		values, ok := publicRows[k]
		delete(publicRows, k)
		public.expect(ok, what)
		if ok {
			comparePublic(public, what, w, a, values, r)
		}
		if level == accountLevel {
			sums.add(w, a, hourly, k, r)
		}
		if !hourly {
			v.wide.figures[wideKey{k.day, level, k.object}] = r
		}
		return nil
	})
	if err != nil {
		return err
	}
	for k := range rawRows {
		rawTable.extra(fmt.Sprintf("account %s %s %s", a.externalID, level, k))
	}
	for k := range publicRows {
		public.extra(fmt.Sprintf("account %s %s %s", a.externalID, level, k))
	}
	rawTable.close()
	public.close()
	return nil
}

// reportName is a report, and the public table that holds it.
func reportName(hourly bool) string {
	if hourly {
		return "report_hourly"
	}
	return "report_daily"
}

func compareRaw(c *comparison, what string, columns []rawColumn, have []string, r truthRow) {
	for i, column := range columns {
		c.equal(what+" "+column.name, have[i], column.want(r))
	}
}

func (v *verifier) expected(rows int64, r truthRow) {
	v.report.ExpectedRows += rows
	for _, value := range r.Metrics {
		if value != 0 {
			v.report.NonzeroRows += rows
			return
		}
	}
}

// publicValues is a row of a public table: its metrics, then media, currency and day_zone.
type publicValues struct {
	metrics [metric.N]sql.NullInt64
	media   string
	money   string
	zone    string
}

func comparePublic(c *comparison, what string, w world, a account, have publicValues, r truthRow) {
	c.equal(what+" media", have.media, w.media)
	c.equal(what+" currency", have.money, a.Currency)
	c.equal(what+" day_zone", have.zone, a.Timezone)
	compareMetrics(c, what, w.public, have.metrics, r.Metrics)
}

// compareMetrics compares a row's metrics with the truth's. Metrics that the truth does not have must be NULL.
func compareMetrics(c *comparison, what string, public map[string]string, have [metric.N]sql.NullInt64,
	truth map[string]int64) {
	for i, m := range metric.All {
		value, told := truth[public[m.Name]]
		if want := (sql.NullInt64{Int64: value, Valid: told}); have[i] != want {
			c.equal(what+" "+m.Name, number(have[i]), number(want))
		}
	}
}

// scope selects the rows of a table that are compared with one part of the truth.
type scope struct {
	accountID int64
	level     string
	hourly    bool
	days      []day.Day
}

func (s scope) hour() string {
	if s.hourly {
		return "hour"
	}
	return "0"
}

func (v *verifier) publicReport(ctx context.Context, table string, s scope) (map[rowKey]publicValues, error) {
	query := "SELECT day, " + s.hour() + ", object_id, " + strings.Join(metric.Names(), ", ") +
		", media, currency, day_zone FROM " + table +
		" WHERE day IN ? AND account_id = ? AND level = ?"
	rows, err := v.Store.Data.Writer(ctx).Raw(query, s.days, s.accountID, s.level).Rows()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table, err)
	}
	defer rows.Close()
	all := map[rowKey]publicValues{}
	for rows.Next() {
		var k rowKey
		var p publicValues
		dest := []any{&k.day, &k.hour, &k.object}
		for i := range p.metrics {
			dest = append(dest, &p.metrics[i])
		}
		if err := rows.Scan(append(dest, &p.media, &p.money, &p.zone)...); err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		all[k] = p
	}
	return all, rows.Err()
}

func (v *verifier) rawReport(ctx context.Context, w world, table string, s scope) (map[rowKey][]string, error) {
	columns := w.columns(s.hourly)
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	query := "SELECT day, " + s.hour() + ", object_id, " + strings.Join(names, ", ") + ", row_json FROM " + table +
		" WHERE day IN ? AND account_id = ? AND level = ?"
	rows, err := v.Store.Data.Writer(ctx).Raw(query, s.days, s.accountID, s.level).Rows()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table, err)
	}
	defer rows.Close()
	all := map[rowKey][]string{}
	for rows.Next() {
		var k rowKey
		values := make([]sql.NullString, len(names))
		var text string
		dest := []any{&k.day, &k.hour, &k.object}
		for i := range values {
			dest = append(dest, &values[i])
		}
		if err := rows.Scan(append(dest, &text)...); err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		if !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("read %s: row_json of %s is not JSON", table, k)
		}
		all[k] = texts(values)
	}
	return all, rows.Err()
}

func texts(values []sql.NullString) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = "NULL"
		if v.Valid {
			out[i] = v.String
		}
	}
	return out
}

// compareOrphans finds rows that no comparison by account covered: of accounts that are not in media_account, and of
// account-days that were not due and are not in coverage.
func (v *verifier) compareOrphans(ctx context.Context) error {
	tables := []string{"report_daily", "report_hourly"}
	for _, w := range worlds {
		tables = append(tables, w.daily, w.hourly)
	}
	for _, table := range tables {
		rows, err := v.Store.Data.Writer(ctx).Raw("SELECT level, account_id, day, COUNT(*) FROM " + table +
			" GROUP BY level, account_id, day").Rows()
		if err != nil {
			return fmt.Errorf("read %s: %w", table, err)
		}
		defer rows.Close()
		c := v.table(table, v.report.Tables[table].Columns)
		for rows.Next() {
			key := accountDay{table: table}
			var n int
			if err := rows.Scan(&key.level, &key.accountID, &key.day, &n); err != nil {
				return fmt.Errorf("read %s: %w", table, err)
			}
			for range n {
				if !v.seen[key] && !v.closed[key.accountID] {
					c.extra(fmt.Sprintf("a row of account %d, level %s, on %s", key.accountID, key.level, key.day))
				}
			}
		}
		if err := rows.Err(); err != nil {
			return fmt.Errorf("read %s: %w", table, err)
		}
		c.close()
	}
	return nil
}

// objectRow is a row of a configuration table.
type objectRow struct {
	deleted bool
	values  []string // of the columns that are compared
}

// objectRows reads an account's rows of a configuration table, by the objects' ids.
func (v *verifier) objectRows(ctx context.Context, w objects, accountID int64) (map[string]objectRow, error) {
	names := make([]string, len(w.columns))
	for i, c := range w.columns {
		names[i] = c.name
	}
	rows, err := v.Store.Data.Writer(ctx).Raw("SELECT object_id, deleted_at, "+strings.Join(names, ", ")+" FROM "+w.table+
		" WHERE account_id = ?", accountID).Rows()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", w.table, err)
	}
	defer rows.Close()
	have := map[string]objectRow{}
	for rows.Next() {
		var id string
		var deletedAt sqldb.Time
		dest := []any{&id, &deletedAt}
		instants := make([]sqldb.Time, len(names))
		values := make([]sql.NullString, len(names))
		for i, c := range w.columns {
			if c.instant {
				dest = append(dest, &instants[i])
			} else {
				dest = append(dest, &values[i])
			}
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, fmt.Errorf("read %s: %w", w.table, err)
		}
		o := objectRow{deleted: !deletedAt.IsZero(), values: texts(values)}
		for i, c := range w.columns {
			if c.instant {
				o.values[i] = dated(instants[i].Unix())
			}
		}
		have[id] = o
	}
	return have, rows.Err()
}

// compare compares a row with the truth.
func (w objects) compare(c *comparison, what string, have objectRow, r truthRow) {
	c.equal(what+" deleted", strconv.FormatBool(have.deleted), strconv.FormatBool(r.Deleted))
	for i, column := range w.columns {
		c.equal(what+" "+column.name, have.values[i], column.want(r))
	}
}

func (v *verifier) compareObjects(ctx context.Context, media string, w objects, a account) error {
	have, err := v.objectRows(ctx, w, a.id)
	if err != nil {
		return err
	}
	c := v.table(w.table, len(w.columns)+1)
	err = readTruth(ctx, v.Client, v.Simulator, truthQuery{media: media, kind: w.kind, account: a.externalID},
		func(r truthRow) error {
			o, ok := have[r.Object]
			delete(have, r.Object)
			v.wide.objects[object{w.level, r.Object}] = r
			v.wide.unseen[object{w.level, r.Object}] = r.Unlisted && !ok && !w.idNamesParent
			if r.Unlisted && (!ok || o.deleted) {
				return nil // whether adsync ever pulled it depends on the time of the pull
			}
			v.report.ExpectedRows++
			v.report.NonzeroRows++
			what := fmt.Sprintf("account %s object %s", a.externalID, r.Object)
			c.expect(ok, what)
			if ok {
				w.compare(c, what, o, r)
			}
			return nil
		})
	for id := range have {
		c.extra(fmt.Sprintf("account %s object %s", a.externalID, id))
	}
	c.close()
	return err
}
