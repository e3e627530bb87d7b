package e2e

import (
	"regexp"
	"slices"
	"testing"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/engine"
)

// scattered are the statements that ask all shards, by their shapes, and why they may. No subtask has one of its own: they come by the clock, and the more seldom
// the more they read.
var scattered = []struct{ shape, because string }{
	{`^select run_id , account_id , part , (state|media) , .* from subtask_due (force index .* )?where (state|topic|waits_for) `, "what is due or was lost, of all runs: the leader looks every few seconds, and when Redis tells it to"},
	{`^select (waits_for|topic , topic_partition , min .*) from subtask_due where (waits_for|topic) > |^select r \. media , r \. lane from subtask_due d .* where d \. topic = `, "what waits, and what was sent and not done: the leader looks every few seconds"},
	{`from \( select .* \) as o straight_join subtask_due as t on t \. waits_for = o \. waits_for|^select d \. run_id , .* from subtask_due d left join task_log t on t \. run_id = \? `, "what is queued behind a run, only where the run says that something may be, or a fan-out has died"},
	{`^select .* from run (r )?(join \( select min \( id \) as head_id from run )?where (r \. )?(state|task_id|id between) `, "the open runs, all, those of a task, and those of a day: the leader chooses what is fanned out next, once for each run or every few seconds"},
	{` from tick t left join run r on r \. id = t \. run_id | from tick_answer k .* where not exists \( select \? from run r where r \. id = k \. run_id `, "ticks whose run was never made, each minute"},
	{`^select .* from subtask_dead (d )?(left join task_log t on t \. run_id = \? .* )?where (d \. )?redrive_run_id `, "the redrives that are under way"},
	{`^select (state|media) , count \( \? \) (as n )?from \w+ (where state = \? and confirmed_at is not \? )?group by|^select count \( \? \) from run where state = \?$|^select dirty from coverage where media = \? and dirty > \? order by dirty limit \?$`, "counts for metrics, and the oldest change that summaries do not show, each minute"},
	{`^select account_id , (report , )?day , dirty from (coverage|wide_day) where media = \? and dirty <= `, "the days whose figures have changed: the tasks system.summary and system.wide"},
	{`from \( select r \. account_id from report_(daily|hourly) r where r \. day = \? and r \. level = \? and r \. media = \? and r \. account_id > \? group by .* limit \? \) a left join binding_applied b on b \. account_id = a \. account_id `, "the accounts of a day, for its summary"},
	{`^select account_id as id , game , os from binding_applied where game in `, "those of a few games of a day, for its summary"},
	{`^select (id from run where id > \? and id < \?|d \. run_id , .* from subtask_dead d (left join run r on r \. id = d \. run_id )?where d \. dead_at <= \?|day , account_id , .* from \w+_report_\w+ where day < \?) .*limit \?$`, "what is past its retention, once an hour"},
	{`^update binding_applied set noted = \?$|^insert ignore into summary_rebound .* from coverage where dirty is not `, "migrations, once"},
	{`^select account_id , from_day , to_day , game , os from binding_applied order by`, "all bindings, each minute"},
	{`^select .* from (hole|reconciliation) where (ordered_at < |last_seen_at < |media = )`, "the lists of system.fill and system.reconcile, and what they forget"},
	{`^select \* from \( select \* from reconciliation where state = |^select id , task_name , media , .* from run order by id desc limit \?$|^select d \. run_id , .* from subtask_dead d order by d \. dead_at desc limit \?$|^select account_id , media , reason , due_at from subtask_due where state = |^select account_id , .* from coverage where state = \? and media = |^select media , .* from unusable_value group by `,
		"what the first page shows, once for all who look, and for the leader's metrics of it each minute"},
	{`^select \* from \w+ where \? = \?$`, "the columns of a table, and no row"},
}

// TestDeployment_StatementsNameTheirShard reads what a deployment says to its database, from the ticks to the summaries: a proxy that shards could send each statement
// to the shards that it is about, and nothing moves a row to another.
func TestDeployment_StatementsNameTheirShard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, *accounts, 171)
	var said *recorder
	d := deploy(t, w, func(s services, settings map[string]any) {
		if s.databases.Data.Driver != store.MySQL {
			t.Skip("a proxy reads MySQL's dialect")
		}
		recorder, data := record(t, s.databases.Data)
		said = recorder
		settings["store"].(map[string]any)["data"] = databaseSettings(data)
		settings["producer"].(map[string]any)["schedule"] = true
	})
	// Some subtasks are tried again.
	w.order(t, "faults", map[string]any{"kind": "status", "media": "tencent", "count": 30}, nil)
	d.await(t, d.orderAll(t, false))
	d.summarise(t)
	d.requireTruth(t)
	d.stop(t)

	router := newRouter()
	met := map[string]bool{}
	var lost []string
	for _, text := range said.all() {
		tables, faults, err := router.check(text)
		require.NoError(t, err, text)
		for _, table := range tables {
			met[logDay.ReplaceAllString(table, "task_log")] = true
		}
		shape := shapeOf(text)
		if len(faults) > 0 && !slices.ContainsFunc(scatteredShapes, func(s *regexp.Regexp) bool { return s.MatchString(shape) }) {
			lost = append(lost, faults[0]+": "+shape)
		}
	}
	slices.Sort(lost)
	require.Empty(t, slices.Compact(lost))
	for table, place := range store.Places(engine.RawTables()) {
		if place.ShardKey(table) != "" {
			require.Contains(t, met, table, "nothing was said of it: this proves nothing")
		}
	}
	require.Contains(t, met, "task_log")
}

var scatteredShapes = func() []*regexp.Regexp {
	shapes := make([]*regexp.Regexp, len(scattered))
	for i, s := range scattered {
		shapes[i] = regexp.MustCompile(s.shape)
	}
	return shapes
}()

var logDay = regexp.MustCompile(`task_log_\d{8}`)

func newRouter() *router {
	places := store.Places(engine.RawTables())
	return &router{parser: parser.New(), shardKey: func(table string) string {
		if logDay.MatchString(table) {
			return store.ByRun.ShardKey(table)
		}
		return places[table].ShardKey(table)
	}}
}

func TestRouter_FindsWhatNamesNoShard(t *testing.T) {
	t.Parallel()
	const list = "(SELECT 7 AS run_id, 1 AS account_id UNION ALL SELECT 8, 2) AS o"
	const asJSON = `JSON_TABLE('[[7,"it''s \')"],[8,"b"]]', '$[*]' COLUMNS (run_id BIGINT PATH '$[0]', part VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[1]')) AS o`
	for statement, want := range map[string]string{
		"SELECT 1 FROM leader WHERE id = 1":                        "",
		"SELECT 1 FROM run WHERE id = 7":                           "",
		"SELECT 1 FROM run WHERE id IN (7, 8) AND state = 'x'":     "",
		"SELECT 1 FROM run WHERE id > 7":                           "run is not narrowed by id",
		"SELECT 1 FROM run WHERE id = 7 OR state = 'x'":            "run is not narrowed by id",
		"SELECT 1 FROM run WHERE state = 'x'":                      "run is not narrowed by id",
		"SELECT 1 FROM coverage WHERE account_id NOT IN (1, 2)":    "coverage is not narrowed by account_id",
		"SELECT 1 FROM coverage WHERE account_id = run_id":         "coverage is not narrowed by account_id",
		"SELECT 1 FROM (SELECT day FROM coverage WHERE day > 1) c": "coverage is not narrowed by account_id",

		"SELECT 1 FROM report_daily r JOIN coverage c ON c.account_id = r.account_id WHERE r.account_id = 1": "",
		"SELECT 1 FROM report_daily r JOIN coverage c ON c.day = r.day WHERE r.account_id = 1":               "coverage is not narrowed by account_id",

		"SELECT 1 FROM " + list + " STRAIGHT_JOIN task_log_20261121 AS t ON t.run_id = o.run_id":                           "task_log_20261121 is not narrowed by run_id",
		"SELECT 1 FROM " + list + " STRAIGHT_JOIN task_log_20261121 AS t ON t.run_id = o.run_id AND t.run_id IN (7, 8)":    "",
		"UPDATE " + list + " STRAIGHT_JOIN subtask_due AS t ON t.run_id = o.run_id AND t.run_id IN (7, 8) SET t.state = 1": "",
		"SELECT 1 FROM " + asJSON + " STRAIGHT_JOIN task_log_20261121 AS t ON t.run_id = o.run_id":                         "task_log_20261121 is not narrowed by run_id",
		"SELECT 1 FROM " + asJSON + " STRAIGHT_JOIN task_log_20261121 AS t ON t.run_id = o.run_id AND t.run_id IN (7, 8)":  "",
		"UPDATE " + list + " STRAIGHT_JOIN subtask_due AS t ON t.account_id = o.account_id SET t.state = 1":                "subtask_due is not narrowed by run_id",
		"DELETE t FROM " + list + " STRAIGHT_JOIN subtask_due AS t ON t.run_id = 7 AND t.account_id = o.account_id":        "",
		"DELETE FROM hole WHERE (account_id, day) IN ((1, 2), (3, 4))":                                                     "hole is not narrowed by account_id",
		"DELETE FROM hole WHERE (account_id, day) IN ((1, 2), (3, 4)) AND account_id IN (1, 3)":                            "",

		"UPDATE run SET id = 8 WHERE id = 7": "run.id is updated",
		"INSERT INTO coverage (account_id, day) VALUES (1, 2) ON DUPLICATE KEY UPDATE account_id = VALUES(account_id)": "coverage.account_id is updated",
		"INSERT INTO coverage (account_id, day) VALUES (1, 2), (3, 4) ON DUPLICATE KEY UPDATE day = VALUES(day)":       "",
		"INSERT INTO coverage (day) SELECT 1": "coverage is not narrowed by account_id",
		"INSERT INTO task_log_20261121 (run_id, account_id) SELECT 7, o.account_id FROM " + list + ", leader l, run r WHERE l.id = 1 AND r.id = 7 LOCK IN SHARE MODE": "",
		"INSERT INTO task_log_20261121 (run_id, account_id) SELECT r.total, o.account_id FROM " + list + ", run r WHERE r.id = 7":                                     "task_log_20261121 is not narrowed by run_id",
		"INSERT INTO run (id) SELECT o.run_id FROM " + list: "",
	} {
		_, faults, err := newRouter().check(statement)
		require.NoError(t, err, statement)
		var got string
		if len(faults) > 0 {
			require.Len(t, faults, 1, statement)
			got = faults[0]
		}
		require.Equal(t, want, got, statement)
	}
}
