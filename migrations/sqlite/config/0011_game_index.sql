-- The accounts of a game, found without reading those of all others.

-- +goose Up
CREATE INDEX account_binding_game ON account_binding (game, account_id);

-- +goose Down
DROP INDEX account_binding_game;
