// Package usage has the error of a wrong command line, and checks of what was given on one.
package usage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Error says that the command line is wrong.
type Error struct {
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error.
func Errorf(format string, args ...any) error { return &Error{Err: fmt.Errorf(format, args...)} }

// NoArgs refuses words behind a command that takes flags alone.
func NoArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Errorf("%q is too much: only flags go here", args[0])
	}
	return nil
}

// Args takes exactly n words; want says which.
func Args(n int, want string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return Errorf("want %s", want)
		}
		return nil
	}
}

// OneOf refuses a flag's value that is not in the list.
func OneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return Errorf("--%s is %q: want %s or %s", flag, value, strings.Join(allowed[:len(allowed)-1], ", "), allowed[len(allowed)-1])
}
