-- The accounts of a game, found without reading those of all others.

-- +goose Up
ALTER TABLE account_binding ADD KEY game (game, account_id);

-- +goose Down
ALTER TABLE account_binding DROP KEY game;
