package e2e

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/engine"
	"adsync/test/platforms/simclient"
)

// TestDeployment_StatementsNameTheirShard reads the statements that a deployment sends to its data database, from the
// ticks to the summaries. A sharding proxy can route each statement to its shards, or docs/sharding.md lists the
// statement. No statement moves a row to another shard. The recorder answers as such a proxy does: Vitess plans no
// JSON_TABLE, and TiDB has none. Where ADSYNC_TEST_STATEMENTS names a file, the statements are written there for
// test/vitess.
func TestDeployment_StatementsNameTheirShard(t *testing.T) {
	t.Parallel()
	// So many accounts include some without a game, whose summaries have a statement that no other work needs.
	w := newWorld(t, simclient.OfEach(20), 171)
	var said *recorder
	var recorded sqldb.Config
	d := deploy(t, w, func(s services, settings map[string]any) {
		if s.databases.Data.Driver != sqldb.MySQL {
			t.Skip("a proxy reads MySQL's dialect")
		}
		recorder, data := record(t, s.databases.Data, "JSON_TABLE(")
		said = recorder
		recorded = s.databases
		recorded.Data = data
		settings["store"].(map[string]any)["data"] = databaseSettings(data)
		settings["producer"].(map[string]any)["schedule"] = true
	})
	// Some subtasks are retried slowly.
	w.order(t, "faults", map[string]any{"kind": "status", "media": onePlatform, "count": 30}, nil)
	w.slowDown(t, time.Second)
	ids := d.orderAll(t, false)
	awaitSentAgain(t, recorded)
	status, body := call(t, http.MethodDelete, w.address+"/_sim/faults", nil)
	require.Less(t, status, 300, string(body))
	d.await(t, ids)
	d.summarise(t)
	d.requireTruth(t)
	d.pullOutside(t, onePlatform)
	d.stop(t)

	router, list := newRouter(), readAllShards(t)
	all := make([]statement, 0, len(said.all()))
	met, listed := map[string]bool{}, map[string]bool{}
	var lost []string
	for _, text := range said.all() {
		tables, faults, err := router.check(text)
		require.NoError(t, err, text)
		for _, table := range tables {
			met[logDay.ReplaceAllString(table, "task_$1")] = true
		}
		s := statement{Text: text, Shape: shapeOf(text)}
		s.Listed = list.find(s.Shape)
		all = append(all, s)
		switch {
		case len(faults) == 0:
		case s.Listed != "":
			listed[s.Listed] = true
		default:
			lost = append(lost, faults[0]+": "+s.Shape)
		}
	}
	if path := os.Getenv("ADSYNC_TEST_STATEMENTS"); path != "" {
		d.writeStatements(t, path, all, said.refusals(), list)
	}
	slices.Sort(lost)
	require.Empty(t, slices.Compact(lost), "docs/sharding.md does not list them")
	for _, p := range list {
		require.Contains(t, listed, p.text, "docs/sharding.md lists a statement that no longer occurs")
	}
	for table, place := range sqldb.Places(engine.RawTables()) {
		if place.ShardKey(table) != "" {
			require.Contains(t, met, table, "no statement concerns it: this proves nothing")
		}
	}
	require.Contains(t, met, "task_log")
	require.Contains(t, met, "task_failure")
}

// pullOutside pulls an old day of an account as an outside worker does.
func (d *deployment) pullOutside(t *testing.T, media string) {
	t.Helper()
	send := func(method, path string, body map[string]any) (answer map[string]any) {
		status, text := call(t, method, d.api+"/pulls"+path, body)
		require.Less(t, status, 300, string(text))
		require.NoError(t, json.Unmarshal(text, &answer))
		return answer
	}
	day := d.world.now.In(zone).AddDate(0, 0, -40).Format(time.DateOnly)
	claim := send(http.MethodPost, "", map[string]any{"media": media, "account": d.busiestAccount(t, media),
		"report": "report_daily", "level": "account", "day": day})
	path := "/" + claim["id"].(string)
	send(http.MethodPut, path+"/parts/1", map[string]any{"rows": []any{map[string]any{"cost": "1.50", "clicks": 3}}})
	end := send(http.MethodPost, path+"/complete", map[string]any{"parts": 1, "total": 1})
	require.Equal(t, "complete", end["state"], end)
}

// awaitSentAgain runs the query of the leader's sweep. The sweep itself runs each 15 s and may miss all rows that were
// sent again.
func awaitSentAgain(t *testing.T, recorded sqldb.Config) {
	t.Helper()
	s, err := store.Open(t.Context(), recorded, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.Eventually(t, func() bool {
		ranges, err := s.SentRanges(t.Context())
		return err == nil && len(ranges) > 0
	}, patience, poll/5, "no subtask is sent again")
}

var logDay = regexp.MustCompile(`task_(log|failure)_\d{8}`)

func newRouter() *router {
	places := sqldb.Places(engine.RawTables())
	return &router{parser: parser.New(), shardKey: func(table string) string {
		if logDay.MatchString(table) {
			return sqldb.ByRun.ShardKey(table)
		}
		return places[table].ShardKey(table)
	}}
}

func TestRouter_FindsWhatNamesNoShard(t *testing.T) {
	t.Parallel()
	const list = "(SELECT 7 AS run_id, 1 AS account_id UNION ALL SELECT 8, 2) AS o"
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
		"SELECT 1 FROM report_daily r JOIN coverage c ON c.day = r.day" +
			" WHERE r.account_id = 1": "coverage is not narrowed by account_id",

		"SELECT 1 FROM " + list +
			" STRAIGHT_JOIN task_log_20261121 AS t ON t.run_id = o.run_id": "task_log_20261121 is not narrowed by run_id",
		"SELECT 1 FROM " + list +
			" STRAIGHT_JOIN task_log_20261121 AS t ON t.run_id = o.run_id AND t.run_id IN (7, 8)": "",
		"UPDATE one_row STRAIGHT_JOIN " + list +
			" STRAIGHT_JOIN subtask_due AS t ON t.run_id = o.run_id AND t.run_id IN (7, 8) SET t.state = 1": "",
		"UPDATE " + list +
			" STRAIGHT_JOIN subtask_due AS t" +
			" ON t.account_id = o.account_id SET t.state = 1": "subtask_due is not narrowed by run_id",
		"DELETE t FROM " + list +
			" STRAIGHT_JOIN subtask_due AS t ON t.run_id = 7 AND t.account_id = o.account_id": "",
		"DELETE FROM hole" +
			" WHERE (account_id, day) IN ((1, 2), (3, 4))": "hole is not narrowed by account_id",
		"DELETE FROM hole WHERE (account_id, day) IN ((1, 2), (3, 4)) AND account_id IN (1, 3)": "",

		"UPDATE run SET id = 8 WHERE id = 7": "run.id is updated",
		"INSERT INTO coverage (account_id, day) VALUES (1, 2)" +
			" ON DUPLICATE KEY UPDATE account_id = VALUES(account_id)": "coverage.account_id is updated",
		"INSERT INTO coverage (account_id, day) VALUES (1, 2), (3, 4) ON DUPLICATE KEY UPDATE day = VALUES(day)": "",
		"INSERT INTO coverage (day) SELECT 1": "coverage is not narrowed by account_id",
		"INSERT INTO task_log_20261121 (run_id, account_id) SELECT 7, o.account_id FROM " + list +
			", leader l, run r WHERE l.id = 1 AND r.id = 7 LOCK IN SHARE MODE": "",
		"INSERT INTO task_log_20261121 (run_id, account_id) SELECT r.total, o.account_id FROM " + list +
			", run r WHERE r.id = 7": "task_log_20261121 is not narrowed by run_id",
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
