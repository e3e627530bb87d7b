-- Values of the partner's rows that could not be used.

-- +goose Up

-- By the row's id there and field. kind says what they cost: attribute (unset or repaired), figure (NULL) or key (the row is not kept). partner_id 0 stands
-- for the rows that have no id or no moment of change, of which row_count says how many there are.
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
