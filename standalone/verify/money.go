package verify

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/day"
)

// This file defines what the tables of the accounts' money must hold, as spec.go does for the others.

// moneyTruth is the truth of an account's money, now or on a day: its cash, its money through a bank, if it ever uses
// one, and its grants.
type moneyTruth struct {
	cash, bank, grant truthRow
	usesBank          bool
}

// moneyColumn is what a column must hold, as text.
type moneyColumn struct {
	name string
	want func(moneyTruth) string
}

// moneyRow is one row that a table must have: its fund type or fund, and its columns. A column of the public tables
// that is not named must be NULL.
type moneyRow struct {
	key     string
	columns []moneyColumn
	ofBank  bool // only accounts that use a bank have such a row
}

// moneyTable is what one raw table and its public one must hold for an account, now or on each day; without names for a
// platform that does not report it.
type moneyTable struct {
	raw         string
	rows        []moneyRow
	public      []moneyRow
	publicTable string
	publicNames []string
}

// moneySpec is what a platform reports of its accounts' money.
type moneySpec struct {
	balance, daily moneyTable
	// toldAfter is how long after its end a day's cash flow is reported.
	toldAfter time.Duration
}

type amount func(truthRow) int64

func balance(r truthRow) int64     { return r.Balance }
func valid(r truthRow) int64       { return r.ValidBalance }
func locked(r truthRow) int64      { return r.Balance - r.ValidBalance }
func paidToday(r truthRow) int64   { return r.PaidToday }
func deposit(r truthRow) int64     { return r.Deposit }
func paid(r truthRow) int64        { return r.Paid }
func transferIn(r truthRow) int64  { return r.TransferIn }
func transferOut(r truthRow) int64 { return r.TransferOut }
func nothing(truthRow) int64       { return 0 }

// part selects the kinds of money of a row.
type part func(moneyTruth, amount) int64

func cash(t moneyTruth, of amount) int64  { return of(t.cash) }
func bank(t moneyTruth, of amount) int64  { return of(t.bank) }
func grant(t moneyTruth, of amount) int64 { return of(t.grant) }
func all(t moneyTruth, of amount) int64   { return of(t.cash) + of(t.bank) + of(t.grant) }

// paidIn is the money that people paid in, also through a bank.
func paidIn(t moneyTruth, of amount) int64 { return of(t.cash) + of(t.bank) }

// none is a kind of money that this world does not have.
func none(moneyTruth, amount) int64 { return 0 }

func inFen(name string, p part, of amount) moneyColumn {
	return moneyColumn{name, func(t moneyTruth) string { return strconv.FormatInt(p(t, of)/microsPerFen, 10) }}
}

func inMicros(name string, p part, of amount) moneyColumn {
	return moneyColumn{name, func(t moneyTruth) string { return strconv.FormatInt(p(t, of), 10) }}
}

func balanceColumn(p part) moneyColumn { return inMicros("balance", p, balance) }
func validColumn(p part) moneyColumn   { return inMicros("valid_balance", p, valid) }
func paidColumn(p part) moneyColumn    { return inMicros("paid", p, paid) }

func flowColumns(p part) []moneyColumn {
	return []moneyColumn{
		inMicros("deposit", p, deposit), paidColumn(p), inMicros("transfer_in", p, transferIn),
		inMicros("transfer_out", p, transferOut), balanceColumn(p),
	}
}

var (
	balanceNames = []string{"balance", "valid_balance"}
	flowNames    = []string{"deposit", "paid", "transfer_in", "transfer_out", "balance"}
)

// moneyKey is a row of a table of money; balances have the one day day.Epoch.
type moneyKey struct {
	day day.Day
	key string
}

func (v *verifier) compareMoney(ctx context.Context, w world, a account) error {
	now, err := v.moneyTruth(ctx, truthQuery{media: w.media, kind: "balance", account: a.externalID}, nil)
	if err != nil {
		return err
	}
	if err := v.compareMoneyTable(ctx, w, a, w.money.balance, []day.Day{day.Epoch}, now); err != nil {
		return err
	}
	if w.money.daily.raw == "" {
		return nil // The platform reports no cash flow.
	}
	last := a.today(v.PlannedAt.Add(-w.money.toldAfter)).Add(-1)
	days, left, err := v.pulledDays(ctx, "fund_daily", accountLevel, a.id, last, dailyDays)
	if err != nil {
		return err
	}
	for _, d := range left {
		for _, table := range []string{w.money.daily.raw, w.money.daily.publicTable} {
			v.seen[accountDay{table: table, accountID: a.id, day: d}] = true
		}
	}
	flow, err := v.moneyTruth(ctx, truthQuery{media: w.media, kind: "fund_daily", account: a.externalID,
		from: days[0].String(), to: days[len(days)-1].String()}, days)
	if err != nil {
		return err
	}
	return v.compareMoneyTable(ctx, w, a, w.money.daily, days, flow)
}

// moneyTruth reads the truth by day, only for the given days, or for now, which is day.Epoch.
func (v *verifier) moneyTruth(ctx context.Context, q truthQuery, days []day.Day) (map[day.Day]moneyTruth, error) {
	byDay := map[day.Day]moneyTruth{}
	err := readTruth(ctx, v.Client, v.Simulator, q, func(r truthRow) error {
		d := day.Day(r.Day)
		if days == nil {
			d = day.Epoch
		} else if !slices.Contains(days, d) {
			return nil
		}
		t := byDay[d]
		err := t.add(r)
		byDay[d] = t
		return err
	})
	return byDay, err
}

// add adds a line of the truth.
func (t *moneyTruth) add(r truthRow) error {
	switch r.Fund {
	case "cash":
		t.cash = r
	case "bank":
		t.bank, t.usesBank = r, true
	case "grant":
		t.grant = r
	default:
		return fmt.Errorf("the truth has money of the kind %q", r.Fund)
	}
	return nil
}

// compareMoneyTable compares an account's rows of a raw table and of its public one.
func (v *verifier) compareMoneyTable(ctx context.Context, w world, a account, t moneyTable, days []day.Day,
	truth map[day.Day]moneyTruth) error {
	for _, d := range days {
		for _, table := range []string{t.raw, t.publicTable} {
			v.seen[accountDay{table: table, accountID: a.id, day: d}] = true
		}
	}
	var names []string
	for _, c := range t.rows[0].columns {
		names = append(names, c.name)
	}
	if err := v.compareMoneyRows(ctx, w, a, moneyRows{t.raw, "fund_type", names, t.rows, "row_json"}, days,
		truth); err != nil {
		return err
	}
	return v.compareMoneyRows(ctx, w, a, moneyRows{t.publicTable, "fund", t.publicNames, t.public, "currency"}, days,
		truth)
}

// moneyRows is a table to compare: which of its columns is the key, and what each row must hold. Two more columns are
// checked: row_json must be JSON, and currency the account's.
type moneyRows struct {
	table, key string
	names      []string
	rows       []moneyRow
	beside     string
}

func (v *verifier) compareMoneyRows(ctx context.Context, w world, a account, m moneyRows, days []day.Day,
	truth map[day.Day]moneyTruth) error {
	have, err := v.moneyRows(ctx, m, a.id, days)
	if err != nil {
		return err
	}
	c := v.table(m.table, len(m.names)+1)
	for _, d := range days {
		t, ok := truth[d]
		if !ok {
			continue // the platform reports nothing of the day
		}
		for _, row := range m.rows {
			if row.ofBank && !t.usesBank {
				continue
			}
			k := moneyKey{d, row.key}
			what := fmt.Sprintf("%s account %s %s %q", w.media, a.externalID, d, row.key)
			values, ok := have[k]
			delete(have, k)
			c.expect(ok, what)
			want := map[string]string{}
			nonzero := false
			for _, column := range row.columns {
				want[column.name] = column.want(t)
				nonzero = nonzero || want[column.name] != "0" && column.name != "fund_status"
			}
			v.report.ExpectedRows++
			if nonzero {
				v.report.NonzeroRows++
			}
			if !ok {
				continue
			}
			for i, name := range m.names {
				value := "NULL"
				if text, told := want[name]; told {
					value = text
				}
				c.equal(what+" "+name, values[i], value)
			}
			if beside := values[len(m.names)]; m.beside == "currency" {
				c.equal(what+" currency", beside, a.Currency)
			} else if !json.Valid([]byte(beside)) {
				c.differ(what + " row_json is not JSON")
			}
		}
	}
	for k := range have {
		c.extra(fmt.Sprintf("%s account %s %s %q", w.media, a.externalID, k.day, k.key))
	}
	c.close()
	return nil
}

// moneyRows reads an account's rows.
func (v *verifier) moneyRows(ctx context.Context, m moneyRows, accountID int64, days []day.Day) (map[moneyKey][]string,
	error) {
	dayColumn, where, args := "day", " AND day IN ?", []any{accountID, days}
	if days[0] == day.Epoch {
		dayColumn, where, args = "'"+day.Epoch.String()+"'", "", []any{accountID}
	}
	rows, err := v.Store.Data.Writer(ctx).Raw("SELECT "+dayColumn+", "+m.key+", "+strings.Join(m.names, ", ")+", "+
		m.beside+" FROM "+m.table+" WHERE account_id = ?"+where, args...).Rows()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", m.table, err)
	}
	defer rows.Close()
	found := map[moneyKey][]string{}
	for rows.Next() {
		var k moneyKey
		values := make([]sql.NullString, len(m.names)+1)
		dest := []any{&k.day, &k.key}
		for i := range values {
			dest = append(dest, &values[i])
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, fmt.Errorf("read %s: %w", m.table, err)
		}
		found[k] = texts(values)
	}
	return found, rows.Err()
}

// compareMoneyOrphans finds rows that no comparison by account covered.
func (v *verifier) compareMoneyOrphans(ctx context.Context) error {
	tables := map[string]string{"account_balance": "'" + day.Epoch.String() + "'", "fund_daily": "day"}
	for _, w := range worlds {
		tables[w.money.balance.raw] = "'" + day.Epoch.String() + "'"
		if w.money.daily.raw != "" {
			tables[w.money.daily.raw] = "day"
		}
	}
	for table, dayColumn := range tables {
		if err := v.compareMoneyOrphansOf(ctx, table, dayColumn); err != nil {
			return fmt.Errorf("read %s: %w", table, err)
		}
	}
	return nil
}

func (v *verifier) compareMoneyOrphansOf(ctx context.Context, table, dayColumn string) error {
	rows, err := v.Store.Data.Writer(ctx).Raw("SELECT account_id, " + dayColumn + ", COUNT(*) FROM " + table +
		" GROUP BY 1, 2").Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	c := v.table(table, v.report.Tables[table].Columns)
	for rows.Next() {
		key := accountDay{table: table}
		var n int
		if err := rows.Scan(&key.accountID, &key.day, &n); err != nil {
			return err
		}
		for range n {
			if !v.seen[key] && !v.closed[key.accountID] {
				c.extra(fmt.Sprintf("a row of account %d on %s", key.accountID, key.day))
			}
		}
	}
	c.close()
	return rows.Err()
}
