-- The order of any work. serial_hold: who holds a serial key, from its start until it has ended, also while it waits
-- for work outside; claim names the process that took it last. floor: exclusive subtasks, in the order in which they
-- asked; front_at: nothing begins next to it from then on; held_at: all others were idle, and it began. floor_state:
-- since when consumers report, and until when; also the lock of all changes of floor. floor_consumer: what each
-- consumer runs next to the floors that it has read. subtask_due.outside: the subtask's work continues elsewhere.

-- +goose Up
CREATE TABLE IF NOT EXISTS serial_hold (
  serial_key TEXT NOT NULL,
  run_id INTEGER NOT NULL,
  account_id INTEGER NOT NULL,
  part TEXT NOT NULL,
  delivery INTEGER NOT NULL,
  claim TEXT NOT NULL,
  held_at DATETIME NOT NULL,
  PRIMARY KEY (serial_key)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS floor (
  id INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  account_id INTEGER NOT NULL,
  part TEXT NOT NULL,
  task_name TEXT NOT NULL,
  media TEXT NOT NULL,
  lane TEXT NOT NULL,
  scope TEXT NOT NULL,
  ancestors TEXT NOT NULL,
  hold_ms INTEGER NOT NULL,
  drain_ms INTEGER NOT NULL,
  delivery INTEGER NOT NULL,
  claim TEXT NOT NULL,
  asked_at DATETIME NOT NULL,
  front_at DATETIME NULL,
  held_at DATETIME NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS floor_owner ON floor (run_id, account_id, part);

CREATE TABLE IF NOT EXISTS floor_state (
  id INTEGER NOT NULL,
  last_id INTEGER NOT NULL DEFAULT 0,
  reports_since DATETIME NOT NULL,
  reports_until DATETIME NOT NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;

INSERT OR IGNORE INTO floor_state (id, last_id, reports_since, reports_until)
VALUES (1, 0, '2000-01-01 00:00:00.000', '2000-01-01 00:00:00.000');

CREATE TABLE IF NOT EXISTS floor_consumer (
  node TEXT NOT NULL,
  seen_at DATETIME NOT NULL,
  running TEXT NOT NULL,
  PRIMARY KEY (node)
) WITHOUT ROWID;

ALTER TABLE subtask_due ADD COLUMN outside INTEGER NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS subtask_due_outside ON subtask_due (outside, run_id);

-- +goose Down
DROP INDEX IF EXISTS subtask_due_outside;
ALTER TABLE subtask_due DROP COLUMN outside;
DROP TABLE IF EXISTS floor_consumer;
DROP TABLE IF EXISTS floor_state;
DROP TABLE IF EXISTS floor;
DROP TABLE IF EXISTS serial_hold;
