-- Messages about the ends of subtasks of tasks with an application, until they are in Kafka. The transaction that ends a
-- subtask writes them. It takes the next number of (task_id, account_id, part) from outcome_seq, whose row it locks;
-- part is '' for a subtask of an account. notice: the rest of the message as JSON. Each slot is sent on its own.

-- +goose Up
ALTER TABLE run ADD COLUMN application TEXT NOT NULL DEFAULT '';

CREATE TABLE IF NOT EXISTS outcome_seq (
  task_id INTEGER NOT NULL,
  account_id INTEGER NOT NULL,
  part TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (task_id, account_id, part)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS outcome_notice (
  slot INTEGER NOT NULL,
  task_id INTEGER NOT NULL,
  account_id INTEGER NOT NULL,
  part TEXT NOT NULL,
  seq INTEGER NOT NULL,
  notice TEXT NOT NULL,
  PRIMARY KEY (slot, task_id, account_id, part, seq)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS outcome_notice;
DROP TABLE IF EXISTS outcome_seq;
ALTER TABLE run DROP COLUMN application;
