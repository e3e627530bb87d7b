-- The order of any work. serial_hold: who holds a serial key, from its start until it has ended, also while it waits
-- for work outside; claim names the process that took it last. floor: exclusive subtasks, in the order in which they
-- asked; front_at: nothing begins next to it from then on; held_at: all others were idle, and it began. floor_state:
-- since when consumers report, and until when; also the lock of all changes of floor. floor_consumer: what each
-- consumer runs next to the floors that it has read. subtask_due.outside: the subtask's work continues elsewhere.

-- +goose Up
CREATE TABLE IF NOT EXISTS serial_hold (
  serial_key VARCHAR(128) NOT NULL,
  run_id BIGINT NOT NULL,
  account_id BIGINT NOT NULL,
  part VARCHAR(96) NOT NULL,
  delivery INT NOT NULL,
  claim VARCHAR(128) NOT NULL,
  held_at DATETIME(3) NOT NULL,
  PRIMARY KEY (serial_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS floor (
  id BIGINT NOT NULL,
  run_id BIGINT NOT NULL,
  account_id BIGINT NOT NULL,
  part VARCHAR(96) NOT NULL,
  task_name VARCHAR(96) NOT NULL,
  media VARCHAR(32) NOT NULL,
  lane VARCHAR(32) NOT NULL,
  scope VARCHAR(16) NOT NULL,
  ancestors TEXT NOT NULL,
  hold_ms BIGINT NOT NULL,
  drain_ms BIGINT NOT NULL,
  delivery INT NOT NULL,
  claim VARCHAR(128) NOT NULL,
  asked_at DATETIME(3) NOT NULL,
  front_at DATETIME(3) NULL,
  held_at DATETIME(3) NULL,
  PRIMARY KEY (id),
  UNIQUE KEY owner (run_id, account_id, part)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS floor_state (
  id TINYINT NOT NULL,
  last_id BIGINT NOT NULL DEFAULT 0,
  reports_since DATETIME(3) NOT NULL,
  reports_until DATETIME(3) NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO floor_state (id, last_id, reports_since, reports_until) VALUES (1, 0, '2000-01-01', '2000-01-01');

CREATE TABLE IF NOT EXISTS floor_consumer (
  node VARCHAR(128) NOT NULL,
  seen_at DATETIME(3) NOT NULL,
  running TEXT NOT NULL,
  PRIMARY KEY (node)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

ALTER TABLE subtask_due ADD COLUMN outside TINYINT NOT NULL DEFAULT 0, ADD KEY outside (outside, run_id);

-- +goose Down
ALTER TABLE subtask_due DROP KEY outside, DROP COLUMN outside;
DROP TABLE IF EXISTS floor_consumer;
DROP TABLE IF EXISTS floor_state;
DROP TABLE IF EXISTS floor;
DROP TABLE IF EXISTS serial_hold;
