// Package mutants breaks adsync on purpose: each mutant is the program with one of its own mechanisms taken out. A chaos
// suite that lets one pass proves nothing about that mechanism.
//
// A mutant is a change of text, built with the Go tool's overlay: the tree itself is never touched.
package mutants

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Mutant is one deliberate fault.
type Mutant struct {
	Name   string
	Breaks string // what is taken out, in a few words
	Edits  []Edit
	// Overruns says that it makes calls which a platform refuses for a limit; of others that is no sign.
	Overruns bool
	// Scenarios are run in this order until one of them fails, as one must.
	Scenarios []string
}

// Edit replaces a text that stands in a file exactly once.
type Edit struct {
	File    string // from the root of the module
	Find    string
	Replace string
}

// Build builds the program with the mutant's fault, and with the fail points of the chaos suite.
func (m Mutant) Build(ctx context.Context, root, output string) error {
	dir, err := os.MkdirTemp("", "adsync-mutant-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	texts, err := m.apply(root)
	if err != nil {
		return err
	}
	overlay := struct{ Replace map[string]string }{Replace: map[string]string{}}
	for file, text := range texts {
		changed := filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay.Replace)))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return err
		}
		overlay.Replace[filepath.Join(root, file)] = changed
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	listFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(listFile, list, 0o600); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-tags", "chaos", "-overlay", listFile, "-o", output, "./cmd/adsync")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the mutant %s: %w\n%s", m.Name, err, out)
	}
	return nil
}

// apply returns the changed files' texts by name.
func (m Mutant) apply(root string) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.Edits {
		text, read := texts[e.File]
		if !read {
			b, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
			}
			text = string(b)
		}
		if n := strings.Count(text, e.Find); n != 1 {
			return nil, fmt.Errorf("mutant %s: %s holds the text %q %d times, want once: the code has moved on, so must the mutant", m.Name, e.File, e.Find, n)
		}
		texts[e.File] = strings.Replace(text, e.Find, e.Replace, 1)
	}
	return texts, nil
}
