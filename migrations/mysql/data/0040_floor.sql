-- serial_hold: which subtask has a serial key, until it has ended, also while it waits for work outside.
-- subtask_due.outside: the work of the subtask continues outside.

-- +goose Up
CREATE TABLE IF NOT EXISTS serial_hold (
  serial_key VARCHAR(128) NOT NULL,
  run_id BIGINT NOT NULL,
  account_id BIGINT NOT NULL,
  part VARCHAR(96) NOT NULL,
  delivery INT NOT NULL,
  held_at DATETIME(3) NOT NULL,
  PRIMARY KEY (serial_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

ALTER TABLE subtask_due ADD COLUMN outside TINYINT NOT NULL DEFAULT 0, ADD KEY outside (outside, run_id);

-- +goose Down
ALTER TABLE subtask_due DROP KEY outside, DROP COLUMN outside;
DROP TABLE IF EXISTS serial_hold;
