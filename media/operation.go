package media

import (
	"context"
	"time"
)

// OperationsName is the name of the handler ("<media>.operations") and of the report in coverage for a platform's log
// of operations. Its level is OperationsLevel.
const (
	OperationsName  = "operations"
	OperationsLevel = "account"
)

// OperationLogger is a Platform with a log of who changed which objects of an account. Its entries are added to the
// table config_change, next to the differences that pulls see.
type OperationLogger interface {
	// Operations returns how the log is pulled. Without a Page it is not pulled.
	Operations() Operations
}

// OperationsOf returns how a platform's log of operations is pulled; has is false if it has none.
func OperationsOf(p Platform) (log Operations, has bool) {
	if logger, ok := p.(OperationLogger); ok {
		log = logger.Operations()
	}
	return log, log.Page != nil
}

// Operations describes the pull of a platform's log of operations.
type Operations struct {
	// MaxDays is how many days one query may span, and LookBack how many days before today the platform still keeps.
	MaxDays, LookBack int
	// Page fetches one page of the entries of the query's days. A row's Object is the platform's id of the entry, "" if
	// it has none, and its Operation the entry. Only From, To and the zone of the account select entries.
	Page func(ctx context.Context, api API, q ReportQuery, page string) (Page, error)
}

// Operation is one entry of a log: a person or a system changed an object. Entries never change.
type Operation struct {
	At     time.Time
	By     string // who, in the platform's words
	Kind   string // what was done, in the platform's words
	Level  string // the public level of the object; "account" for the account itself
	Object string // the platform's id of the object; "" for the account itself
	// Fields are the fields that were changed; nil if the entry does not list them.
	Fields []FieldChange
}

// FieldChange is the change of one field. Before and After are JSON; "" where the entry has no value.
type FieldChange struct{ Name, Before, After string }
