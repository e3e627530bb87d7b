-- serial_hold: which subtask has a serial key, until it has ended, also while it waits for work outside.
-- subtask_due.outside: the work of the subtask continues outside.

-- +goose Up
CREATE TABLE IF NOT EXISTS serial_hold (
  serial_key TEXT NOT NULL,
  run_id INTEGER NOT NULL,
  account_id INTEGER NOT NULL,
  part TEXT NOT NULL,
  delivery INTEGER NOT NULL,
  held_at DATETIME NOT NULL,
  PRIMARY KEY (serial_key)
) WITHOUT ROWID;

ALTER TABLE subtask_due ADD COLUMN outside INTEGER NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS subtask_due_outside ON subtask_due (outside, run_id);

-- +goose Down
DROP INDEX IF EXISTS subtask_due_outside;
ALTER TABLE subtask_due DROP COLUMN outside;
DROP TABLE IF EXISTS serial_hold;
