package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAudit_ShowsWhatChanged(t *testing.T) {
	t.Parallel()
	stdout, asked := printedFor(t, `{"next": "", "audit": [
  {"at": "2026-11-21T10:31:00.204Z", "actor": "sql", "action": "row.update", "object": "cron_task/a.task",
  "before": {"cron": "~ 3 * * *", "lane": "bulk"}, "after": {"cron": "~ 4 * * *", "enabled": 1}},
  {"at": "2026-11-21T10:30:00Z", "actor": "otto", "action": "task.run", "object": "cron_task/a.task",
  "after": {"accounts": ["1"]}},
  {"at": "2026-11-21T10:29:00Z", "actor": "otto", "action": "row.delete", "object": "game/x", "before": {"name": "X"}},
  {"at": "2026-11-21T10:28:00Z", "actor": "otto", "action": "dead.drop", "object": "subtask_dead",
  "after": {"all": true}, "error": "There is nothing."},
  {"at": "2026-11-21T10:27:00Z", "actor": "otto", "action": "tasks.reload", "object": "cron_task"}]}`,
		"audit", "--actor=otto", "--object=cron_task", "--until=2026-11-22T00:00:00Z")
	require.Equal(t, "/api/v1/audit?actor=otto&limit=50&object=cron_task&until=2026-11-22T00%3A00%3A00Z", asked)
	require.Equal(t, `AT                    BY    ACTION        OBJECT            CHANGE
2026-11-21T10:31:00Z  sql   row.update    cron_task/a.task  `+
		`cron: "~ 3 * * *" → "~ 4 * * *", enabled: none → 1, lane: "bulk" → none
2026-11-21T10:30:00Z  otto  task.run      cron_task/a.task  {"accounts": ["1"]}
2026-11-21T10:29:00Z  otto  row.delete    game/x            was {"name": "X"}
2026-11-21T10:28:00Z  otto  dead.drop     subtask_dead      not done: There is nothing.
2026-11-21T10:27:00Z  otto  tasks.reload  cron_task         -
`, stdout)
}
