package config

import (
	"fmt"
	"strings"
)

// FieldError means that one setting cannot be used. Its text names the key, the value and what would be right.
type FieldError struct {
	Key   string // the setting's path, relative to the section that reports it; "tokens[0].role" inside a list
	Value string // the refused value as the user wrote it; empty if it is missing or secret
	Want  string // what would be right, as a phrase that completes "want …"
}

func (e *FieldError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: want %s", e.Key, e.Want)
	}
	return fmt.Sprintf("%s: %q is refused: want %s", e.Key, Redacted(e.Value), e.Want)
}

// Flatten returns the errors that errors.Join put together, at any depth.
func Flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, Flatten(e)...)
	}
	return all
}

// joinKey appends a relative key to a path; either may be empty.
func joinKey(path, key string) string {
	if path == "" || key == "" || strings.HasPrefix(key, "[") {
		return path + key
	}
	return path + "." + key
}
