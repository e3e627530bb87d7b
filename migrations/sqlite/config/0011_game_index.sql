-- An index to find the accounts of a game without reading all others.

-- +goose Up
CREATE INDEX account_binding_game ON account_binding (game, account_id);

-- +goose Down
DROP INDEX account_binding_game;
