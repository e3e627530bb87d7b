-- digest is a number of a day's report rows: a pull with the same one does not read them. NULL = it is not known.

-- +goose Up
ALTER TABLE coverage ADD COLUMN digest INTEGER NULL;

-- +goose Down
ALTER TABLE coverage DROP COLUMN digest;
