package big

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/store/summaries"
	"adsync/base/task"
)

// Skew spreads rows of a day over accounts: a few have most of them, and each has at least one.
func (t *Tables) Skew(ctx context.Context, accounts, rows int) error {
	const exponent = 0.8
	weight := 0.0
	for rank := 1; rank <= accounts; rank++ {
		weight += math.Pow(float64(rank), -exponent)
	}
	statements := []string{"DROP TABLE IF EXISTS big_account",
		"CREATE TABLE big_account (account_id BIGINT NOT NULL, objects INT NOT NULL, PRIMARY KEY (account_id))"}
	var values []string
	for rank := 1; rank <= accounts; rank++ {
		objects := min(90_000, 1+int(float64(rows-accounts)*math.Pow(float64(rank), -exponent)/weight))
		values = append(values, fmt.Sprintf("(%d, %d)", 1+rank*7919%accounts, objects))
		if len(values) == 5000 || rank == accounts {
			statements = append(statements, "INSERT IGNORE INTO big_account VALUES "+strings.Join(values, ", "))
			values = nil
		}
	}
	for _, s := range statements {
		if _, err := t.DB.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// DropSkew drops what Skew has made.
func (t *Tables) DropSkew(ctx context.Context) error {
	_, err := t.DB.ExecContext(ctx, "DROP TABLE IF EXISTS big_account")
	return err
}

// The level and the id of an account's row s: one row is the account's own, most are creatives.
const (
	levelOf = "CASE WHEN s.seq = 1 THEN 'account' WHEN s.seq <= 1 + CEIL(a.objects * 0.15) THEN 'adgroup' WHEN s.seq " +
		"<= 1 + CEIL(a.objects * 0.15) + CEIL(a.objects * 0.03) THEN 'campaign' ELSE 'creative' END"
	objectOf = "IF(s.seq = 1, '', 10000000000 + a.account_id * 100000 + s.seq)"
	fromBig  = " FROM big_account a STRAIGHT_JOIN seq_1_to_90000 s ON s.seq <= a.objects"
)

// byAccounts returns a statement for each group of accounts. A group is small enough for a transaction.
func (t *Tables) byAccounts(ctx context.Context, statement string, perObject int) ([]string, error) {
	rows, err := t.DB.QueryContext(ctx, "SELECT account_id, objects FROM big_account ORDER BY account_id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	sum, first, account := 0, 1, 0
	add := func() {
		all = append(all, statement+fmt.Sprintf(" WHERE a.account_id BETWEEN %d AND %d", first, account))
		sum, first = 0, account+1
	}
	for rows.Next() {
		var objects int
		if err := rows.Scan(&account, &objects); err != nil {
			return nil, err
		}
		if sum += objects * perObject; sum >= rowsAtOnce {
			add()
		}
	}
	if sum > 0 {
		add()
	}
	return all, rows.Err()
}

// Daily makes rows of report_daily for a day, as many as Skew defines.
func (t *Tables) Daily(ctx context.Context, d day.Day) error {
	columns, values := figures(fmt.Sprintf("a.account_id * 7919 + s.seq * 104729 + %d", number(d)))
	statements, err := t.byAccounts(ctx,
		"INSERT INTO report_daily (day, account_id, level, object_id, media, currency, day_zone, "+columns+
			", version, updated_at) SELECT '"+d.String()+
			"', a.account_id, "+levelOf+", "+objectOf+", "+media("a.account_id")+", 'CNY', 'Asia/Shanghai', "+values+", 1, '"+
			d.Add(1).String()+"'"+fromBig, 1)
	if err != nil {
		return err
	}
	return t.each(ctx, statements)
}

// Hourly makes rows of report_hourly for a day: 24 for each row of Skew.
func (t *Tables) Hourly(ctx context.Context, d day.Day) error {
	columns, values := figures(fmt.Sprintf("a.account_id * 7919 + s.seq * 104729 + h.seq * 31 + %d", number(d)))
	statements, err := t.byAccounts(ctx,
		"INSERT INTO report_hourly (day, account_id, level, object_id, hour, media, currency, day_zone, "+columns+
			", version, updated_at) SELECT '"+d.String()+
			"', a.account_id, "+levelOf+", "+objectOf+", h.seq, "+media("a.account_id")+", 'CNY', 'Asia/Shanghai', "+values+
			", 1, '"+d.Add(1).String()+"'"+fromBig+" STRAIGHT_JOIN seq_0_to_23 h", 24)
	if err != nil {
		return err
	}
	return t.each(ctx, statements)
}

// RawHourly makes rows of a raw table of hours for a day, 24 for each row of Skew. Its typed columns stay empty.
func (t *Tables) RawHourly(ctx context.Context, table string, d day.Day) error {
	statements, err := t.byAccounts(ctx, "INSERT INTO "+table+
		" (day, account_id, level, object_id, hour, row_json, version) SELECT '"+d.String()+
		"', a.account_id, "+levelOf+", "+objectOf+", h.seq, REPEAT('{\"cost\":1}', 20), 1"+fromBig+
		" STRAIGHT_JOIN seq_0_to_23 h", 24)
	if err != nil {
		return err
	}
	return t.each(ctx, statements)
}

// Wide makes rows of wide_daily for a day, as many as Skew defines, and the accounts' marks.
func (t *Tables) Wide(ctx context.Context, d day.Day) error {
	columns, values := figures(fmt.Sprintf("a.account_id * 7919 + s.seq * 104729 + %d", number(d)))
	isLevel := func(levels string) string { return "IF(" + levelOf + " IN (" + levels + "), " }
	statements, err := t.byAccounts(ctx,
		"INSERT INTO wide_daily (day, account_id, level, object_id, media, external_id, account_name, campaign_id, "+
			"campaign_name, adgroup_id, adgroup_name,"+
			" creative_id, creative_name, game, os, currency, day_zone, "+columns+
			", pay_amount_d1, pay_amount_d3, pay_amount_d7, partner_new_users, partner_pay_amount_d7, version, updated_at) "+
			"SELECT '"+d.String()+
			"', a.account_id, "+levelOf+", "+objectOf+", "+media("a.account_id")+
			", 20000000 + a.account_id, CONCAT('account ', a.account_id), "+
			isLevel("'campaign'")+objectOf+", "+isLevel("'adgroup', 'creative'")+
			"10000000000 + a.account_id * 100000 + CEIL(a.objects * 0.15) + 2, NULL)), IF(s.seq > 1, 'a campaign of autumn', "+
			"NULL), "+
			isLevel("'adgroup', 'creative'")+
			"10000000000 + a.account_id * 100000 + 2 + s.seq MOD CEIL(a.objects * 0.15), NULL), "+
			isLevel("'adgroup', 'creative'")+"CONCAT('ad group ', s.seq), NULL), "+
			isLevel("'creative'")+objectOf+", NULL), "+isLevel("'creative'")+"CONCAT('creative ', s.seq), NULL), "+
			fmt.Sprintf(
				"CONCAT('game', a.account_id MOD %d), IF(a.account_id DIV %d MOD 2 = 0, 'ios', 'android'), 'CNY', "+
					"'Asia/Shanghai', ", Games, Games)+
			values+", s.seq MOD 1000, s.seq MOD 2000, s.seq MOD 3000, s.seq MOD 7, s.seq MOD 2500, 1, '"+d.Add(1).String()+"'"+
			fromBig, 1)
	if err != nil {
		return err
	}
	statements = append(statements, "INSERT INTO wide_day (account_id, day, media, mark, dirty) SELECT a.account_id, '"+
		d.String()+"', "+media("a.account_id")+", 1, NULL FROM big_account a")
	return t.each(ctx, statements)
}

// number returns a different number for each day.
func number(d day.Day) int { return int(d.Start(time.UTC).Unix() / 86400) }

// Coverage makes the coverage of accounts for a range of days, of both reports at all levels. One in a hundred accounts
// has figures of the last day that the summaries lack. Another one in a hundred is partial on the last two days. All
// other rows are complete.
func (t *Tables) Coverage(ctx context.Context, accounts int, from, to day.Day) error {
	days := len(day.Between(from, to))
	scopes := 2 * (1 + len(summaries.ObjectLevels))
	n := accounts * scopes * days
	account, scope := fmt.Sprintf("(1 + seq DIV %d)", scopes*days), fmt.Sprintf("(seq DIV %d MOD %d)", days, scopes)
	age := fmt.Sprintf("(%d - seq MOD %d)", days-1, days)
	return t.each(ctx,
		chunks(n,
			"INSERT INTO coverage (account_id, report, level, day, media, claimed_version, claimed_by, complete_version, "+
				"pulled_at, run_id, row_count, dirty, state) SELECT "+
				account+", IF("+scope+" < 4, 'report_daily', 'report_hourly'), ELT(1 + "+scope+
				" MOD 4, 'account', 'adgroup', 'campaign', 'creative'), '"+to.String()+"' - INTERVAL "+age+" DAY, "+media(account)+
				", 1000 + seq MOD 1000, 'consumer-1/c0ffee', 1000, '"+to.String()+"', "+
				fmt.Sprint(task.FirstRunIDAt(to.Add(1).Start(time.UTC)))+", 12, IF("+age+" = 0 AND "+account+
				" MOD 100 = 1, 1000 + seq MOD 1000, NULL), IF("+account+" MOD 100 = 2 AND "+age+
				" < 2, 'partial', 'complete') FROM SEQ"))
}

// Summaries makes the rows of both summaries for a range of days: games × media × os rows for each hour and for each
// day.
func (t *Tables) Summaries(ctx context.Context, from, to day.Day) error {
	const kinds = Games * 2 * 2
	days := len(day.Between(from, to))
	game, media, os := "CONCAT('game', LPAD(seq DIV 4 MOD 1000, 3, '0'))",
		fmt.Sprintf("IF(seq DIV 2 MOD 2 = 0, '%s', '%s')", Other, Media), "IF(seq MOD 2 = 0, 'android', 'ios')"
	columns, values := figures("seq * 104729")
	on := func(perDay int) string {
		return fmt.Sprintf("'%s' + INTERVAL seq DIV %d DAY", from, perDay)
	}
	statements := chunks(days*kinds, "INSERT INTO summary_daily (day, game, media, os, currency, day_zone, "+columns+
		", version, updated_at) SELECT "+on(kinds)+", "+game+", "+media+", "+os+
		", 'CNY', 'Asia/Shanghai', "+values+", 1, "+on(kinds)+" FROM SEQ")
	return t.each(ctx, append(statements, chunks(days*kinds*24,
		"INSERT INTO summary_hourly (day, hour, game, media, os, currency, day_zone, start_utc, "+columns+
			", version, updated_at) SELECT "+on(kinds*24)+
			fmt.Sprintf(", seq DIV %d MOD 24, ", kinds)+game+", "+media+", "+os+", 'CNY', 'Asia/Shanghai', "+on(kinds*24)+", "+
			values+", 1, "+on(kinds*24)+" FROM SEQ")...))
}
