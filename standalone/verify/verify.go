// Package verify compares every row of the results with the simulator's truth. It uses neither the adapters nor the
// code that wrote the rows.
package verify

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/sqldb"
	"adsync/base/store"
)

// Table is the outcome of one table.
type Table struct {
	Rows        int64 `json:"rows"`        // rows compared: those of the truth and the table's additional ones
	Columns     int   `json:"columns"`     // columns compared in each row
	Differences int64 `json:"differences"` // missing rows + extra rows + different values
}

// Report is the outcome of a comparison.
type Report struct {
	RowsCompared int64 `json:"rows_compared"`
	// as the simulator counts its truth (summaries: as derived from it)
	ExpectedRows int64            `json:"expected_rows"`
	NonzeroRows  int64            `json:"nonzero_rows"` // expected rows whose figures are not all zero
	Differences  int64            `json:"differences"`
	Tables       map[string]Table `json:"tables"`
	// Parked counts accounts that the platform has closed to adsync: their figures stay as last pulled, and are not
	// compared.
	Parked int `json:"parked,omitempty"`
	// Traps is how often each trap of the simulated world was met, if that was read from the world.
	Traps map[string]int64 `json:"traps,omitempty"`
	// Examples are the first differences, in words.
	Examples []string `json:"examples,omitempty"`
}

const (
	examplesMax     = 20
	examplesOfTable = 4 // so that one table does not hide the others
)

// Options name the tables and the truth to compare.
type Options struct {
	Store *store.Store
	// Simulator is the address of the simulator's control API, without a trailing slash.
	Simulator string
	Client    *http.Client
	// Platforms are the platforms that the simulator has; nil is all that are compared.
	Platforms []string
	// Now is the world's time; its day is the last one that was pulled.
	Now time.Time
	// PlannedAt is when the last pulls were planned, by the clock of the deployment, if that is not the world's: a day's
	// cash flow is available, and pulled, from an hour of the next day on. The zero time stands for Now.
	PlannedAt time.Time
	// Since is when the last pulls began, by the database's time: beyond the days that they cover, days that were last
	// pulled before Since are left out because their figures may have moved. The zero time leaves out none.
	Since time.Time
	// Shallow leaves out what is below the ad group, creatives with their figures, images and videos, for deployments
	// that do not pull it.
	Shallow bool
	// Partner is the partner's database; nil if the deployment has none.
	Partner *sql.DB
}

func (o *Options) worlds() []world {
	if o.Platforms == nil {
		return worlds
	}
	return slices.DeleteFunc(slices.Clone(worlds), func(w world) bool { return !slices.Contains(o.Platforms, w.media) })
}

type verifier struct {
	Options
	report Report
	// seen are the compared account-days of each table; a row of any other is an extra row.
	seen map[accountDay]bool
	// closed are adsync's ids of the accounts in Report.Parked.
	closed map[int64]bool
	// left are the days of the summaries without an account's figures.
	left map[summaryDay]bool
	// wide is what wide_daily must have for the present account, partner are the partner's rows.
	wide     *wideTruth
	partner  map[partnerAccount][]partnerRow
	wideDays []day.Day // those of wide_daily
	wideRows int
	retired  retirements
	shown    map[string]int // the number of examples by table, including those not kept
}

type accountDay struct {
	table, level string
	accountID    int64
	day          day.Day
}

// Run compares all raw, public, summary and wide rows of all accounts with the truth, and the copy of the partner's
// with the partner's. A figure that a platform has retired is NULL: the days that are compared were pulled since.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.PlannedAt.IsZero() {
		o.PlannedAt = o.Now
	}
	v := &verifier{Options: o, seen: map[accountDay]bool{}, closed: map[int64]bool{}, left: map[summaryDay]bool{}}
	v.report.Tables = map[string]Table{}
	sums, err := newSummaries(ctx, o.Store)
	if err != nil {
		return Report{}, err
	}
	if err := errors.Join(v.readPartner(ctx), v.readWideDays(ctx)); err != nil {
		return Report{}, err
	}
	if v.retired, err = readRetired(ctx, o.Store); err != nil {
		return Report{}, err
	}
	for _, w := range o.worlds() {
		accounts, err := v.accounts(ctx, w.media)
		if err != nil {
			return Report{}, err
		}
		if err := v.compareAccounts(ctx, w, accounts); err != nil {
			return Report{}, err
		}
		for _, a := range accounts {
			if a.isClosed() {
				if err := v.leaveOut(ctx, w, a, sums); err != nil {
					return Report{}, fmt.Errorf("read the figures of account %s, which is parked: %w", a.externalID, err)
				}
				continue
			}
			if err := v.compareAccount(ctx, w, a, sums); err != nil {
				return Report{}, err
			}
		}
	}
	if err := v.compareOrphans(ctx); err != nil {
		return Report{}, err
	}
	if err := v.compareMoneyOrphans(ctx); err != nil {
		return Report{}, err
	}
	if err := v.compareSummaries(ctx, sums); err != nil {
		return Report{}, err
	}
	if err := errors.Join(v.comparePartner(ctx), v.compareWideOrphans(ctx)); err != nil {
		return Report{}, err
	}
	for _, t := range v.report.Tables {
		v.report.RowsCompared += t.Rows
		v.report.Differences += t.Differences
	}
	return v.report, nil
}

// compareAccount compares all pulled rows of an account, and its part of the wide table.
func (v *verifier) compareAccount(ctx context.Context, w world, a account, sums *summaries) error {
	v.wide = newWideTruth()
	for _, o := range w.objects {
		if v.Shallow && o.deep() {
			continue
		}
		if err := v.compareObjects(ctx, w.media, o, a); err != nil {
			return fmt.Errorf("compare %s of account %s: %w", o.table, a.externalID, err)
		}
	}
	if err := v.compareMoney(ctx, w, a); err != nil {
		return fmt.Errorf("compare the money of account %s: %w", a.externalID, err)
	}
	if !v.Shallow && !w.assetless {
		if err := v.compareAssets(ctx, w.media, a); err != nil {
			return fmt.Errorf("compare the assets of account %s: %w", a.externalID, err)
		}
	}
	for _, level := range w.levels {
		if v.Shallow && level.name == creativeLevel {
			continue
		}
		for _, hourly := range []bool{false, true} {
			if err := v.compareReport(ctx, w, a, level, hourly, sums); err != nil {
				return fmt.Errorf("compare reports of account %s: %w", a.externalID, err)
			}
		}
	}
	if !v.Shallow {
		if err := v.compareWide(ctx, w, a, sums); err != nil {
			return fmt.Errorf("compare wide_daily of account %s: %w", a.externalID, err)
		}
	}
	return nil
}

// account is an account in adsync's tables.
type account struct {
	id         int64
	externalID string
	name       string
	Home       // as in adsync's tables
	zone       *time.Location
	parked     string
}

// isClosed reports whether the platform itself has closed an account to adsync.
func (a account) isClosed() bool {
	reason, _, _ := strings.Cut(a.parked, ":")
	return reason == "frozen" || reason == "revoked"
}

// today returns a moment's day in the account's time zone.
func (a account) today(now time.Time) day.Day { return day.Of(now, a.zone) }

func (v *verifier) accounts(ctx context.Context, platform string) ([]account, error) {
	rows, err := v.Store.Config.Writer(ctx).Raw(
		"SELECT id, external_id, name, currency, timezone, parked FROM media_account WHERE media = ? ORDER BY id",
		platform).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []account
	for rows.Next() {
		var a account
		if err := rows.Scan(&a.id, &a.externalID, &a.name, &a.Currency, &a.Timezone, &a.parked); err != nil {
			return nil, err
		}
		if a.zone, err = time.LoadLocation(a.Timezone); err != nil {
			return nil, fmt.Errorf("account %s: %w", a.externalID, err)
		}
		all = append(all, a)
	}
	return all, rows.Err()
}

// compareAccounts compares adsync's list of accounts, and the platform's rows of them, with the truth.
func (v *verifier) compareAccounts(ctx context.Context, w world, accounts []account) error {
	homes, err := Homes(ctx, v.Client, v.Simulator, w.media)
	if err != nil {
		return err
	}
	c := v.table("media_account", 4)
	for _, a := range accounts {
		if home, ok := homes[a.externalID]; ok {
			c.equal(fmt.Sprintf("%s account %s: currency", w.media, a.externalID), a.Currency, home.Currency)
			c.equal(fmt.Sprintf("%s account %s: timezone", w.media, a.externalID), a.Timezone, home.Timezone)
		}
	}
	ours, raw, unnamed := map[string]string{}, map[string]string{}, map[string]bool{}
	rows, err := v.rawAccounts(ctx, w)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		ours[a.externalID] = a.name
		// A login lists an account that it has lost as no longer valid: one that was lost before its first list has no row.
		row, listed := rows[a.id]
		unnamed[a.externalID] = (a.name == "" || !listed) && a.isClosed()
		if listed {
			raw[a.externalID] = row.name
		}
	}
	if err := v.compareNames(ctx, c, w, ours, unnamed); err != nil {
		return err
	}
	c = v.table(w.accounts, 2)
	for _, a := range accounts {
		row, ok := rows[a.id]
		delete(rows, a.id)
		home, isKnown := homes[a.externalID]
		// Whether a parked account has details depends on the time of the pull.
		if ok && isKnown && w.company != "" && (a.parked == "" || row.company.Valid) {
			c.equal(fmt.Sprintf("%s account %s: company", w.media, a.externalID), row.company.String, home.Company)
		}
	}
	for id := range rows {
		c.extra(fmt.Sprintf("our account %d", id))
	}
	return v.compareNames(ctx, c, w, raw, unnamed)
}

// rawAccount is a row of a platform's raw table of accounts.
type rawAccount struct {
	name    string
	company sql.NullString // NULL where the platform has no such column
}

// rawAccounts reads a platform's raw table of accounts, by adsync's account id.
func (v *verifier) rawAccounts(ctx context.Context, w world) (map[int64]rawAccount, error) {
	rows, err := v.Store.Data.Writer(ctx).Raw("SELECT account_id, " + w.nameColumn + ", " + cmp.Or(w.company, "NULL") +
		" FROM " + w.accounts).Rows()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", w.accounts, err)
	}
	defer rows.Close()
	all := map[int64]rawAccount{}
	for rows.Next() {
		var id int64
		var a rawAccount
		if err := rows.Scan(&id, &a.name, &a.company); err != nil {
			return nil, fmt.Errorf("read %s: %w", w.accounts, err)
		}
		all[id] = a
	}
	return all, rows.Err()
}

// compareNames holds names by external id against the truth's accounts. unnamed are the accounts whose names no login
// can read.
func (v *verifier) compareNames(ctx context.Context, c *comparison, w world, ours map[string]string,
	unnamed map[string]bool) error {
	err := readTruth(ctx, v.Client, v.Simulator, truthQuery{media: w.media, kind: "account"}, func(r truthRow) error {
		v.report.ExpectedRows++
		v.report.NonzeroRows++
		name, ok := ours[r.Account]
		delete(ours, r.Account)
		if name == "" && unnamed[r.Account] {
			return nil
		}
		c.expect(ok, fmt.Sprintf("%s account %s", w.media, r.Account))
		if ok {
			c.equal(fmt.Sprintf("%s account %s: name", w.media, r.Account), name, r.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id := range ours {
		c.extra(w.media + " account " + id)
	}
	c.close()
	return nil
}

// pulledDays returns the days to be compared, ascending: those that must have been pulled, as many as days up to last,
// and others that were pulled by coverage. It also returns the days that are left out because they were last pulled
// before Since.
func (v *verifier) pulledDays(ctx context.Context, report, level string, accountID int64, last day.Day,
	days int) (pulled, left []day.Day, err error) {
	pulled = day.Between(last.Add(1-days), last)
	var covered []struct {
		Day      day.Day
		PulledAt sqldb.Time
	}
	err = v.Store.Data.Writer(ctx).Raw(
		"SELECT day, pulled_at FROM coverage WHERE account_id = ? AND report = ? AND level = ?", accountID, report,
		level).Scan(&covered).Error
	if err != nil {
		return nil, nil, fmt.Errorf("read coverage: %w", err)
	}
	for _, c := range covered {
		switch {
		case slices.Contains(pulled, c.Day):
		case c.PulledAt.Before(v.Since):
			left = append(left, c.Day)
		default:
			pulled = append(pulled, c.Day)
		}
	}
	slices.Sort(pulled)
	return pulled, left, nil
}

// leaveOut counts an account that is closed to adsync. The summaries have its figures as last pulled.
func (v *verifier) leaveOut(ctx context.Context, w world, a account, sums *summaries) error {
	v.report.Parked++
	v.closed[a.id] = true
	wide, err := v.wideRowsOf(ctx, a.id)
	if err != nil {
		return fmt.Errorf("read wide_daily: %w", err)
	}
	v.wideRows += len(wide)
	for _, hourly := range []bool{false, true} {
		report := reportName(hourly)
		pulled, left, err := v.pulledDays(ctx, report, accountLevel, a.id, a.today(v.Now), 1)
		if err != nil {
			return err
		}
		rows, err := v.publicReport(ctx, report, scope{accountID: a.id, level: accountLevel, hourly: hourly,
			days: slices.Concat(pulled, left)})
		if err != nil {
			return err
		}
		for k, values := range rows {
			r := truthRow{Metrics: map[string]int64{}}
			for i, m := range metric.All {
				if name, ok := w.public[m.Name]; ok && values.metrics[i].Valid {
					r.Metrics[name] = values.metrics[i].Int64
				}
			}
			sums.add(w, a, hourly, k, r)
		}
	}
	return nil
}

// comparison gathers the outcome of one table; close adds it to the report.
type comparison struct {
	v       *verifier
	name    string
	columns int
	Table
}

func (v *verifier) table(name string, columns int) *comparison {
	return &comparison{v: v, name: name, columns: columns}
}

func (c *comparison) differ(text string) {
	c.Differences++
	if c.v.shown == nil {
		c.v.shown = map[string]int{}
	}
	if c.v.shown[c.name]++; c.v.shown[c.name] <= examplesOfTable && len(c.v.report.Examples) < examplesMax {
		c.v.report.Examples = append(c.v.report.Examples, c.name+": "+text)
	}
}

// expect counts an expected row and reports whether it is missing.
func (c *comparison) expect(found bool, what string) {
	c.Rows++
	if !found {
		c.differ(what + " is missing")
	}
}

func (c *comparison) extra(what string) {
	c.Rows++
	c.differ(what + " is not in the truth")
}

func (c *comparison) equal(what, have, want string) {
	if have != want {
		c.differ(fmt.Sprintf("%s is %s, the truth is %s", what, have, want))
	}
}

func (c *comparison) close() {
	t := c.v.report.Tables[c.name]
	t.Rows += c.Rows
	t.Differences += c.Differences
	t.Columns = c.columns
	c.v.report.Tables[c.name] = t
}
