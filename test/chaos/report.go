package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"adsync/test/chaos/judge"
)

func printTable(out io.Writer, verdicts []judge.Verdict) {
	fmt.Fprintf(out, "\n%-32s %7s %9s %12s %5s %8s %11s %10s %14s  %s\n",
		"SCENARIO", "STRUCK", "SUBTASKS", "REDELIVERED", "LOST", "DOUBLED", "WRONG ROWS", "OVERSPENT", "LONGEST STALL",
		"VERDICT")
	for _, v := range verdicts {
		fmt.Fprintf(out, "%-32s %7d %9d %12d %5d %8d %11d %10d %12.1f s  %s\n",
			v.Scenario, v.Struck, v.Subtasks, v.Redelivered, v.Lost, v.Doubled, v.WrongRows, v.Overspent, v.LongestStall,
			v.Verdict)
	}
}

func writeVerdicts(path string, verdicts []judge.Verdict) error {
	if verdicts == nil {
		verdicts = []judge.Verdict{}
	}
	text, err := json.MarshalIndent(verdicts, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func (t *trial) writeJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.dir, name), append(text, '\n'), 0o644)
}
