-- Orders by hand that stop work: pauses, until their end or until lifted, and cancels. Any producer writes them;
-- consumers and the leader read the active ones. Their ids are in the order of run ids: a cancel applies to the runs
-- made before it.

-- +goose Up
CREATE TABLE IF NOT EXISTS stop_order (
  id INTEGER NOT NULL,
  verb TEXT NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  target_name TEXT NOT NULL,
  reason TEXT NOT NULL,
  ordered_by TEXT NOT NULL,
  ordered_at DATETIME NOT NULL,
  until_at DATETIME NULL,
  state TEXT NOT NULL,
  ended_at DATETIME NULL,
  ended_by TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS stop_order_active ON stop_order (state, id);

-- The stop_order that cancelled the run; 0 = none. Such a run ends as cancelled.
ALTER TABLE run ADD COLUMN cancel_id INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE run DROP COLUMN cancel_id;
DROP TABLE IF EXISTS stop_order;
