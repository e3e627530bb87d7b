package overview

import (
	"context"
	"fmt"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/base/store/settings"
)

// The sources of metrics. Rows of accounts are read a page of accounts at a time, each by its key.

// WatchAccount is an account as metrics need it, without its figures.
type WatchAccount struct {
	ID         int64
	Tier       string
	Timezone   string
	Currency   string
	Parked     string // why it is not pulled; "" if it is
	LoginState string // of its login; "" if it has none
}

// WatchAccounts returns the bound accounts of a media with an id above after, by id. It leaves out those of the tier
// invalid, except those that are invalid because a person must authorise their login again.
func (s Watching) WatchAccounts(ctx context.Context, media string, after int64, limit int) ([]WatchAccount, error) {
	var accounts []WatchAccount
	err := s.Config.Current(ctx).Raw(
		"SELECT a.id, a.tier, a.timezone, a.currency, a.parked, COALESCE(t.state, '') AS login_state"+
			" FROM media_account a LEFT JOIN media_token t ON t.id = a.token_id"+
			" WHERE a.media = ? AND a.bound = 1 AND (a.tier <> ? OR a.tier_reason = 'login') AND a.id > ? ORDER BY a.id LIMIT ?",
		media, settings.TierInvalid, after, limit).Scan(&accounts).Error
	if err != nil {
		return nil, fmt.Errorf("read the accounts of %s: %w", media, err)
	}
	return accounts, nil
}

// PulledDay is how far the tables can be trusted for a day of an account's report and level.
type PulledDay struct {
	AccountID int64                 `gorm:"column:account_id"`
	Day       day.Day               `gorm:"column:day"`
	State     results.CoverageState `gorm:"column:state"`
	PulledAt  sqldb.Time            `gorm:"column:pulled_at"`
	Complete  int64                 `gorm:"column:complete_version"`
}

// WholeAt returns when the day was last pulled whole, zero if it never was.
func (p PulledDay) WholeAt() time.Time {
	if p.Complete == 0 {
		return time.Time{}
	}
	return time.UnixMicro(p.Complete).UTC()
}

// GoodAt returns when a pull was last believed, also one of the day's last hours. For a day that is not whole it is
// when it last was.
func (p PulledDay) GoodAt() time.Time {
	if p.State == results.Complete {
		return p.PulledAt.Time
	}
	return p.WholeAt()
}

// PulledDays returns the coverage of some days of accounts. Days that were never pulled are not among them.
func (s Watching) PulledDays(ctx context.Context, accountIDs []int64, report, level string,
	days []day.Day) ([]PulledDay, error) {
	var pulled []PulledDay
	err := s.Data.Current(ctx).Raw(
		"SELECT account_id, day, state, pulled_at, complete_version FROM coverage"+
			" WHERE account_id IN ? AND report = ? AND level = ? AND day IN ? AND pulled_at IS NOT NULL",
		accountIDs, report, level, days).Scan(&pulled).Error
	if err != nil {
		return nil, fmt.Errorf("read when %s by %s was pulled: %w", report, level, err)
	}
	return pulled, nil
}

// AccountSpend is what an account spent on a day, in millionths of the currency.
type AccountSpend struct {
	AccountID int64   `gorm:"column:account_id"`
	Day       day.Day `gorm:"column:day"`
	Currency  string  `gorm:"column:currency"`
	Cost      int64   `gorm:"column:cost"`
}

// DailySpend returns what accounts spent on some days.
func (s Watching) DailySpend(ctx context.Context, accountIDs []int64, days []day.Day) ([]AccountSpend, error) {
	var spent []AccountSpend
	err := s.Data.Current(ctx).Raw(
		"SELECT account_id, day, currency, cost FROM report_daily"+
			" WHERE day IN ? AND account_id IN ? AND level = ? AND cost > 0",
		days, accountIDs, settings.AccountLevel).Scan(&spent).Error
	if err != nil {
		return nil, fmt.Errorf("read what %s spent: %w", plural.Count(len(accountIDs), "account", "accounts"), err)
	}
	return spent, nil
}

// HoursSpend returns what accounts spent on some days in the hours from from up to but not including to. Accounts
// without spend are not among them.
func (s Watching) HoursSpend(
	ctx context.Context, accountIDs []int64, days []day.Day, from, to int,
) ([]AccountSpend, error) {
	var spent []AccountSpend
	err := s.Data.Current(ctx).Raw(
		"SELECT account_id, day, MAX(currency) AS currency, CAST(SUM(cost) AS SIGNED) AS cost FROM report_hourly"+
			" WHERE day IN ? AND account_id IN ? AND level = ? AND hour >= ? AND hour < ? AND cost > 0 GROUP BY account_id, day",
		days, accountIDs, settings.AccountLevel, from, to).Scan(&spent).Error
	if err != nil {
		return nil, fmt.Errorf("read what %s spent in some hours: %w", plural.Count(len(accountIDs), "account", "accounts"),
			err)
	}
	return spent, nil
}

// AccountMoney is what an account can spend, in millionths of the currency.
type AccountMoney struct {
	AccountID int64
	Currency  string
	Balance   int64
}

// Balances returns what accounts can spend, if their platform reports it.
func (s Watching) Balances(ctx context.Context, accountIDs []int64) ([]AccountMoney, error) {
	var money []AccountMoney
	err := s.Data.Current(ctx).Raw(
		"SELECT account_id, currency, COALESCE(valid_balance, balance) AS balance FROM account_balance"+
			" WHERE account_id IN ? AND fund = 'total' AND COALESCE(valid_balance, balance) IS NOT NULL",
		accountIDs).Scan(&money).Error
	if err != nil {
		return nil, fmt.Errorf("read the balances of %s: %w", plural.Count(len(accountIDs), "account", "accounts"), err)
	}
	return money, nil
}

// Showing returns which of the accounts have objects that are shown.
func (s Watching) Showing(
	ctx context.Context, table rawtable.Table, shown rawtable.Shown, accountIDs []int64,
) ([]int64, error) {
	if len(accountIDs) == 0 || !hasColumn(table, shown.Column) {
		return nil, nil
	}
	var ids []int64
	err := s.Data.Current(ctx).Raw("SELECT DISTINCT account_id FROM "+table.Name+
		" WHERE account_id IN ? AND deleted_at IS NULL AND "+shown.Column+" = ?", accountIDs, shown.Value).Scan(&ids).Error
	if err != nil {
		return nil, fmt.Errorf("read which accounts show %s: %w", strings.TrimPrefix(table.Name, "_"), err)
	}
	return ids, nil
}

func hasColumn(table rawtable.Table, name string) bool {
	for _, c := range table.Columns {
		if c.Name == name {
			return true
		}
	}
	return false
}

// SpendRow is the spend of a game on a media in one currency, in millionths of it, on two days in one time zone.
type SpendRow struct {
	Game, Media, Currency string
	Today, TodayHours     int64 // TodayHours and YesterdayHours are the hours before a given one
	Yesterday             int64
	YesterdayHours        int64
}

// SpendZones returns the time zones in which the summaries have rows of some days.
func (s Watching) SpendZones(ctx context.Context, days []day.Day) ([]string, error) {
	var zones []string
	if err := s.Data.Current(ctx).Raw("SELECT DISTINCT day_zone FROM summary_hourly WHERE day IN ?",
		days).Scan(&zones).Error; err != nil {
		return nil, fmt.Errorf("read the zones of summary_hourly: %w", err)
	}
	return zones, nil
}

// Spend returns the spend of a day and of the one before it, in one time zone, and that of the hours of each before
// the given one.
func (s Watching) Spend(ctx context.Context, today day.Day, hour int, zone string) ([]SpendRow, error) {
	var rows []SpendRow
	sum := func(name, when string) string {
		return ", CAST(COALESCE(SUM(CASE WHEN " + when + " THEN cost END), 0) AS SIGNED) AS " + name
	}
	yesterday := today.Add(-1)
	err := s.Data.Current(ctx).Raw("SELECT game, media, currency"+sum("today", "day = ?")+
		sum("today_hours", "day = ? AND hour < ?")+
		sum("yesterday", "day = ?")+sum("yesterday_hours", "day = ? AND hour < ?")+
		" FROM summary_hourly WHERE day IN (?, ?) AND day_zone = ? GROUP BY game, media, currency",
		today, today, hour, yesterday, yesterday, hour, today, yesterday, zone).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the spend of %s in %s: %w", today, zone, err)
	}
	return rows, nil
}

// OldestDirty returns when the oldest change of a media's figures was written that the summaries lack; zero if there
// is none.
func (s Watching) OldestDirty(ctx context.Context, media string) (time.Time, error) {
	var marks []int64
	err := s.Data.Current(ctx).Raw("SELECT dirty FROM coverage WHERE media = ? AND dirty > 0 ORDER BY dirty LIMIT 1",
		media).Scan(&marks).Error
	if err != nil {
		return time.Time{}, fmt.Errorf("read the oldest change of %s: %w", media, err)
	}
	if len(marks) == 0 {
		return time.Time{}, nil
	}
	return time.UnixMicro(marks[0]).UTC(), nil
}

// WatchLogin is a login with bound accounts.
type WatchLogin struct {
	Media, State   string
	RefreshExpires sqldb.Time `gorm:"column:refresh_expires_at"`
	Used           bool       // a bound account is pulled with it
}

// WatchLogins returns all logins that reach a bound account.
func (s Watching) WatchLogins(ctx context.Context) ([]WatchLogin, error) {
	var logins []WatchLogin
	err := s.Config.Current(ctx).Raw(
		"SELECT t.media, t.state, t.refresh_expires_at, EXISTS (SELECT 1 FROM media_account u" +
			" WHERE u.token_id = t.id AND u.bound = 1) AS used FROM media_token t WHERE EXISTS" +
			" (SELECT 1 FROM account_login l JOIN media_account a ON a.id = l.account_id" +
			" WHERE l.token_id = t.id AND l.gone = 0 AND a.bound = 1)").Scan(&logins).Error
	if err != nil {
		return nil, fmt.Errorf("read the logins: %w", err)
	}
	return logins, nil
}
