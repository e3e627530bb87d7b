package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"adsync/test/chaos/judge"
)

// writeDown writes the verdict and its problems to the history's folder.
func writeDown(dir string, v judge.Verdict, log func(format string, args ...any)) error {
	for n, p := range v.Problems {
		if n == problemsShown {
			log("and %d more", len(v.Problems)-n)
			break
		}
		log("%s: %s", p.Kind, p.Text)
	}
	log("verdict %s", v.Verdict)
	return errors.Join(writeJSON(dir, "verdict.json", v), writeJSON(dir, "problems.json", v.Problems))
}

// problemsShown is how many problems are printed; all are in problems.json.
const problemsShown = 12

// writeJSON writes a value to a file of the scenario's folder.
func (t *trial) writeJSON(name string, value any) error { return writeJSON(t.dir, name, value) }

func writeJSON(dir, name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), append(text, '\n'), 0o644)
}
