-- Indexes for tables of many millions of rows, and what the summaries of one account's day need to be rebuilt without
-- the days of all others.

-- +goose Up

-- Runs of a task, by its name, and of a task and a state.
CREATE INDEX IF NOT EXISTS run_task_name ON run (task_name, id);
CREATE INDEX IF NOT EXISTS run_task_name_state ON run (task_name, state, id);

-- Dead subtasks by class, with all columns of their groups.
CREATE INDEX IF NOT EXISTS subtask_dead_class ON subtask_dead (error_class, dead_at);
CREATE INDEX IF NOT EXISTS subtask_dead_tally ON subtask_dead (error_print, error_class, task_id, media, redrive_run_id, dead_at);

CREATE INDEX IF NOT EXISTS reconciliation_by_state ON reconciliation (state, account_id, day, level, metric);
CREATE INDEX IF NOT EXISTS reconciliation_by_day ON reconciliation (day, account_id, level, metric);

-- The accounts of a game.
CREATE INDEX IF NOT EXISTS binding_applied_game ON binding_applied (game, account_id);

-- noted = 1: the writer of the binding has noted the days in summary_rebound too. A leader of the previous release does
-- not.
ALTER TABLE binding_applied ADD COLUMN noted INTEGER NOT NULL DEFAULT 0;
UPDATE binding_applied SET noted = 1;

-- Days on which a game has lost or gained an account: their summaries are rebuilt whole. mark rises with each such
-- change.
CREATE TABLE IF NOT EXISTS summary_rebound (
  report TEXT NOT NULL,
  media TEXT NOT NULL,
  day DATE NOT NULL,
  mark INTEGER NOT NULL,
  PRIMARY KEY (report, media, day)
) WITHOUT ROWID;

-- Rows that are marked already may be marked for that reason.
INSERT OR IGNORE INTO summary_rebound (report, media, day, mark)
SELECT report, media, day, 1 FROM coverage WHERE dirty IS NOT NULL AND report IN ('report_daily', 'report_hourly') AND level = 'account';

-- Analysts query a level of some days, and the objects that have spent most.
CREATE INDEX IF NOT EXISTS wide_daily_level_day ON wide_daily (level, day, media, external_id);
CREATE INDEX IF NOT EXISTS wide_daily_spend ON wide_daily (level, cost);

-- What retention has deleted: rows of days before this one. Their summaries stay as they are.
CREATE TABLE IF NOT EXISTS pruned (
  table_name TEXT NOT NULL,
  before_day DATE NOT NULL,
  PRIMARY KEY (table_name)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS pruned;
DROP INDEX wide_daily_spend;
DROP INDEX wide_daily_level_day;
DROP TABLE IF EXISTS summary_rebound;
DROP INDEX binding_applied_game;
ALTER TABLE binding_applied DROP COLUMN noted;
DROP INDEX reconciliation_by_day;
DROP INDEX reconciliation_by_state;
DROP INDEX subtask_dead_tally;
DROP INDEX subtask_dead_class;
DROP INDEX run_task_name_state;
DROP INDEX run_task_name;
