package jobstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"adsync/base/secret"
	"adsync/base/sqldb"
)

// prefixLength is how many letters of a token are kept in clear, so that people can tell which it is.
const prefixLength = 12

// Role is what a token allows.
type Role string

// The roles of tokens.
const (
	Produce Role = "produce" // publish
	Consume Role = "consume" // claim, end claims, and read jobs
	Admin   Role = "admin"   // delete and respawn many jobs, pause queues and change their settings
)

// Roles are all roles.
func Roles() []Role { return []Role{Produce, Consume, Admin} }

// Limit bounds how many requests of a token succeed in a time.
type Limit struct {
	Read, Write int64         // requests that consume, and that publish; 0 for any number
	Interval    time.Duration // whole seconds
}

// Token is a token of a namespace, without the token itself.
type Token struct {
	Namespace   string
	Prefix      string // its first letters
	Description string
	Roles       []Role
	Limit       Limit // without an Interval there is none
	CreatedAt   time.Time
}

// Allows reports whether the token has a role.
func (t Token) Allows(r Role) bool { return slices.Contains(t.Roles, r) }

// Limited reports whether the token has a limit.
func (t Token) Limited() bool { return t.Limit.Interval > 0 }

// Tokens are the tokens of namespaces.
type Tokens struct{ rows }

// HashOfToken returns what the tables hold of a token. Tokens are random and long, so that a plain hash reveals
// nothing.
func HashOfToken(token secret.Text) string {
	sum := sha256.Sum256([]byte(token.Reveal()))
	return hex.EncodeToString(sum[:])
}

// Prefix returns the first letters of a token.
func Prefix(token secret.Text) string {
	text := token.Reveal()
	return text[:min(prefixLength, len(text))]
}

// AddToken allows a token for a namespace, with some roles. It returns false if the namespace has the token already,
// which then stays as it is.
func (s Tokens) AddToken(ctx context.Context, namespace string, token secret.Text, description string, roles []Role,
	now time.Time) (added bool, err error) {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	res := s.db.Writer(ctx).Exec(s.db.Dialect().InsertIgnore()+
		"job_token (namespace, hash, prefix, description, roles, created_at) VALUES (?, ?, ?, ?, ?, ?)", namespace,
		HashOfToken(token), Prefix(token), description, strings.Join(names, ","), sqldb.At(now))
	if res.Error != nil {
		return false, fmt.Errorf("add a token of %s: %w", namespace, res.Error)
	}
	return res.RowsAffected > 0, nil
}

// DeleteToken withdraws a token of a namespace. An unknown one is no error.
func (s Tokens) DeleteToken(ctx context.Context, namespace string, token secret.Text) error {
	err := s.db.Writer(ctx).Exec("DELETE FROM job_token WHERE namespace = ? AND hash = ?", namespace,
		HashOfToken(token)).Error
	if err != nil {
		return fmt.Errorf("delete a token of %s: %w", namespace, err)
	}
	return nil
}

// SetTokenLimit gives a token of a namespace a limit; one without an interval removes it. An unknown token is no error.
func (s Tokens) SetTokenLimit(ctx context.Context, namespace string, token secret.Text, l Limit) error {
	err := s.db.Writer(ctx).Exec("UPDATE job_token SET read_limit = ?, write_limit = ?, limit_seconds = ? "+
		"WHERE namespace = ? AND hash = ?", l.Read, l.Write, int64(l.Interval/time.Second), namespace,
		HashOfToken(token)).Error
	if err != nil {
		return fmt.Errorf("change the limit of a token of %s: %w", namespace, err)
	}
	return nil
}

//nolint:gosec // Names of columns, and no token.
const tokenColumns = "namespace, prefix, description, roles, read_limit, write_limit, limit_seconds, created_at"

func scanToken(rows *sql.Rows, t *Token) error {
	var created sqldb.Time
	var roles string
	var seconds int64
	err := rows.Scan(&t.Namespace, &t.Prefix, &t.Description, &roles, &t.Limit.Read, &t.Limit.Write, &seconds, &created)
	for name := range strings.SplitSeq(roles, ",") {
		t.Roles = append(t.Roles, Role(name))
	}
	t.Limit.Interval, t.CreatedAt = time.Duration(seconds)*time.Second, created.Time
	return err
}

// FindToken returns a token of a namespace; nil if it is not allowed.
func (s Tokens) FindToken(ctx context.Context, namespace string, token secret.Text) (*Token, error) {
	found, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT "+tokenColumns+" FROM job_token "+
		"WHERE namespace = ? AND hash = ?", namespace, HashOfToken(token)), scanToken)
	if err != nil {
		return nil, fmt.Errorf("look up a token of %s: %w", namespace, err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}

// ListTokens returns the tokens of a namespace, or of all for "", by namespace and time.
func (s Tokens) ListTokens(ctx context.Context, namespace string) ([]Token, error) {
	where, args := "", []any{}
	if namespace != "" {
		where, args = " WHERE namespace = ?", []any{namespace}
	}
	all, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT "+tokenColumns+" FROM job_token"+where+
		" ORDER BY namespace, created_at, hash", args...), scanToken)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return all, nil
}
