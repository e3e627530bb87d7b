-- An index to find the accounts of a game without reading all others.

-- +goose Up
ALTER TABLE account_binding ADD KEY game (game, account_id);

-- +goose Down
ALTER TABLE account_binding DROP KEY game;
