-- What a deferred subtask waits for in addition to its time: 'run:ID' for the subtask of the same account and part in
-- that run, 'pause:ID' for the end of a pause. The end of either makes the row due.

-- +goose Up
ALTER TABLE subtask_due ADD COLUMN waits_for TEXT NOT NULL DEFAULT '';
CREATE INDEX subtask_due_waits_for ON subtask_due (waits_for, account_id, part);

-- +goose Down
DROP INDEX subtask_due_waits_for;
ALTER TABLE subtask_due DROP COLUMN waits_for;
