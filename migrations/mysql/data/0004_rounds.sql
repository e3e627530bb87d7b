-- Rounds: which ended runs of its predecessors a tick of a task with after_tasks answers. And the last usable row of
-- each task, for the time when the row cannot be used.

-- +goose Up
CREATE TABLE IF NOT EXISTS tick_answer (
  task_id BIGINT NOT NULL,
  run_id BIGINT NOT NULL,
  predecessor_task_id BIGINT NOT NULL,
  planned_at DATETIME(3) NOT NULL,
  PRIMARY KEY (task_id, run_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS task_good (
  task_id BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  row_text MEDIUMTEXT NOT NULL,
  saved_at DATETIME(3) NOT NULL,
  PRIMARY KEY (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS task_good;
DROP TABLE IF EXISTS tick_answer;
