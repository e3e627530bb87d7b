-- Messages of later deliveries are found by their place in the log: the sweep looks for those that the group has
-- passed.

-- +goose Up
CREATE INDEX subtask_due_place ON subtask_due (topic, topic_partition, topic_offset);

-- +goose Down
DROP INDEX subtask_due_place;
