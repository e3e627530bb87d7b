-- Values of the partner's rows that could not be used.

-- +goose Up

-- By the row's id there and field. kind is their effect: attribute (unset or repaired), figure (NULL) or key (the row
-- is not kept). partner_id 0 stands for the rows without an id or a time of change; row_count is their number.
CREATE TABLE IF NOT EXISTS partner_unusable (
  partner_id BIGINT NOT NULL,
  field VARCHAR(32) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  media VARCHAR(32) NOT NULL,
  row_count BIGINT NOT NULL,
  why VARCHAR(255) NOT NULL,
  seen_at DATETIME(3) NOT NULL,
  PRIMARY KEY (partner_id, field)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS partner_unusable;
