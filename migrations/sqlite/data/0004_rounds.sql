-- Rounds: which ended runs of its predecessors a tick of a task with after_tasks answers. And the last usable row of
-- each task, for the time when the row cannot be used.

-- +goose Up
CREATE TABLE IF NOT EXISTS tick_answer (
  task_id INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  predecessor_task_id INTEGER NOT NULL,
  planned_at DATETIME NOT NULL,
  PRIMARY KEY (task_id, run_id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS task_good (
  task_id INTEGER NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  row_text TEXT NOT NULL,
  saved_at DATETIME NOT NULL
);

-- +goose Down
DROP TABLE IF EXISTS task_good;
DROP TABLE IF EXISTS tick_answer;
