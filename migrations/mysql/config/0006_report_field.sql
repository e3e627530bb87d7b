-- The fields that reports are requested with, where they differ from those of the platform's package.

-- +goose Up
-- report and level: '' = all of them; a row that names them has precedence. state: asked, off (nobody needs it) or
-- retired (the platform refused it at retired_at).
CREATE TABLE IF NOT EXISTS report_field (
  media VARCHAR(32) NOT NULL,
  report VARCHAR(32) NOT NULL DEFAULT '',
  level VARCHAR(16) NOT NULL DEFAULT '',
  field VARCHAR(96) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  state VARCHAR(16) NOT NULL,
  reason VARCHAR(512) NOT NULL DEFAULT '',
  changed_by VARCHAR(96) NOT NULL DEFAULT '',
  retired_at DATETIME(3) NULL,
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (media, field, report, level)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS report_field;
