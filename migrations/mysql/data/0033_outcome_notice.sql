-- Messages about the ends of subtasks of tasks with an application, until they are in Kafka. The transaction that ends a
-- subtask writes them. It takes the next number of (task_id, account_id, part) from outcome_seq, whose row it locks;
-- part is '' for a subtask of an account. notice: the rest of the message as JSON. Each slot is sent on its own.

-- +goose Up
ALTER TABLE run ADD COLUMN application VARCHAR(64) NOT NULL DEFAULT '';

CREATE TABLE IF NOT EXISTS outcome_seq (
  task_id BIGINT NOT NULL,
  account_id BIGINT NOT NULL,
  part VARCHAR(96) NOT NULL,
  seq BIGINT NOT NULL,
  PRIMARY KEY (task_id, account_id, part)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outcome_notice (
  slot INT NOT NULL,
  task_id BIGINT NOT NULL,
  account_id BIGINT NOT NULL,
  part VARCHAR(96) NOT NULL,
  seq BIGINT NOT NULL,
  notice MEDIUMTEXT NOT NULL,
  PRIMARY KEY (slot, task_id, account_id, part, seq)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS outcome_notice;
DROP TABLE IF EXISTS outcome_seq;
ALTER TABLE run DROP COLUMN application;
