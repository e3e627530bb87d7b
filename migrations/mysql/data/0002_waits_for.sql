-- What a deferred subtask waits for in addition to its time: 'run:ID' for the subtask of the same account and part in
-- that run, 'pause:ID' for the end of a pause. The end of either makes the row due.

-- +goose Up
ALTER TABLE subtask_due
  ADD COLUMN waits_for VARCHAR(64) NOT NULL DEFAULT '',
  ADD KEY waits_for (waits_for, account_id, part);

-- +goose Down
ALTER TABLE subtask_due DROP KEY waits_for, DROP COLUMN waits_for;
