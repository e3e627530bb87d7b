-- The fields that reports are requested with, where they differ from those of the platform's package.

-- +goose Up
-- report and level: '' = all of them; a row that names them has precedence. state: asked, off (nobody needs it) or
-- retired (the platform refused it at retired_at).
CREATE TABLE IF NOT EXISTS report_field (
  media TEXT NOT NULL,
  report TEXT NOT NULL DEFAULT '',
  level TEXT NOT NULL DEFAULT '',
  field TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  changed_by TEXT NOT NULL DEFAULT '',
  retired_at DATETIME NULL,
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  PRIMARY KEY (media, field, report, level)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS report_field;
