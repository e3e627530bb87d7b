// Package vitess plans adsync's statements with the planner of Vitess, as a vtgate would.
//
// The statements are those of an end-to-end run on a MariaDB. ADSYNC_TEST_STATEMENTS names the file to which
// TestDeployment_StatementsNameTheirShard of test/e2e has written them, with the columns and keys of the tables. `make
// test-vitess` does both. `make test-services` plans the statements of its own run.
//
// It is a separate module, so that Vitess's dependencies stay out of adsync's.
package vitess

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recording holds the statements that an end-to-end run has sent to its data database.
type recording struct {
	Tables     map[string]table `json:"tables"`
	Statements []statement      `json:"statements"`
	Refused    []string         `json:"refused"` // statements that the run's proxy refused
	Listed     []string         `json:"listed"`  // statements that docs/sharding.md allows to read all shards
}

type statement struct {
	Text   string `json:"text"`
	Shape  string `json:"shape"`
	Listed string `json:"listed"` // its entry of recording.Listed, if any
}

func readRecording(t *testing.T) recording {
	t.Helper()
	path := os.Getenv("ADSYNC_TEST_STATEMENTS")
	if path == "" {
		t.Skip("ADSYNC_TEST_STATEMENTS names no recording: run make test-vitess")
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var r recording
	require.NoError(t, json.Unmarshal(text, &r))
	r.Statements = slices.DeleteFunc(r.Statements, func(s statement) bool {
		// Tables are made by migrate and once a day, and Vitess knows them by its vschema. The check of the user's rights
		// names a table that must not exist.
		return strings.HasPrefix(s.Shape, "create ") || strings.HasPrefix(s.Shape, "alter ") ||
			strings.Contains(s.Shape, "adsync_no_such_table")
	})
	require.NotEmpty(t, r.Statements)
	return r
}

func TestPlans_ReadOnlyTheShardsOfTheirValues(t *testing.T) {
	t.Parallel()
	r := readRecording(t)
	p := newPlanner(t, r.Tables)
	seen := map[string]bool{}
	faults := map[string]bool{}
	for _, s := range r.Statements {
		switch err := p.check(s.Text); {
		case err == nil:
		case s.Listed != "":
			seen[s.Listed] = true
		default:
			faults[err.Error()+": "+s.Shape] = true
		}
	}
	require.Empty(t, faults, "docs/sharding.md does not list them")
	for _, listed := range r.Listed {
		require.Contains(t, seen, listed, "docs/sharding.md lists a statement that no longer reads all shards")
	}
}

func TestPlans_AnUnshardedKeyspaceAcceptsAll(t *testing.T) {
	t.Parallel()
	r := readRecording(t)
	p := newWholePlanner(t, r.Tables)
	faults := map[string]bool{}
	for _, s := range r.Statements {
		if err := p.check(s.Text); err != nil {
			faults[err.Error()+": "+s.Shape] = true
		}
	}
	require.Empty(t, faults)
}

// The run's proxy refused JSON_TABLE, so the run sent lists as chains of SELECTs. Vitess must refuse JSON_TABLE too.
func TestPlans_JSONIsRefused(t *testing.T) {
	t.Parallel()
	r := readRecording(t)
	require.NotEmpty(t, r.Refused)
	for _, p := range []*planner{newPlanner(t, r.Tables), newWholePlanner(t, r.Tables)} {
		for _, text := range r.Refused {
			require.ErrorContains(t, p.check(text), "unsupported: json_table expressions", text)
		}
	}
}

func TestPlanner_FindsStatementsThatShardsCannotAnswer(t *testing.T) {
	t.Parallel()
	of := func(names ...string) []column {
		var all []column
		for _, name := range names {
			all = append(all, column{Name: name, Type: "bigint"})
		}
		return all
	}
	p := newPlanner(t, map[string]table{
		"run":    {Key: "id", Columns: of("id", "state")},
		"due":    {Key: "run_id", Columns: of("run_id", "account_id", "part", "state")},
		"leader": {Copied: true, Columns: of("id", "epoch")}, "one_row": {Copied: true, Columns: of("id")},
		"tick": {Columns: of("run_id", "task_id")},
	})
	const (
		list = "(SELECT 7 AS run_id, 1 AS account_id, 2 AS part UNION ALL SELECT 8, 2, 3) AS o"
		keys = "t.run_id = o.run_id AND t.account_id = o.account_id AND t.part = o.part AND t.run_id IN (7, 8)"
	)
	for text, want := range map[string]string{
		"START TRANSACTION":                                                                               "",
		"SELECT state FROM run WHERE id = 7":                                                              "",
		"SELECT state FROM run WHERE id IN (7, 8)":                                                        "",
		"SELECT state FROM run WHERE id = ?":                                                              "",
		"SELECT id FROM run WHERE state = 1":                                                              "Scatter",
		"SELECT * FROM run WHERE 1 = 0":                                                                   "",
		"SELECT 1 FROM tick WHERE task_id = 7":                                                            "",
		"SELECT t.task_id FROM tick t JOIN run r ON r.id = t.run_id WHERE t.run_id > 7":                   "Join",
		"INSERT INTO due (run_id, account_id) VALUES (7, 1), (8, 2)":                                      "",
		"UPDATE run SET id = 8 WHERE id = 7":                                                              "unsupported",
		"UPDATE leader SET epoch = 2 WHERE id = 1":                                                        "",
		"UPDATE run JOIN leader ON leader.id = 1 AND leader.epoch = 5 SET run.state = 2 WHERE run.id = 7": "",

		"SELECT t.state FROM " + list + " STRAIGHT_JOIN due AS t ON " + keys +
			" FOR UPDATE": "",
		"UPDATE one_row STRAIGHT_JOIN " + list + " STRAIGHT_JOIN due AS t ON one_row.id = 1 AND " + keys +
			" SET t.state = o.part": "",
		"DELETE t FROM one_row STRAIGHT_JOIN " + list + " STRAIGHT_JOIN due AS t ON one_row.id = 1 AND " +
			keys: "",
		// Without one_row in front they fail.
		"UPDATE " + list + " STRAIGHT_JOIN due AS t ON " + keys + " SET t.state = o.part": "panics",
		"DELETE t FROM " + list + " STRAIGHT_JOIN due AS t ON " + keys:                    "panics",
		"UPDATE due AS t JOIN " + list + " ON " + keys +
			" SET t.state = o.part": "expected all sources of the UNION to be horizons",
		"UPDATE due AS t JOIN " + list +
			" ON t.run_id = 7 AND t.part = o.part SET t.state = o.part": "nothing fills in :t_part",
	} {
		err := p.check(text)
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, want, text)
		}
	}
}
