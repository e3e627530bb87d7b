package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"adsync/test/chaos/judge"
)

// writeDown writes the verdict and its problems to the history's folder.
func (t *trial) writeDown(v judge.Verdict) error {
	for n, p := range v.Problems {
		if n == problemsShown {
			t.log("and %d more", len(v.Problems)-n)
			break
		}
		t.log("%s: %s", p.Kind, p.Text)
	}
	for _, text := range t.unproved {
		t.log("void: %s", text)
	}
	t.log("verdict %s", v.Verdict)
	return errors.Join(t.writeJSON("verdict.json", v), t.writeJSON("problems.json", v.Problems))
}

// problemsShown is how many problems are printed; all are in problems.json.
const problemsShown = 12

// writeJSON writes a value to a file of the scenario's folder.
func (t *trial) writeJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.dir, name), append(text, '\n'), 0o644)
}
