-- Where work on a partition last started, and how often without progress: this finds a message that ends its process.
-- committed is the group's offset at the start. starts counts the starts since committed moved that did not end in
-- order. Below careful_until messages are handled one by one; suspect_offset is the last one that started then,
-- suspect_starts how often.

-- +goose Up
CREATE TABLE IF NOT EXISTS assignment (
  group_name VARCHAR(191) NOT NULL,
  topic VARCHAR(191) NOT NULL,
  topic_partition INT NOT NULL,
  holder VARCHAR(191) NOT NULL,
  committed BIGINT NOT NULL,
  starts INT NOT NULL,
  careful_until BIGINT NOT NULL,
  suspect_offset BIGINT NOT NULL,
  suspect_starts INT NOT NULL,
  PRIMARY KEY (group_name, topic, topic_partition)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS assignment;
