// Package mutants breaks adsync on purpose: each mutant is the program with one of its own mechanisms taken out. A
// chaos suite that lets one pass proves nothing about that mechanism.
package mutants

import (
	"context"
	"fmt"

	"adsync/test/patch"
)

// Mutant is one deliberate fault.
type Mutant struct {
	Name   string
	Breaks string // what is taken out, in a few words
	Edits  []patch.Edit
	// Overruns says that it makes calls which a platform refuses for a limit; of others that is no sign.
	Overruns bool
	// Scenarios are run in this order until one of them fails, as one must.
	Scenarios []string
}

// Build builds the program with the mutant's fault, and with the fail points of the chaos suite.
func (m Mutant) Build(ctx context.Context, root, output string) error {
	if err := patch.Build(ctx, root, output, "chaos", m.Edits); err != nil {
		return fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	return nil
}
