package settings_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
)

// editBench is a store whose rows are recorded, so that later edits are found.
type editBench struct {
	*store.Store
	t *testing.T
}

func newEditBench(t *testing.T) *editBench {
	t.Helper()
	b := &editBench{storetest.New(t), t}
	_, err := b.SeedTasks(t.Context(), []settings.NewTask{{Name: "one", Media: "tulip", Handler: "tulip.adgroup",
		Cron: "5 * * * *", Params: `{"a":1}`}})
	require.NoError(t, err)
	b.sql(
		"INSERT INTO rate_limit (media, endpoint, scope, period_ms, calls)" +
			" VALUES ('tulip', 'adgroups/get', 'app', 60000, 600)")
	b.sql("INSERT INTO media_account (media, external_id, token_id) VALUES ('tulip', '9001', 1), ('tulip', '9002', 1)")
	b.note()
	require.Empty(t, b.log(), "the initial rows are not an edit")
	return b
}

func (b *editBench) sql(statement string, args ...any) {
	b.t.Helper()
	require.NoError(b.t, b.Config.Writer(b.t.Context()).Exec(statement, args...).Error)
}

// log returns the entries, the oldest first.
func (b *editBench) log() []string {
	b.t.Helper()
	all, err := b.ListAudit(b.t.Context(), settings.AuditFilter{Limit: 1000})
	require.NoError(b.t, err)
	var lines []string
	for _, e := range all {
		lines = append(lines, strings.Join([]string{e.Actor, e.Action, e.Object, e.Before, e.After}, " "))
	}
	slices.Reverse(lines)
	return lines
}

// news returns the entries that note adds.
func (b *editBench) news(note func()) []string {
	b.t.Helper()
	before := len(b.log())
	note()
	return b.log()[before:]
}

func (b *editBench) note() {
	b.t.Helper()
	_, err := b.RecordSQLEdits(b.t.Context(), 0)
	require.NoError(b.t, err)
}

func TestRecordSQLEdits_RecordsEachEdit(t *testing.T) {
	t.Parallel()
	const whole = `{"pool_size":5,"partitions":0,"backlog_max":0,"late_seconds":0,"importance":7,"workers_max":0}`
	tests := []struct {
		name, edit string
		want       []string
	}{
		{"a task's cron", "UPDATE cron_task SET cron = '7 * * * *', revision = 2",
			[]string{`sql row.update cron_task/one {"cron":"5 * * * *","revision":1} {"cron":"7 * * * *","revision":2}`}},
		{"removed params", "UPDATE cron_task SET params = NULL",
			[]string{`sql row.update cron_task/one {"params":"{\"a\":1}"} {"params":null}`}},
		{"a task's name", "UPDATE cron_task SET name = 'two'",
			[]string{`sql row.update cron_task/two {"name":"one"} {"name":"two"}`}},
		{"a new lane", "INSERT INTO lane (media, name, pool_size, importance) VALUES ('tulip', 'fast', 5, 7)",
			[]string{`sql row.insert lane/tulip/fast  ` + whole}},
		{"two lanes at once", "UPDATE lane SET pool_size = 9 WHERE media = '*' AND name <> 'offline'",
			[]string{`sql row.update lane/*/important {"pool_size":64} {"pool_size":9}`,
				`sql row.update lane/*/normal {"pool_size":32} {"pool_size":9}`}},
		{"what a file waits for", "INSERT INTO subscription (name, source, format, path, destination, cron, " +
			"completeness, since) VALUES ('s', '{}', '{}', 'p', 'd', '* * * * *', '{}', '2026-11-21')",
			[]string{`sql row.insert subscription/s  {"source":"{}","scope":null,"format":"{}","path":"p","destination":"d",` +
				`"cron":"* * * * *","timezone":"UTC","period":"day","on_empty":"send","on_exists":"replace",` +
				`"verify":"readback","manifest":1,"rows_max":0,"completeness":"{}","corrections":null,"lane":"","owner":"",` +
				`"customer":"","enabled":1,"application":"","webhook":"",` +
				`"webhook_secret":""}`}},
		{"a limit", "UPDATE rate_limit SET calls = 300, share = 0.5",
			[]string{`sql row.update rate_limit/tulip/adgroups/get/app {"calls":600,"share":0.95} {"calls":300,"share":0.5}`}},
		{"a deleted game", "DELETE FROM game",
			[]string{`sql row.delete game/unassigned {"name":"accounts without a binding"} `}},
		{"a field", "INSERT INTO report_field (media, field, state, changed_by) VALUES ('tulip', 'f', 'off', 'otto')",
			[]string{`sql row.insert report_field/tulip/f  {"state":"off","reason":"","changed_by":"otto"}`}},
		{"a binding",
			"INSERT INTO account_binding (account_id, from_day, game, os) SELECT id, '2026-11-01', 'chess', 'ios'" +
				" FROM media_account WHERE external_id = '9001'",
			[]string{`sql row.insert account_binding/tulip/9001/2026-11-01  {"media":"tulip","external_id":"9001",` +
				`"from_day":"2026-11-01","to_day":"9999-12-31","game":"chess","os":"ios"}`}},
		{"an account's currency", "UPDATE media_account SET currency = 'USD' WHERE external_id = '9002'",
			[]string{`sql row.update media_account/tulip/9002 {"currency":"CNY"} {"currency":"USD"}`}},
		{"a tier that a person chooses",
			"UPDATE media_account SET tier = 'inactive', tier_by = 'manual' WHERE external_id = '9002'",
			[]string{`sql row.update media_account/tulip/9002 {"tier":"auto"} {"tier":"inactive"}`}},
		{"an account that a person parks", "UPDATE media_account SET parked = 'not ours' WHERE external_id = '9002'",
			[]string{`sql row.update media_account/tulip/9002 {"parked":""} {"parked":"not ours"}`}},
		{"the program's own changes of accounts are not edits",
			"UPDATE media_account SET tier = 'inactive', parked = 'frozen: x', parked_until = '2026-11-21 10:00:00'," +
				" token_id = 5", nil},
		{"a new account is not an edit",
			"INSERT INTO media_account (media, external_id, token_id) VALUES ('tulip', '9003', 1)", nil},
		{"a row that is touched without a change", "UPDATE lane SET updated_at = '2030-01-01 00:00:00'", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newEditBench(t)
			b.sql(test.edit)
			require.Equal(t, test.want, slices.Clip(b.news(b.note)))
			require.Empty(t, b.news(b.note), "once")
		})
	}
}

func TestRecordSQLEdits_OfManyProcessesRecordEachOnce(t *testing.T) {
	t.Parallel()
	b := newEditBench(t)
	for i := range 5 {
		b.sql("UPDATE cron_task SET retry_max = ?", 10+i)
		b.sql("UPDATE lane SET pool_size = ?", 10+i)
		var all errgroup.Group
		for range 4 {
			all.Go(func() error {
				_, err := b.RecordSQLEdits(context.WithoutCancel(t.Context()), 0)
				return err
			})
		}
		require.NoError(t, all.Wait())
	}
	require.Len(t, b.log(), 5*(1+5))
}

func TestEdit_IsRecordedOnceWithItsActor(t *testing.T) {
	t.Parallel()
	b := newEditBench(t)
	ctx := t.Context()
	nothing := func(settings.TaskTable) error { return nil }
	edit := func(change func(*settings.TaskRow)) error {
		return b.EditTask(ctx, settings.Editor{Actor: "ada", Action: "task.edit"}, "one",
			func(row settings.TaskRow) (settings.TaskRow, error) {
				change(&row)
				return row, nil
			}, nothing)
	}
	require.Equal(t,
		[]string{`ada task.edit cron_task/one {"timeout_seconds":300,"revision":1} {"timeout_seconds":60,"revision":2}`},
		b.news(func() { require.NoError(t, edit(func(row *settings.TaskRow) { row.Timeout = "60" })) }))
	require.Empty(t, b.news(b.note))
	require.Empty(t, b.news(func() { require.NoError(t, edit(func(*settings.TaskRow) {})) }),
		"a change without effect leaves no entry")

	// An edit by SQL that is not recorded yet comes first.
	b.sql("UPDATE cron_task SET cron = '7 * * * *', retry_max = 1")
	require.Equal(t, []string{
		`sql row.update cron_task/one {"cron":"5 * * * *","retry_max":5} {"cron":"7 * * * *","retry_max":1}`,
		`ada task.edit cron_task/one {"retry_max":1,"revision":2} {"retry_max":5,"revision":3}`,
	}, b.news(func() { require.NoError(t, edit(func(row *settings.TaskRow) { row.RetryMax = "5" })) }))
	require.Empty(t, b.news(b.note))

	row := settings.NewTaskRow()
	row.Name, row.Media, row.Handler, row.Cron = "two", "tulip", "tulip.adgroup", "5 * * * *"
	require.Len(t, b.news(func() {
		require.NoError(t, b.AddTask(ctx, settings.Editor{Actor: "ada", Action: "task.create"}, row,
			func(table settings.TaskTable) error {
				require.Len(t, table.Rows, 2)
				require.Len(t, table.Lanes, 5)
				return nil
			}))
	}), 1)
	require.ErrorIs(t, b.AddTask(ctx, settings.Editor{}, row, nothing), settings.ErrTaskExists)
	require.ErrorIs(t, b.EditTask(ctx, settings.Editor{}, "three", nil, nothing), sqldb.ErrNotFound)
	refused := errors.New("refused")
	row.Name = "four"
	require.Empty(t, b.news(func() {
		require.ErrorIs(t, b.AddTask(ctx, settings.Editor{Actor: "ada"}, row,
			func(settings.TaskTable) error { return refused }), refused)
	}), "what is refused leaves no trace")

	accounts, err := b.FindAccounts(ctx, "tulip", []string{"9001"})
	require.NoError(t, err)
	id := accounts["9001"].ID
	require.Equal(t, []string{
		`otto field.put report_field/tulip/f  {"state":"off","reason":"","changed_by":"o"}`,
		`adsync field.retire report_field/tulip/g/report_daily  {"state":"retired","reason":"gone","changed_by":"adsync"}`,
		`otto account.unbind media_account/tulip/9001 {"bound":1} {"bound":0}`,
		`otto game.put game/chess  {"name":"Chess"}`,
		`otto account.rebind account_binding/tulip/9001/2000-01-01  {"media":"tulip","external_id":"9001",` +
			`"from_day":"2000-01-01","to_day":"9999-12-31","game":"chess","os":"ios"}`,
		`vera account.rebind account_binding/tulip/9001/2000-01-01 {"to_day":"9999-12-31"} {"to_day":"2026-10-31"}`,
		`vera account.rebind account_binding/tulip/9001/2026-11-01  {"media":"tulip","external_id":"9001",` +
			`"from_day":"2026-11-01","to_day":"9999-12-31","game":"go","os":"ios"}`,
	}, b.news(func() {
		require.NoError(t, b.PutReportField(ctx, "otto",
			settings.ReportField{Media: "tulip", Field: "f", State: settings.FieldOff, ChangedBy: "o"}))
		for range 2 { // The second pull that meets it records nothing.
			_, err := b.RetireReportField(ctx, settings.ReportField{Media: "tulip", Report: "report_daily", Field: "g",
				Reason: "gone", ChangedBy: "adsync"})
			require.NoError(t, err)
		}
		require.NoError(t, b.BindAccounts(ctx, "otto", []int64{id}, false))
		require.NoError(t, b.PutGame(ctx, "otto", "chess", "Chess"))
		require.NoError(t,
			b.AddBindings(ctx, "otto", []summaries.Binding{{AccountID: id, From: summaries.FirstBoundDay, To: summaries.LastDay,
				Game: "chess", OS: "ios"}}))
		_, _, err := b.Rebind(ctx, "vera", id, func([]summaries.Binding) (summaries.Binding, error) {
			return summaries.Binding{From: "2026-11-01", To: summaries.LastDay, Game: "go", OS: "ios"}, nil
		})
		require.NoError(t, err)
	}))
	require.Empty(t, b.news(b.note))
}

// An editor and processes that check for edits work on the same rows: each change is recorded once, with its actor.
func TestEdit_WhileOthersCheckForEdits(t *testing.T) {
	t.Parallel()
	b := newEditBench(t)
	ctx := context.WithoutCancel(t.Context())
	var all errgroup.Group
	for range 2 {
		all.Go(func() error {
			for range 20 {
				if _, err := b.RecordSQLEdits(ctx, 0); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for i := range 2 {
		all.Go(func() error {
			for n := range 10 {
				err := b.EditTask(ctx, settings.Editor{Actor: "ada", Action: "task.edit"}, "one",
					func(row settings.TaskRow) (settings.TaskRow, error) {
						row.Cron = strings.Repeat("5,", 1+i+2*n) + "5 * * * *" // Each time a new value, so that each is a change.
						return row, nil
					}, func(settings.TaskTable) error { return nil })
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	log := b.log()
	require.Len(t, log, 20)
	for i, line := range log {
		require.True(t, strings.HasPrefix(line, "ada "), line)
		if i > 0 { // Each entry's old value is the new value of the entry before.
			_, before, _ := strings.Cut(line, "cron_task/one ")
			before, _, _ = strings.Cut(before, "} {")
			require.True(t, strings.HasSuffix(log[i-1], before+"}"), "%s\n%s", log[i-1], line)
		}
	}
}

func TestRecordSQLEdits_ContinuesAfterTheLastAccount(t *testing.T) {
	t.Parallel()
	b := newEditBench(t)
	accounts, err := b.FindAccounts(t.Context(), "tulip", []string{"9001", "9002"})
	require.NoError(t, err)
	b.sql("UPDATE media_account SET currency = 'USD'")
	require.Equal(t, []string{`sql row.update media_account/tulip/9002 {"currency":"CNY"} {"currency":"USD"}`},
		b.news(func() {
			next, err := b.RecordSQLEdits(t.Context(), accounts["9001"].ID)
			require.NoError(t, err)
			require.Zero(t, next, "the next call starts at the beginning")
		}))
	require.Len(t, b.news(b.note), 1, "it finds the other one")
}

// A column that is added later is not an edit of all rows, and all columns that operators own are watched.
func TestOwnedTables_WatchAllThatOperatorsOwn(t *testing.T) {
	t.Parallel()
	b := newEditBench(t)
	b.sql("UPDATE audit_row SET value = ? WHERE table_name = 'lane' AND row_key = '*/normal'",
		`{"pool_size":32,"partitions":0,"was_there":1}`)
	require.Empty(t, b.news(b.note))
	b.sql("UPDATE lane SET backlog_max = 5 WHERE name = 'normal'")
	require.Equal(t, []string{`sql row.update lane/*/normal {"backlog_max":0} {"backlog_max":5}`}, b.news(b.note))

	unwatched := map[string][]string{
		"cron_task": {"id", "updated_at"}, "lane": {"updated_at"}, "rate_limit": {"id", "updated_at"}, "game": nil,
		"report_field": {"retired_at", "updated_at", "accepted_at", "trial_at", "trial_note"},
	}
	for table, known := range unwatched {
		columns := b.columns(table)
		require.ElementsMatch(t, columns, slices.Concat(settings.Watched(table), known),
			"%s: a new column must be in its ownedTable", table)
	}
}

func (b *editBench) columns(table string) []string {
	b.t.Helper()
	rows, err := b.Config.Writer(b.t.Context()).Raw("SELECT * FROM " + table + " LIMIT 1").Rows()
	require.NoError(b.t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(b.t, err)
	require.NoError(b.t, rows.Err())
	return columns
}

func TestListAudit_ChoosesAndPages(t *testing.T) {
	t.Parallel()
	s, ctx := storetest.New(t), t.Context()
	var ids []int64
	for i, e := range []settings.Audit{
		{Actor: "otto", Action: "task.run", Object: "cron_task/a", After: `{"n":1}`},
		{Actor: "ada", Action: "task.edit", Object: "cron_task/ab", Before: "{}", After: "{}"},
		{Actor: "otto", Action: "tasks.reload", Object: "cron_task"},
		{Actor: "otto", Action: "stop.pause", Object: "cron_tasks"},
	} {
		id, err := s.AddAudit(ctx, e)
		require.NoError(t, err)
		ids = append(ids, id)
		at := time.Date(2026, 11, 21, 10, i, 0, 0, time.UTC)
		require.NoError(t, s.Config.Writer(ctx).Exec("UPDATE audit_log SET at = ? WHERE id = ?", sqldb.At(at), id).Error)
	}
	require.NoError(t, s.EndAudit(ctx, ids[0], "", "it failed"))
	require.NoError(t, s.EndAudit(ctx, ids[2], `{"tasks":3}`, ""))
	list := func(f settings.AuditFilter) []int64 {
		if f.Limit == 0 {
			f.Limit = 10
		}
		all, err := s.ListAudit(ctx, f)
		require.NoError(t, err)
		var got []int64
		for _, e := range all {
			got = append(got, int64(slices.Index(ids, e.ID)))
		}
		return got
	}
	at := func(minute int) time.Time { return time.Date(2026, 11, 21, 10, minute, 0, 0, time.UTC) }
	require.Equal(t, []int64{3, 2, 1, 0}, list(settings.AuditFilter{}))
	require.Equal(t, []int64{2, 1, 0}, list(settings.AuditFilter{Object: "cron_task"}))
	require.Equal(t, []int64{0}, list(settings.AuditFilter{Object: "cron_task/a"}))
	require.Equal(t, []int64{1}, list(settings.AuditFilter{Actor: "ada"}))
	require.Equal(t, []int64{2, 1}, list(settings.AuditFilter{Since: at(1), Until: at(2)}))
	require.Equal(t, []int64{1, 0}, list(settings.AuditFilter{Before: ids[2]}))
	require.Equal(t, []int64{3, 2}, list(settings.AuditFilter{Limit: 2}))
	// An order may name 10,000 accounts.
	long := `"` + strings.Repeat("1234567890123", 10_000) + `"`
	_, err := s.AddAudit(ctx, settings.Audit{Actor: "long", Action: "task.run", Object: "x", Before: long, After: long})
	require.NoError(t, err)
	all, err := s.ListAudit(ctx, settings.AuditFilter{Actor: "long", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, long, all[0].After)
	all, err = s.ListAudit(ctx, settings.AuditFilter{Object: "cron_task", Limit: 3})
	require.NoError(t, err)
	require.Equal(t, settings.Audit{ID: ids[2], At: at(2), Actor: "otto", Action: "tasks.reload", Object: "cron_task",
		After: `{"tasks":3}`}, all[0])
	require.Equal(t, settings.Audit{ID: ids[0], At: at(0), Actor: "otto", Action: "task.run", Object: "cron_task/a",
		After: `{"n":1}`, Error: "it failed"}, all[2])
}

// A column that an operator changes is recorded: a new one must be listed, or be left out here.
func TestEdits_OfEachColumnAreRecorded(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	leftOut := map[string][]string{
		"cron_task": {"revision"}, "subscription": {"revision", "since"}, "account_binding": {"id"},
		"report_field": {"accepted_at", "retired_at", "trial_at", "trial_note"},
		"media_account": { // Pulls, probes and checks write these.
			"created_at", "initialise_at", "initialised_at", "name", "parked_since", "parked_tries", "parked_until", "probed_at",
			"tier_by", "tier_reason", "tier_since", "token_id", "unparked_at", "checked_at",
		},
	}
	for table, recorded := range settings.OwnedColumns() {
		columns, err := s.Config.Writer(t.Context()).Migrator().ColumnTypes(table)
		require.NoError(t, err)
		for _, c := range columns {
			name := c.Name()
			assert.True(t, name == "updated_at" || slices.Contains(recorded, name) || slices.Contains(leftOut[table], name),
				"%s.%s", table, name)
		}
	}
}
