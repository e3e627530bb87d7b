// Package usage has the error of a wrong command line, and checks of its words and flags.
package usage

import (
	"fmt"
	"slices"
	"strings"

	"adsync/base/store/settings"
	"adsync/engine"

	"github.com/spf13/cobra"
)

// Error is the error of a wrong command line.
type Error struct {
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error.
func Errorf(format string, args ...any) error { return &Error{Err: fmt.Errorf(format, args...)} }

// NoArgs refuses words after a command that takes only flags.
func NoArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Errorf("%q is too much: only flags go here", args[0])
	}
	return nil
}

// Args accepts exactly n words; want describes them.
func Args(n int, want string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return Errorf("want %s", want)
		}
		return nil
	}
}

// OneOf returns an error if a flag's value is not one of the allowed ones.
func OneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return Errorf("--%s is %q: want %s or %s", flag, value, strings.Join(allowed[:len(allowed)-1], ", "),
		allowed[len(allowed)-1])
}

// Group makes cmd a command that only has subcommands: it prints its help, and refuses other words.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return Errorf("there is no command %q; did you mean %s?", args[0], strings.Join(near, " or "))
		}
		return Errorf("there is no command %q", args[0])
	}
	// Cobra lists names of up to this distance.
	cmd.SuggestionsMinimumDistance = 2
	return cmd
}

// Account accepts one account by the platform's id: MEDIA/ACCOUNT.
func Account(_ *cobra.Command, args []string) error {
	if len(args) == 1 {
		media, id := settings.SplitName(args[0])
		// The name of a platform is not an id.
		if media != "" && id != "" || media == "" && !strings.Contains(id, "/") && strings.ContainsAny(id, "0123456789") {
			return nil
		}
	}
	return Errorf(
		"want MEDIA/ACCOUNT with the platform's id, such as: %s/20000001, or the id alone if no other platform has it",
		SomePlatform())
}

// MediaField accepts MEDIA FIELD.
func MediaField(cmd *cobra.Command, args []string) error {
	return Args(2, "MEDIA FIELD, such as: "+SomePlatform()+" order_uv")(cmd, args)
}

// SomePlatform returns the name of a platform for examples.
func SomePlatform() string { return engine.PlatformNames()[0] }
