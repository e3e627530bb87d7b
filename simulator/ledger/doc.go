// Package ledger counts every call by second, app, endpoint and answer, and by account.
package ledger
