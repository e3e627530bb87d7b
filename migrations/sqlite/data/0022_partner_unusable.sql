-- Values of the partner's rows that could not be used.

-- +goose Up

-- By the row's id there and field. kind is their effect: attribute (unset or repaired), figure (NULL) or key (the row
-- is not kept). partner_id 0 stands for the rows without an id or a time of change; row_count is their number.
CREATE TABLE IF NOT EXISTS partner_unusable (
  partner_id INTEGER NOT NULL,
  field TEXT NOT NULL,
  kind TEXT NOT NULL,
  media TEXT NOT NULL,
  row_count INTEGER NOT NULL,
  why TEXT NOT NULL,
  seen_at DATETIME NOT NULL,
  PRIMARY KEY (partner_id, field)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS partner_unusable;
