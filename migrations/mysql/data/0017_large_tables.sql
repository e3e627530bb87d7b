-- Indexes for tables of many millions of rows, and what the summaries of one account's day need to be rebuilt without
-- the days of all others.

-- +goose Up

-- Runs of a task, by its name, and of a task and a state.
ALTER TABLE run
  ADD KEY task_name (task_name, id),
  ADD KEY task_name_state (task_name, state, id);

-- Dead subtasks by class, with all columns of their groups.
ALTER TABLE subtask_dead
  ADD KEY class (error_class, dead_at),
  ADD KEY tally (error_print, error_class, task_id, media, redrive_run_id, dead_at);

ALTER TABLE reconciliation
  ADD KEY by_state (state, account_id, day, level, metric),
  ADD KEY by_day (day, account_id, level, metric);

-- The accounts of a game.
ALTER TABLE binding_applied ADD KEY game (game, account_id);

-- noted = 1: the writer of the binding has noted the days in summary_rebound too. A leader of the previous release does
-- not.
ALTER TABLE binding_applied ADD COLUMN noted TINYINT NOT NULL DEFAULT 0;
UPDATE binding_applied SET noted = 1;

-- Days on which a game has lost or gained an account: their summaries are rebuilt whole. mark rises with each such
-- change.
CREATE TABLE IF NOT EXISTS summary_rebound (
  report VARCHAR(32) NOT NULL,
  media VARCHAR(32) NOT NULL,
  day DATE NOT NULL,
  mark BIGINT NOT NULL,
  PRIMARY KEY (report, media, day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Rows that are marked already may be marked for that reason.
INSERT IGNORE INTO summary_rebound (report, media, day, mark)
SELECT report, media, day, 1 FROM coverage WHERE dirty IS NOT NULL AND report IN ('report_daily', 'report_hourly') AND level = 'account';

-- Analysts query a level of some days, and the objects that have spent most.
ALTER TABLE wide_daily
  ADD KEY level_day (level, day, media, external_id),
  ADD KEY spend (level, cost);

-- What retention has deleted: rows of days before this one. Their summaries stay as they are.
CREATE TABLE IF NOT EXISTS pruned (
  table_name VARCHAR(64) NOT NULL,
  before_day DATE NOT NULL,
  PRIMARY KEY (table_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS pruned;
ALTER TABLE wide_daily DROP KEY spend, DROP KEY level_day;
DROP TABLE IF EXISTS summary_rebound;
ALTER TABLE binding_applied DROP COLUMN noted, DROP KEY game;
ALTER TABLE reconciliation DROP KEY by_day, DROP KEY by_state;
ALTER TABLE subtask_dead DROP KEY tally, DROP KEY class;
ALTER TABLE run DROP KEY task_name_state, DROP KEY task_name;
