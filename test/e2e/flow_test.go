package e2e

import (
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/engine"
)

// onePlatform is the platform of the tests that need any one platform.
var onePlatform = engine.PlatformNames()[0]

// The seeds of these tests make worlds in which 16 accounts hold every kind of account but the largest, from silent to
// those with 40 ads. Each platform has some ads, and there are few worlds with fewer.
var accounts = flag.Int("accounts", 16, "accounts of the worlds, all platforms together")

// everySecond returns every second platform, from the first or the second on. It halves what a flow costs that has
// nothing to do with the platform.
func everySecond(from int) (platforms []string) {
	for i, name := range engine.PlatformNames() {
		if i%2 == from {
			platforms = append(platforms, name)
		}
	}
	return platforms
}

func TestDeployment_TablesEqualTheTruthAndFollowIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, *accounts, 721)
	d := deploy(t, w)
	for _, media := range engine.PlatformNames() {
		d.addField(t, w, media)
	}

	d.requireSucceeded(t, d.await(t, d.orderAll(t, false)))
	d.summarise(t)
	report := d.requireTruth(t)
	for _, media := range engine.PlatformNames() {
		d.requireField(t, media+"_report_daily")
		d.requireField(t, media+"_report_hourly")
	}
	require.Greater(t, report.RowsCompared, int64(250**accounts))
	require.Greater(t, 2*report.NonzeroRows, report.ExpectedRows)
	calls, refused := w.calls(t)
	require.LessOrEqual(t, 100*refused, calls, "refused calls of %d", calls)

	// A platform corrects three past days of an account: a rerun of those days changes only what was corrected. Their
	// spend changes the account's money up to now.
	account := d.busiestAccount(t, onePlatform)
	today := day.Of(w.now, zone)
	from, to := today.Add(-5).String(), today.Add(-3).String()
	w.order(t, "truth/correct", map[string]any{"media": onePlatform, "account": account, "from": from, "to": to,
		"percent": 7}, nil)
	require.Positive(t, d.compare(t).Differences, "the correction is in the truth and not in the tables")
	before := d.untouched(t, account, from, to)
	rerun := map[string]any{"accounts": []string{account}, "from": from, "to": to}
	runs := []int64{
		d.order(t, onePlatform+".fund_daily", map[string]any{"accounts": []string{account}}),
		d.order(t, onePlatform+".balance", map[string]any{"accounts": []string{account}}),
	}
	for _, r := range engine.Platform(onePlatform).Reports() {
		if !r.Hourly {
			runs = append(runs, d.order(t, onePlatform+".report_daily."+r.Level, rerun))
		}
	}
	d.requireSucceeded(t, d.await(t, runs))
	d.summarise(t)
	d.requireTruth(t)
	require.True(t, maps.Equal(before, d.untouched(t, account, from, to)),
		"rows of other days than the corrected ones were rewritten")

	d.requireRetired(t, w, account, today.Add(-1).String())
	d.stop(t)
}

func TestDeployment_AProcessKilledInTheMiddleChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, *accounts/2, 3890, everySecond(1)...)
	d := deploy(t, w)
	// The last is a consumer, or the one process in the role all.
	victim := len(d.roles) - 1

	w.slowDown(t, 150*time.Millisecond)
	ids := d.orderAll(t, false)
	d.awaitMiddle(t, ids)
	// A consumer that has just joined its groups may get its partitions late, when others have done much of the work.
	require.Eventually(t, func() bool { return d.doneBy(t, ids, d.processes[victim]) > 0 }, patience, poll/5,
		"the process did none of the work: its end would prove nothing")
	d.processes[victim].kill(t)
	ended, total := d.ended(t, ids)
	require.Less(t, ended, total, "the runs had ended before the kill: this proves nothing")
	d.start(t, victim)
	d.awaitReady(t, victim)

	d.requireSucceeded(t, d.await(t, ids))
	d.summarise(t)
	d.requireTruth(t)
	d.stop(t)
}

func TestDeployment_StoppedInTheMiddleGoesOnAfterTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, *accounts/2, 3052, everySecond(0)...)
	d := deploy(t, w)
	w.slowDown(t, 150*time.Millisecond)
	ids := d.orderAll(t, false)
	d.awaitMiddle(t, ids)
	d.stop(t)
	ended, total := d.ended(t, ids)
	require.Less(t, ended, total, "the runs had ended before the stop: this proves nothing")
	for i := range d.roles {
		d.start(t, i)
	}
	for i := range d.roles {
		d.awaitReady(t, i)
	}
	d.requireSucceeded(t, d.await(t, ids))
	d.summarise(t)
	d.requireTruth(t)
	d.stop(t)
}

// awaitMiddle waits until a fifth of the runs' work is done.
func (d *deployment) awaitMiddle(t *testing.T, ids []int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		runs, err := d.store.Runs(t.Context(), ids)
		if err != nil || len(runs) < len(ids) {
			return false
		}
		var ended, total int64
		for i := range runs {
			if runs[i].Total == nil {
				return false
			}
			ended += runs[i].Ended()
			total += *runs[i].Total
		}
		return 5*ended >= total
	}, patience, poll/5, "the work does not begin")
}

// doneBy counts the runs' subtasks that a process finished.
func (d *deployment) doneBy(t *testing.T, ids []int64, p *process) int64 {
	t.Helper()
	host, err := os.Hostname()
	require.NoError(t, err)
	var n int64
	err = d.store.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM "+ledger.LogTable(ids[0])+
		" WHERE run_id IN ? AND node = ?",
		ids, fmt.Sprintf("%s-%d", host, p.cmd.Process.Pid)).Row().Scan(&n)
	require.NoError(t, err)
	return n
}

// busiestAccount returns the platform's id of the account with the most rows.
func (d *deployment) busiestAccount(t *testing.T, media string) string {
	t.Helper()
	var id int64
	err := d.store.Data.Writer(t.Context()).Raw(
		"SELECT account_id FROM report_daily WHERE media = ? GROUP BY account_id ORDER BY COUNT(*) DESC, account_id LIMIT 1",
		media).Row().Scan(&id)
	require.NoError(t, err)
	account, err := d.store.Account(t.Context(), id)
	require.NoError(t, err)
	return account.ExternalID
}

// untouched returns the versions of all rows of reports and summaries except those of the account's days.
func (d *deployment) untouched(t *testing.T, externalID, from, to string) map[string]int64 {
	t.Helper()
	found, err := d.store.FindAccounts(t.Context(), onePlatform, []string{externalID})
	require.NoError(t, err)
	versions := map[string]int64{}
	for table, key := range map[string]string{
		"report_daily":                "day, account_id, level, object_id, 0",
		"report_hourly":               "day, account_id, level, object_id, hour",
		onePlatform + "_report_daily": "day, account_id, level, object_id, 0",
		// A summary includes other accounts: its rows of the corrected days may change.
		"summary_daily": "day, 0, game, media, os",
	} {
		query, args := "SELECT "+key+", version FROM "+table+" WHERE NOT (day BETWEEN ? AND ?", []any{from, to}
		if table != "summary_daily" {
			query, args = query+" AND account_id = ?", append(args, found[externalID].ID)
		}
		err := sqldb.EachRow(d.store.Data.Writer(t.Context()).Raw(query+")", args...), func(rows *sql.Rows) error {
			var k [5]string
			var version int64
			err := rows.Scan(&k[0], &k[1], &k[2], &k[3], &k[4], &version)
			versions[table+" "+strings.Join(k[:], " ")] = version
			return err
		})
		require.NoError(t, err)
	}
	return versions
}
