package verify_test

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/ratelimit"
	"adsync/base/rawtable"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/engine"
	"adsync/media"
	"adsync/media/wire"
	"adsync/simulator"
	"adsync/standalone"
	"adsync/standalone/verify"
)

// china is the time zone of the accounts of a world without USD.
var china = time.FixedZone("UTC+8", 8*60*60)

// Changes of one platform and one account are made at the first platform of the list; changes of another account at
// the last.
var (
	onePlatform = engine.Platforms()[0]
	platform    = onePlatform.Name()

	// fewPlatforms are those of the pulled world: more would only take longer.
	fewPlatforms = engine.PlatformNames()[:3]
)

// pulledWorld is a small world whose clock is stopped since all of it was pulled.
type pulledWorld struct {
	t       *testing.T
	store   *store.Store
	sim     *simulator.Simulator
	address string
	partner *sql.DB
	now     time.Time // the world's
}

func newPulledWorld(t *testing.T) *pulledWorld {
	t.Helper()
	const seed = 395 // its large accounts are among the smallest of their kind
	few, err := simulator.Named(fewPlatforms)
	require.NoError(t, err)
	dir := t.TempDir()
	api := httpapi.DefaultConfig()
	api.Listen = "127.0.0.1:0"
	logger := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	kept, err := simulator.New(simulator.Config{Accounts: len(few), Seed: seed, Platforms: few, Frozen: true,
		DataDir: filepath.Join(dir, "world")})
	require.NoError(t, err)
	require.NoError(t, kept.Close())
	require.NoError(t, standalone.Run(ctx, standalone.Options{
		Accounts: len(few), Seed: seed, DataDir: dir, Once: true, JSON: true, API: api, RateLimit: ratelimit.DefaultConfig(),
		Logger: logger, Out: io.Discard,
	}))
	sim, err := simulator.New(simulator.Config{Accounts: len(few), Seed: seed, DataDir: filepath.Join(dir, "world")})
	require.NoError(t, err)
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	file := func(name string) sqldb.Database {
		return sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText(filepath.Join(dir, name)), MaxOpenConns: 1}
	}
	s, err := store.Open(ctx, sqldb.Config{Config: file("config.db"), Data: file("data.db")}, logger)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	partner, err := sql.Open("sqlite", filepath.Join(dir, "partner.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, partner.Close()) })
	return &pulledWorld{t: t, store: s, sim: sim, address: server.URL, partner: partner, now: sim.Clock().Now()}
}

func (w *pulledWorld) options() verify.Options {
	return verify.Options{Store: w.store, Simulator: w.address, Client: http.DefaultClient,
		Platforms: fewPlatforms}
}

// published compares as if everything was pulled between two times of the world.
func (w *pulledWorld) published(from, to time.Time) *verify.Published {
	w.t.Helper()
	p := verify.NewPublished(verify.PublishedOptions{
		Options: w.options(),
		World:   func(time.Time) (time.Time, time.Time) { return from, to },
	})
	require.NoError(w.t, p.Compare(w.t.Context()))
	return p
}

func (w *pulledWorld) exec(sql string, args ...any) {
	w.t.Helper()
	res := w.store.Data.Writer(w.t.Context()).Exec(sql, args...)
	require.NoError(w.t, res.Error)
	require.EqualValues(w.t, 1, res.RowsAffected)
}

func (w *pulledWorld) truth(since time.Time) verify.Report {
	w.t.Helper()
	o := w.options()
	o.Now, o.Since, o.Partner = w.now, since, w.partner
	report, err := verify.Run(w.t.Context(), o)
	require.NoError(w.t, err)
	return report
}

// Pulling a world takes long, so that both comparisons use one.
func TestComparisons_LeaveOutWhatNobodyPullsAndJudgeByWhatWasOut(t *testing.T) {
	t.Parallel()
	w := newPulledWorld(t)
	leavesOutWhatNobodyPulls(t, w)
	wantsSumsOfWhatIsNotMarked(t, w)
	wantsNoRetiredFigures(t, w)
	judgesByWhatWasOut(t, w)
	findsWrongObjects(t, w)
}

// A retired figure is NULL in rows pulled after its retirement, and unchanged in rows pulled before.
func wantsNoRetiredFigures(t *testing.T, w *pulledWorld) {
	t.Helper()
	db := w.store.Data.Writer(t.Context())
	var begun int64
	var ended sqldb.Time
	last := "SELECT claimed_version, pulled_at FROM coverage WHERE media = '" + platform +
		"' AND report = 'report_daily' AND level = 'account' ORDER BY pulled_at LIMIT 1"
	require.NoError(t, db.Raw(last).Row().Scan(&begun, &ended))
	figures := onePlatform.Reports()[0].Figures
	field := figures[slices.IndexFunc(figures, func(f wire.Figure) bool { return f.Metric == "registrations" })].Field
	retire := func(at time.Time) {
		config := w.store.Config.Writer(t.Context())
		require.NoError(t, config.Exec("DELETE FROM report_field").Error)
		require.NoError(t,
			config.Exec("INSERT INTO report_field (media, report, level, field, state, reason, changed_by, retired_at)"+
				" VALUES (?, 'report_daily', 'account', ?, 'retired', '', 'adsync', ?)", platform, field, sqldb.At(at)).Error)
	}
	all, before := time.UnixMicro(begun).Add(time.Hour), time.UnixMicro(begun).Add(-time.Hour)
	retire(before)
	require.Positive(t, w.truth(time.Time{}).Differences, "rows have a figure that no platform can have returned")
	require.Positive(t, w.published(w.now, w.now).Report().Differences)
	retire(all)
	require.Zero(t, w.published(w.now, w.now).Report().Differences, "all was pulled before")

	for table, column := range map[string]string{platform + "_report_daily": field, "report_daily": "registrations",
		"wide_daily": "registrations"} {
		media := map[bool]string{true: " AND media = '" + platform + "'"}[table != platform+"_report_daily"]
		require.NoError(t, db.Exec("UPDATE "+table+" SET "+column+" = NULL WHERE level = 'account'"+media).Error)
	}
	require.NoError(t, db.Exec("UPDATE summary_daily SET registrations = NULL WHERE media = '"+platform+"'").Error)
	require.Positive(t, w.published(w.now, w.now).Report().Differences, "the platform returned the figure then")
	retire(before)
	truth := w.truth(time.Time{})
	require.Zero(t, truth.Differences, "%v", truth.Examples)
	report := w.published(w.now, w.now).Report()
	require.Zero(t, report.Differences, "%v", report.Examples)
	retire(ended.Time)
	report = w.published(w.now, w.now).Report()
	require.Zero(t, report.Differences, "%v", report.Examples)
}

// A summary's row is the sum of its accounts' rows, unless its day waits for a rebuild.
func wantsSumsOfWhatIsNotMarked(t *testing.T, w *pulledWorld) {
	t.Helper()
	compared := func() verify.PublishedReport {
		p := verify.NewPublished(verify.PublishedOptions{Options: verify.Options{Store: w.store}})
		require.NoError(t, p.CompareSummaries(t.Context()))
		return p.Report()
	}
	right := compared()
	require.Zero(t, right.Differences, "%v", right.Examples)
	require.Greater(t, right.RowsCompared, int64(100))

	var id int64
	yesterday := day.Of(w.now, china).Add(-1)
	account := " FROM report_hourly WHERE media = '" + platform +
		"' AND level = 'account' AND day = ? ORDER BY account_id LIMIT 1"
	require.NoError(t, w.store.Data.Writer(t.Context()).Raw("SELECT account_id"+account, yesterday).Row().Scan(&id))
	hour := " WHERE (day, hour, account_id, level, object_id) IN (SELECT day, hour, account_id, level, object_id" +
		account + ")"
	const mark = " WHERE account_id = ? AND report = 'report_hourly' AND level = 'account' AND day = ?"
	w.exec("UPDATE report_hourly SET clicks = clicks + 1"+hour, yesterday)
	wrong := compared()
	require.EqualValues(t, 1, wrong.Differences, "%v", wrong.Examples)
	require.Contains(t, wrong.Examples[0], "summary_hourly: ")
	w.exec("UPDATE coverage SET dirty = 1"+mark, id, yesterday)
	marked := compared()
	require.Zero(t, marked.Differences, "%v", marked.Examples)
	require.Less(t, marked.RowsCompared, right.RowsCompared)
	w.exec("UPDATE coverage SET dirty = NULL"+mark, id, yesterday)
	w.exec("UPDATE report_hourly SET clicks = clicks - 1"+hour, yesterday)
	require.Equal(t, right, compared())
}

func leavesOutWhatNobodyPulls(t *testing.T, w *pulledWorld) {
	t.Helper()
	require.Zero(t, w.truth(time.Time{}).Differences)

	// A day that was not pulled recently has other figures than the world now; so do the summaries.
	old := day.Of(w.now, china).Add(-20)
	var id int64
	row := w.store.Data.Writer(t.Context()).Raw(
		"SELECT account_id FROM report_daily WHERE level = 'account' AND day = ? ORDER BY account_id LIMIT 1", old).Row()
	require.NoError(t, row.Scan(&id))
	w.exec("UPDATE report_daily SET clicks = clicks + 1 WHERE account_id = ? AND level = 'account' AND day = ?", id, old)
	w.exec(
		"UPDATE coverage SET pulled_at = '2026-01-01 00:00:00.000' WHERE account_id = ? AND report = 'report_daily' AND "+
			"level = 'account' AND day = ?", id, old)
	require.EqualValues(t, 1, w.truth(time.Time{}).Differences)
	since := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	require.Zero(t, w.truth(since).Differences)
	w.exec("UPDATE report_daily SET clicks = clicks - 1 WHERE account_id = ? AND level = 'account' AND day = ?", id, old)

	// The rows of an account that its platform has closed are not compared; those of an account that adsync parked are.
	yesterday := day.Of(w.now, china).Add(-1) // In the first minutes of a day it has no rows.
	const one = " WHERE (day, account_id, level, object_id) IN (SELECT day, account_id, level, object_id FROM " +
		"report_daily" +
		" WHERE account_id = ? AND level = 'adgroup' AND day = ? ORDER BY object_id LIMIT 1)"
	w.exec("UPDATE report_daily SET clicks = clicks + 1"+one, id, yesterday)
	for parked, want := range map[string]int64{"frozen: invalid error 32211": 0, "login: it waits": 1, "": 1} {
		require.NoError(t, w.store.Config.Writer(t.Context()).Exec("UPDATE media_account SET parked = ? WHERE id = ?", parked,
			id).Error)
		report := w.truth(since)
		require.Equal(t, want, report.Differences, "%q: %v", parked, report.Examples)
		require.EqualValues(t, 1-want, report.Parked)
	}
	w.exec("UPDATE report_daily SET clicks = clicks - 1"+one, id, yesterday)
	require.NoError(t, w.store.Config.Writer(t.Context()).Exec("UPDATE media_account SET parked = '' WHERE id = ?",
		id).Error)
}

func judgesByWhatWasOut(t *testing.T, w *pulledWorld) {
	t.Helper()
	p := w.published(w.now, w.now)
	first := p.Report()
	require.Zero(t, first.Differences, "%v", first.Examples)
	require.Greater(t, first.RowsCompared, int64(1000))
	require.Zero(t, first.NotWhole)

	require.NoError(t, p.Compare(t.Context()))
	require.Equal(t, first, p.Report(), "what was compared is not compared again")

	require.Positive(t, w.published(w.now.Add(-48*time.Hour), w.now.Add(-48*time.Hour)).Report().Differences,
		"two days before, other figures were published")
	require.Zero(t, w.published(w.now.Add(-6*time.Minute), w.now.Add(6*time.Minute)).Report().Differences,
		"at one moment of the pull these figures were published")

	// Some hours of today were pulled again, two hours later: the others are still from the whole pull.
	today, later := day.Of(w.now, china), time.Now().Add(time.Hour)
	other, _ := w.otherAccount()
	const hours = "UPDATE coverage SET claimed_version = ?, pulled_at = ? WHERE report = 'report_hourly' AND level = " +
		"'account' AND account_id = ? AND day = ?"
	w.exec(hours, later.UnixMicro(), sqldb.At(later), other, today)
	again := verify.NewPublished(verify.PublishedOptions{
		Options: w.options(),
		World: func(at time.Time) (time.Time, time.Time) {
			if at.Before(later.Add(-time.Minute)) {
				return w.now, w.now
			}
			return w.now.Add(2 * time.Hour), w.now.Add(2 * time.Hour)
		},
	})
	require.NoError(t, again.Compare(t.Context()))
	require.Zero(t, again.Report().Differences, "%v", again.Report().Examples)
	require.GreaterOrEqual(t, again.Report().RowsCompared, first.RowsCompared)

	// The world continues: yesterday is corrected.
	require.NoError(t, w.sim.Clock().Set(w.now.Add(time.Minute)))
	account := w.firstOf(platform)
	yesterday := day.Of(w.now, china).Add(-1).String()
	resp, err := http.Post(w.address+"/_sim/truth/correct", "application/json", strings.NewReader(
		`{"media":"`+platform+`","account":"`+account+`","from":"`+yesterday+`","to":"`+yesterday+`","percent":9}`))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Zero(t, w.published(w.now, w.now).Report().Differences)
	require.Positive(t, w.published(w.now.Add(time.Minute), w.now.Add(2*time.Minute)).Report().Differences)
	allowsNoOlderPull(t, w, account, yesterday)

	// Wrong rows are found: one of each kind.
	var object string
	row := w.store.Data.Writer(t.Context()).Raw(
		"SELECT object_id FROM report_daily WHERE day = ? AND level = 'adgroup' AND media = ? ORDER BY object_id LIMIT 1",
		yesterday, platform).Row()
	require.NoError(t, row.Scan(&object))
	w.exec("UPDATE report_daily SET clicks = clicks + 1 WHERE day = ? AND level = 'adgroup' AND object_id = ?", yesterday,
		object)
	w.exec("DELETE FROM "+platform+"_report_daily WHERE day = ? AND level = 'adgroup' AND object_id = ?", yesterday,
		object)
	w.exec(
		"UPDATE report_hourly SET object_id = '1' WHERE (day, account_id, level, object_id, hour) IN (SELECT day, " +
			"account_id, level, object_id, hour FROM report_hourly WHERE level = 'adgroup' LIMIT 1)")
	wrong := w.published(w.now, w.now).Report()
	require.EqualValues(t, 4, wrong.Differences, "%v", wrong.Examples)
	require.Len(t, wrong.Examples, 4)

	// Rows of a pull that was not whole are not compared.
	w.exec(
		"UPDATE coverage SET claimed_version = claimed_version + 1, state = 'partial' WHERE day = ? AND level = 'adgroup' "+
			"AND report = 'report_daily' AND account_id ="+
			" (SELECT account_id FROM report_daily WHERE day = ? AND level = 'adgroup' AND object_id = ?)", yesterday, yesterday,
		object)
	partial := w.published(w.now, w.now).Report()
	require.EqualValues(t, 1, partial.NotWhole)
	require.EqualValues(t, 2, partial.Differences, "%v", partial.Examples)
	require.Less(t, partial.RowsCompared, wrong.RowsCompared)

	// A day that was pulled is not forgotten.
	require.NoError(t, p.CompareKept(t.Context()))
	require.Zero(t, p.Report().Differences)
	w.exec(
		"DELETE FROM coverage WHERE (account_id, report, level, day) IN (SELECT account_id, report, level, day FROM " +
			"coverage" +
			" WHERE report = 'report_daily' AND state = 'complete' LIMIT 1)")
	require.NoError(t, p.CompareKept(t.Context()))
	require.EqualValues(t, 1, p.Report().Differences)
	require.Len(t, p.Report().Examples, 1)

	// A day of which some hours were pulled must be in the tables even if coverage has no state for it.
	before := w.published(w.now, w.now).Report().Differences
	w.exec(
		"UPDATE coverage SET complete_version = 0, state = '' WHERE report = 'report_hourly' AND level = 'account' AND "+
			"account_id = ? AND day = ?", other, yesterday)
	require.Equal(t, before, w.published(w.now, w.now).Report().Differences)
	w.exec(
		"DELETE FROM report_hourly WHERE (day, account_id, level, object_id, hour) IN (SELECT day, account_id, level, "+
			"object_id, hour FROM report_hourly"+
			" WHERE level = 'account' AND account_id = ? AND day = ? ORDER BY hour LIMIT 1)", other, yesterday)
	require.Equal(t, before+1, w.published(w.now, w.now).Report().Differences)
}

// allowsNoOlderPull makes an older pull end last: its figures, from before a day was corrected, are in the tables, and
// coverage has only that pull.
func allowsNoOlderPull(t *testing.T, w *pulledWorld, account, corrected string) {
	t.Helper()
	var id, newer int64
	require.NoError(t, w.store.Config.Writer(t.Context()).Raw("SELECT id FROM media_account WHERE external_id = ?",
		account).Row().Scan(&id))
	const ofDay = " WHERE account_id = ? AND report = 'report_daily' AND level = 'account' AND day = ?"
	require.NoError(t, w.store.Data.Writer(t.Context()).Raw("SELECT claimed_version FROM coverage"+ofDay, id,
		corrected).Row().Scan(&newer))
	options := verify.PublishedOptions{
		Options: w.options(),
		World: func(at time.Time) (time.Time, time.Time) {
			if at.Before(time.UnixMicro(newer)) {
				return w.now, w.now
			}
			return w.now.Add(2 * time.Minute), w.now.Add(2 * time.Minute)
		},
	}
	const claim = "UPDATE coverage SET claimed_version = ?, complete_version = ?" + ofDay
	saw := verify.NewPublished(options)
	require.NoError(t, saw.Compare(t.Context()))
	before := saw.Report()
	w.exec(claim, newer-1, newer-1, id, corrected)
	require.NoError(t, saw.Compare(t.Context()))
	require.Equal(t, before.Pulls+1, saw.Report().Pulls)
	require.Equal(t, before.Differences+2, saw.Report().Differences, "raw and public were newer before")
	w.exec(claim, newer, newer, id, corrected)
}

// findsWrongObjects makes objects differ from their list at the time of its pull.
func findsWrongObjects(t *testing.T, w *pulledWorld) {
	t.Helper()
	// The objects of the days before are already compared.
	known := w.published(w.now, w.now).Report().Differences
	differ := func() int64 { return w.published(w.now, w.now).Report().Differences - known }
	night := simulator.Nights()[0]
	lists := onePlatform.Lists()
	ads := lists[slices.IndexFunc(lists, func(l media.List) bool { return l.Table.Name == night.Ads })]
	columns := ads.Table.Columns
	money := columns[slices.IndexFunc(columns, func(c rawtable.Column) bool {
		return strings.HasSuffix(c.Name,
			"_fen")
	})].Name
	one := " WHERE (account_id, object_id) IN (SELECT account_id, object_id FROM " + night.Ads +
		" WHERE deleted_at IS NULL ORDER BY object_id LIMIT 1)"
	w.exec("UPDATE " + night.Ads + " SET " + money + " = " + money + " + 1" + one)
	require.EqualValues(t, 1, differ())
	w.exec("UPDATE " + night.Ads + " SET " + money + " = " + money + " - 1" + one)
	require.Zero(t, differ())
	w.exec("UPDATE " + night.Ads + " SET " + ads.Shown.Column + " = 'ANOTHER'" + one)
	require.Zero(t, differ(), "a status may change without its object's time")
	w.exec("UPDATE "+night.Ads+" SET "+night.Modified+" = ?"+one, sqldb.At(w.now.Add(-time.Second)))
	require.EqualValues(t, 1, differ(), "but not together with it")

	_, edit := w.otherAccount()
	resp, err := http.Post(w.address+"/_sim/edits", "application/json", strings.NewReader(edit))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	edited := w.sim.Clock().Now()
	require.EqualValues(t, 1, differ(), "the lists were pulled before")
	later := w.published(edited.Add(time.Minute), edited.Add(time.Minute)).Report()
	require.Greater(t, later.Differences, w.published(edited.Add(-time.Second),
		edited.Add(-time.Second)).Report().Differences, "%v", later.Examples)
	require.Equal(t, w.published(edited.Add(-time.Second), edited.Add(time.Minute)).Report().Differences,
		w.published(edited.Add(-time.Second), edited.Add(-time.Second)).Report().Differences,
		"at one moment of the pull they were right")
}

// otherAccount is the account with the most hours that is not the first of the first platform: our id, and the order
// that edits a tenth of its ads.
func (w *pulledWorld) otherAccount() (id int64, edit string) {
	w.t.Helper()
	var first int64
	config := w.store.Config.Writer(w.t.Context())
	require.NoError(w.t, config.Raw("SELECT id FROM media_account WHERE media = ? AND external_id = ?", platform,
		w.firstOf(platform)).Row().Scan(&first))
	last := fewPlatforms[len(fewPlatforms)-1]
	row := w.store.Data.Writer(w.t.Context()).Raw(
		"SELECT account_id FROM report_hourly WHERE media = ? AND level = 'account' AND account_id <> ?"+
			" GROUP BY account_id ORDER BY COUNT(*) DESC, account_id LIMIT 1", last, first).Row()
	require.NoError(w.t, row.Scan(&id))
	var external string
	require.NoError(w.t, config.Raw("SELECT external_id FROM media_account WHERE id = ?", id).Row().Scan(&external))
	return id, `{"media":"` + last + `","account":"` + external + `","percent":10}`
}

// firstOf is a platform's id of its first account.
func (w *pulledWorld) firstOf(media string) (externalID string) {
	w.t.Helper()
	row := w.store.Config.Writer(w.t.Context()).Raw(
		"SELECT external_id FROM media_account WHERE media = ? ORDER BY external_id LIMIT 1", media).Row()
	require.NoError(w.t, row.Scan(&externalID))
	return externalID
}
