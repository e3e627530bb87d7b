package jobstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"adsync/base/secret"
	"adsync/base/sqldb"
)

// prefixLength is how many letters of a token are kept in clear, so that people can tell which it is.
const prefixLength = 12

// Token is a token of a namespace, without the token itself.
type Token struct {
	Namespace   string
	Prefix      string // its first letters
	Description string
	CreatedAt   time.Time
}

// Tokens are the tokens of namespaces.
type Tokens struct{ db *sqldb.DB }

// hashOfToken returns what the tables hold of a token. Tokens are random and long, so that a plain hash reveals
// nothing.
func hashOfToken(token secret.Text) string {
	sum := sha256.Sum256([]byte(token.Reveal()))
	return hex.EncodeToString(sum[:])
}

// AddToken allows a token for a namespace. A token that the namespace has keeps its row.
func (s Tokens) AddToken(ctx context.Context, namespace string, token secret.Text, description string,
	now time.Time) error {
	text := token.Reveal()
	err := s.db.Writer(ctx).Exec(s.db.Dialect().InsertIgnore()+
		"job_token (namespace, hash, prefix, description, created_at) VALUES (?, ?, ?, ?, ?)", namespace,
		hashOfToken(token), text[:min(prefixLength, len(text))], description, sqldb.At(now)).Error
	if err != nil {
		return fmt.Errorf("add a token of %s: %w", namespace, err)
	}
	return nil
}

// DeleteToken withdraws a token of a namespace. An unknown one is no error.
func (s Tokens) DeleteToken(ctx context.Context, namespace string, token secret.Text) error {
	err := s.db.Writer(ctx).Exec("DELETE FROM job_token WHERE namespace = ? AND hash = ?", namespace,
		hashOfToken(token)).Error
	if err != nil {
		return fmt.Errorf("delete a token of %s: %w", namespace, err)
	}
	return nil
}

// HasToken reports whether a token is allowed for a namespace.
func (s Tokens) HasToken(ctx context.Context, namespace string, token secret.Text) (bool, error) {
	known, err := sqldb.Exists(s.db.Latest(ctx), "SELECT 1 FROM job_token WHERE namespace = ? AND hash = ?", namespace,
		hashOfToken(token))
	if err != nil {
		return false, fmt.Errorf("look up a token of %s: %w", namespace, err)
	}
	return known, nil
}

// TokensOf returns the tokens of a namespace, by their time.
func (s Tokens) TokensOf(ctx context.Context, namespace string) ([]Token, error) {
	all, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT namespace, prefix, description, created_at FROM job_token "+
		"WHERE namespace = ? ORDER BY created_at, hash", namespace), func(rows *sql.Rows, t *Token) error {
		var created sqldb.Time
		err := rows.Scan(&t.Namespace, &t.Prefix, &t.Description, &created)
		t.CreatedAt = created.Time
		return err
	})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("list the tokens of %s: %w", namespace, err)
	}
	return all, nil
}
