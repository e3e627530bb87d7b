// Package mutants breaks adsync on purpose: each mutant is the program without one of its mechanisms. A chaos suite
// that lets a mutant pass proves nothing about that mechanism.
package mutants

import (
	"context"
	"fmt"

	"adsync/test/patch"
)

// Mutant is one deliberate fault.
type Mutant struct {
	Name   string
	Breaks string // the mechanism that is removed, in a few words
	Edits  []patch.Edit
	// Overruns means that the mutant makes calls which a platform refuses for a limit. Only then do refused calls count
	// as caught.
	Overruns bool
	// Scenarios run in this order until one of them fails. One must fail.
	Scenarios []string
}

// Build builds the program with the mutant's fault, and with the fail points of the chaos suite.
func (m Mutant) Build(ctx context.Context, root, output string) error {
	if err := patch.Build(ctx, root, output, "chaos", m.Edits); err != nil {
		return fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	return nil
}
