package store

import (
	"database/sql"
	"errors"
	"slices"

	"gorm.io/gorm"
)

// exists tells whether a query of the number 1 finds a row.
func exists(tx *gorm.DB, query string, args ...any) (bool, error) {
	var one int
	err := tx.Raw(query, args...).Row().Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// eachText reads rows of three texts.
func eachText(query *gorm.DB, each func(a, b, c string)) error {
	rows, err := query.Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a, b, c string
		if err := rows.Scan(&a, &b, &c); err != nil {
			return err
		}
		each(a, b, c)
	}
	return rows.Err()
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// appendNew appends what is not there yet.
func appendNew[T comparable](all []T, v T) []T {
	if slices.Contains(all, v) {
		return all
	}
	return append(all, v)
}

// textOf is what was read, or the same text as it was before: of thousands of rows it mostly is.
func textOf(read sql.RawBytes, before string) string {
	if string(read) == before {
		return before
	}
	return string(read)
}

// ErrNotFound says that there is no such row.
var ErrNotFound = errors.New("not found")
