-- Orders by hand that stop work: pauses, until their end or until lifted, and cancels. Any producer writes them;
-- consumers and the leader read the active ones. Their ids are in the order of run ids: a cancel applies to the runs
-- made before it.

-- +goose Up
CREATE TABLE IF NOT EXISTS stop_order (
  id BIGINT NOT NULL,
  verb VARCHAR(16) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  target VARCHAR(64) NOT NULL,
  target_name VARCHAR(191) NOT NULL,
  reason VARCHAR(255) NOT NULL,
  ordered_by VARCHAR(96) NOT NULL,
  ordered_at DATETIME(3) NOT NULL,
  until_at DATETIME(3) NULL,
  state VARCHAR(16) NOT NULL,
  ended_at DATETIME(3) NULL,
  ended_by VARCHAR(96) NOT NULL DEFAULT '',
  PRIMARY KEY (id),
  KEY active (state, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The stop_order that cancelled the run; 0 = none. Such a run ends as cancelled.
ALTER TABLE run ADD COLUMN cancel_id BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE run DROP COLUMN cancel_id;
DROP TABLE IF EXISTS stop_order;
