package sqldb_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"adsync/base/sqldb"
	"adsync/base/store/storetest"
)

func TestMigrate_UpDownUp(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	require.NoError(t, s.CheckSchema(ctx))
	require.NoError(t, s.MigrateUp(ctx), "a second run changes nothing")

	require.NoError(t, s.MigrateDown(ctx))
	err := s.CheckSchema(ctx)
	var schema *sqldb.SchemaError
	require.ErrorAs(t, err, &schema)
	require.ErrorContains(t, err, "run `adsync migrate up`")

	require.NoError(t, s.MigrateUp(ctx))
	require.NoError(t, s.CheckSchema(ctx))
}

// The copy of the business's own figures had a task of its own.
func TestMigrateUp_GivesTheWorkOfSystemPartnerToSystemCopy(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	exec := func(statement string) {
		t.Helper()
		require.NoError(t, s.Config.Writer(t.Context()).Exec(statement).Error)
	}
	rows := func(query string) (texts []string) {
		t.Helper()
		require.NoError(t, s.Config.Writer(t.Context()).Raw(query).Scan(&texts).Error)
		return texts
	}
	exec("INSERT INTO table_copy (name, source, source_table, target, key_columns) VALUES " +
		"('partner', 'erp', 'business', 'partner_daily', 'id'), ('orders', 'erp', 'orders', NULL, 'id')")
	const task = "SELECT CONCAT_WS(' ', name, handler, cron, lane, timeout_seconds, enabled) FROM cron_task ORDER BY name"
	for _, name := range []string{"system.partner", "system.copy"} { // then there is a task already
		require.NoError(t, s.MigrateDown(t.Context()))
		require.Equal(t, []string{"orders"}, rows("SELECT name FROM table_copy"), "an older release knows one target")
		exec("INSERT INTO cron_task (name, media, handler, cron, lane, enabled) VALUES " +
			"('" + name + "', 'system', '" + name + "', '7 * * * *', 'bulk', 0)")
		require.NoError(t, s.MigrateUp(t.Context()))
		require.Equal(t, []string{"system.copy system.copy 7 * * * * bulk " + map[string]string{
			"system.partner": "3600", "system.copy": "300"}[name] + " 0"}, rows(task))
		exec("DELETE FROM cron_task")
	}
}

// Without its row every change by a list of keys would silently have no effect.
func TestMigrateUp_AddsTheRowOfOneRow(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("DELETE FROM one_row").Error)
	require.ErrorIs(t, s.CheckSchema(t.Context()), sqldb.ErrNoOneRow)
	require.NoError(t, s.MigrateUp(t.Context()))
	require.NoError(t, s.CheckSchema(t.Context()))
}

func TestMigrateUp_ContinuesAfterAnUnrecordedChange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		t.Skip("here a change and its record are one transaction")
	}
	for database, db := range map[string]*sqldb.DB{"config": s.Config, "data": s.Data} {
		// As if each change had been made and none recorded.
		require.NoError(t, db.Writer(ctx).Exec("DELETE FROM adsync_"+database+"_version WHERE version_id > 1").Error)
	}
	require.Error(t, s.CheckSchema(ctx))
	require.NoError(t, s.MigrateUp(ctx))
	require.NoError(t, s.CheckSchema(ctx))
}

func TestMigrateUp_FinishesAPartlyAppliedMigration(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		t.Skip("here a change and its record are one transaction")
	}
	// As if the fifth of six changes of tables had been the last before the end. Later versions exist, as in a database
	// whose program had them first.
	db := s.Data.Writer(ctx)
	require.NoError(t, db.Exec("DELETE FROM adsync_data_version WHERE version_id = 17").Error)
	require.NoError(t, db.Exec("ALTER TABLE wide_daily DROP KEY spend, DROP KEY level_day").Error)
	require.NoError(t, db.Exec("DROP TABLE pruned").Error)
	require.ErrorContains(t, s.CheckSchema(ctx), "lacks one of the changes before it")
	require.NoError(t, s.MigrateUp(ctx))
	require.NoError(t, s.CheckSchema(ctx))
	require.NoError(t, db.Exec("SELECT 1 FROM wide_daily FORCE INDEX (spend), pruned LIMIT 1").Error)
}

// A first migration that was killed, or that the server refused, has left the table of versions without its first
// row.
func TestMigrateUp_RepairsAnEmptyTableOfVersions(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, storetest.Config(t))
	require.Error(t, s.CheckSchema(t.Context()), "it makes the table too")
	for database, db := range map[string]*sqldb.DB{"config": s.Config, "data": s.Data} {
		require.NoError(t, db.Writer(t.Context()).Exec("DELETE FROM adsync_"+database+"_version").Error)
	}
	err := s.CheckSchema(t.Context())
	require.ErrorContains(t, err, "the config database is at version 0")
	require.ErrorContains(t, err, "the data database is at version 0")
	list, err := s.MigrationStatus(t.Context())
	require.NoError(t, err)
	require.False(t, list[0].Applied)
	require.NoError(t, s.MigrateUp(t.Context()))
	require.NoError(t, s.CheckSchema(t.Context()))
}

func TestMigrateUp_CreatesThePartitionsOfTheComingDays(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		t.Skip("SQLite has no partitions")
	}
	now, err := s.Data.Now(t.Context())
	require.NoError(t, err)
	for _, table := range []string{"report_daily", "report_hourly", "wide_daily"} {
		var names []string
		require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT partition_name FROM information_schema.partitions"+
			" WHERE table_schema = DATABASE() AND table_name = ? ORDER BY partition_ordinal_position", table).Scan(&names).Error)
		require.GreaterOrEqual(t, len(names), 2+sqldb.DaysAhead, table)
		require.Contains(t, names, "p"+now.AddDate(0, 0, 1).Format("20060102"), table)
	}
}

func TestMigrateUp_ManyAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	require.NoError(t, s.MigrateDown(ctx))
	var all errgroup.Group
	for range 4 {
		all.Go(func() error { return s.MigrateUp(ctx) })
	}
	require.NoError(t, all.Wait())
	require.NoError(t, s.CheckSchema(ctx))
}

// The job queue's tables may be in the data database.
func TestMigrateUp_OfOneSetLeavesTheTextsOfOthersLimited(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	long := "INSERT INTO cron_task (name, media, handler, cron, lane, enabled) VALUES " +
		"('" + strings.Repeat("a", 300) + "', 'system', 'x', '7 * * * *', 'bulk', 0)"
	jobs := sqldb.SchemaOf(s.Config, "jobs")
	for _, migrate := range []func() error{
		func() error { return jobs.MigrateUp(t.Context(), func() error { return nil }) },
		func() error { return jobs.MigrateDown(t.Context()) },
	} {
		require.NoError(t, migrate())
		err := s.Config.Writer(t.Context()).Exec(long).Error
		require.True(t, sqldb.IsUnfit(err), "%v", err)
	}
	require.NoError(t, s.CheckSchema(t.Context()))
}
