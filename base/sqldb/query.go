package sqldb

import (
	"database/sql"
	"errors"
	"slices"
	"strconv"

	"gorm.io/gorm"
)

// Exists reports whether a query of the number 1 finds a row.
func Exists(tx *gorm.DB, query string, args ...any) (bool, error) {
	var one int
	err := tx.Raw(query, args...).Row().Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Rows returns the rows that a query finds, each as scan reads it. It is for rows that gorm's own Scan cannot read,
// and for many rows: it allocates nothing per row except what scan does.
func Rows[T any](query *gorm.DB, scan func(rows *sql.Rows, row *T) error) (all []T, err error) {
	err = EachRow(query, func(rows *sql.Rows) error {
		all = append(all, *new(T))
		return scan(rows, &all[len(all)-1])
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// EachRow calls each for each row that a query finds, and stops at its first error. The rows are closed when it
// returns.
func EachRow(query *gorm.DB, each func(rows *sql.Rows) error) error {
	rows, err := query.Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return FirstError(rows.Err(), rows.Close())
}

// EachText reads rows of three texts.
func EachText(query *gorm.DB, each func(a, b, c string)) error {
	return EachRow(query, func(rows *sql.Rows) error {
		var a, b, c string
		if err := rows.Scan(&a, &b, &c); err != nil {
			return err
		}
		each(a, b, c)
		return nil
	})
}

// FirstError returns the first of some errors that is not nil.
func FirstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// AppendNew appends v if it is not in all yet.
func AppendNew[T comparable](all []T, v T) []T {
	if slices.Contains(all, v) {
		return all
	}
	return append(all, v)
}

// TextOf returns read as a text, and reuses before if it is equal: for thousands of rows it mostly is.
func TextOf(read sql.RawBytes, before string) string {
	if string(read) == before {
		return before
	}
	return string(read)
}

// ErrNotFound means that no such row exists.
var ErrNotFound = errors.New("not found")

// Numbers returns numbers as text, separated by commas, for a list of constants: thousands of placeholders would take
// as long as the query.
func Numbers(numbers []int64) string {
	text := make([]byte, 0, 8*len(numbers))
	for i, n := range numbers {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, n, 10)
	}
	return string(text)
}
