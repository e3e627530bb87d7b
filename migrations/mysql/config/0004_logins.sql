-- Authorisations in a browser, the logins that reach accounts, and the accounts that are pulled.

-- +goose Up
-- A request for an authorisation, valid for one callback. Its state, and the code of the callback, are stored as
-- SHA-256.
CREATE TABLE IF NOT EXISTS oauth_state (
  state_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  media VARCHAR(32) NOT NULL,
  app_id VARCHAR(64) NOT NULL,
  redirect_uri VARCHAR(1024) NOT NULL,
  asked_by VARCHAR(96) NOT NULL,
  asked_at DATETIME(3) NOT NULL,
  expires_at DATETIME(3) NOT NULL,
  step VARCHAR(16) NOT NULL,
  code_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  used_at DATETIME(3) NULL,
  token_id BIGINT NOT NULL DEFAULT 0,
  accounts INT NOT NULL DEFAULT 0,
  note VARCHAR(512) NOT NULL DEFAULT '',
  PRIMARY KEY (state_hash),
  KEY code (code_hash),
  KEY expires (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- A login's names and settings; its tokens are in media_token. choose: 1 = accounts that the login newly reaches are
-- not pulled until somebody binds them.
CREATE TABLE IF NOT EXISTS media_login (
  token_id BIGINT NOT NULL,
  name VARCHAR(255) NOT NULL DEFAULT '',
  choose TINYINT NOT NULL DEFAULT 0,
  PRIMARY KEY (token_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The logins that reach an account. media_account.token_id is the one in use: the chosen one while it can be used.
-- gone: 1 = the login's last whole list lacks the account.
CREATE TABLE IF NOT EXISTS account_login (
  account_id BIGINT NOT NULL,
  token_id BIGINT NOT NULL,
  chosen TINYINT NOT NULL DEFAULT 0,
  gone TINYINT NOT NULL DEFAULT 0,
  seen_at DATETIME(3) NOT NULL,
  PRIMARY KEY (account_id, token_id),
  KEY login (token_id, account_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO account_login (account_id, token_id, chosen, seen_at) SELECT id, token_id, 1, updated_at FROM media_account;

-- 0 = the account is known and is not pulled.
ALTER TABLE media_account ADD COLUMN bound TINYINT NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE media_account DROP COLUMN bound;
DROP TABLE IF EXISTS account_login;
DROP TABLE IF EXISTS media_login;
DROP TABLE IF EXISTS oauth_state;
