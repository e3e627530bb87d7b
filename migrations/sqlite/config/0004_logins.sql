-- Authorisations in a browser, the logins that reach accounts, and the accounts that are pulled.

-- +goose Up
-- A request for an authorisation, valid for one callback. Its state, and the code of the callback, are stored as
-- SHA-256.
CREATE TABLE IF NOT EXISTS oauth_state (
  state_hash TEXT NOT NULL,
  media TEXT NOT NULL,
  app_id TEXT NOT NULL,
  redirect_uri TEXT NOT NULL,
  asked_by TEXT NOT NULL,
  asked_at DATETIME NOT NULL,
  expires_at DATETIME NOT NULL,
  step TEXT NOT NULL,
  code_hash TEXT NULL,
  used_at DATETIME NULL,
  token_id INTEGER NOT NULL DEFAULT 0,
  accounts INTEGER NOT NULL DEFAULT 0,
  note TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (state_hash)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS oauth_state_code ON oauth_state (code_hash);
CREATE INDEX IF NOT EXISTS oauth_state_expires ON oauth_state (expires_at);

-- A login's names and settings; its tokens are in media_token. choose: 1 = accounts that the login newly reaches are
-- not pulled until somebody binds them.
CREATE TABLE IF NOT EXISTS media_login (
  token_id INTEGER NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  choose INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (token_id)
) WITHOUT ROWID;

-- The logins that reach an account. media_account.token_id is the one in use: the chosen one while it can be used.
-- gone: 1 = the login's last whole list lacks the account.
CREATE TABLE IF NOT EXISTS account_login (
  account_id INTEGER NOT NULL,
  token_id INTEGER NOT NULL,
  chosen INTEGER NOT NULL DEFAULT 0,
  gone INTEGER NOT NULL DEFAULT 0,
  seen_at DATETIME NOT NULL,
  PRIMARY KEY (account_id, token_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS account_login_login ON account_login (token_id, account_id);

INSERT OR IGNORE INTO account_login (account_id, token_id, chosen, seen_at) SELECT id, token_id, 1, updated_at FROM media_account;

-- 0 = the account is known and is not pulled.
ALTER TABLE media_account ADD COLUMN bound INTEGER NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE media_account DROP COLUMN bound;
DROP TABLE IF EXISTS account_login;
DROP TABLE IF EXISTS media_login;
DROP TABLE IF EXISTS oauth_state;
