-- Messages of later deliveries are found by their place in the log: the sweep looks for those that the group has
-- passed.

-- +goose Up
ALTER TABLE subtask_due ADD KEY place (topic, topic_partition, topic_offset);

-- +goose Down
ALTER TABLE subtask_due DROP KEY place;
