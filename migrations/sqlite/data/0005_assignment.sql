-- Where work on a partition last started, and how often without progress: this finds a message that ends its process.
-- committed is the group's offset at the start. starts counts the starts since committed moved that did not end in
-- order. Below careful_until messages are handled one by one; suspect_offset is the last one that started then,
-- suspect_starts how often.

-- +goose Up
CREATE TABLE IF NOT EXISTS assignment (
  group_name TEXT NOT NULL,
  topic TEXT NOT NULL,
  topic_partition INTEGER NOT NULL,
  holder TEXT NOT NULL,
  committed INTEGER NOT NULL,
  starts INTEGER NOT NULL,
  careful_until INTEGER NOT NULL,
  suspect_offset INTEGER NOT NULL,
  suspect_starts INTEGER NOT NULL,
  PRIMARY KEY (group_name, topic, topic_partition)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS assignment;
