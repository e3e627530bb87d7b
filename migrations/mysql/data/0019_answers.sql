-- What the platform last answered for a day, which decides whether a first or an empty answer is accepted, and an index
-- that finds the days that are not whole.

-- +goose Up

-- answer_cost: the cost of the last whole answer, also when it was not accepted. answer_run: the first run since which
-- the answer is the same. believed_cost: that cost if it was accepted although other figures contradict it, confirmed
-- by a person or repeated by the platform.
ALTER TABLE coverage
  ADD COLUMN answer_cost BIGINT NULL,
  ADD COLUMN answer_run BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN believed_cost BIGINT NULL;

ALTER TABLE coverage ADD KEY state (state, media, day);

-- +goose Down
ALTER TABLE coverage DROP KEY state;
ALTER TABLE coverage DROP COLUMN believed_cost, DROP COLUMN answer_run, DROP COLUMN answer_cost;
