package judge

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// PrintTable prints a line for each verdict.
func PrintTable(out io.Writer, verdicts []Verdict) {
	fmt.Fprintf(out, "\n%-32s %7s %9s %12s %5s %8s %11s %10s %14s  %s\n",
		"SCENARIO", "STRUCK", "SUBTASKS", "REDELIVERED", "LOST", "DOUBLED", "WRONG ROWS", "OVERSPENT", "LONGEST STALL",
		"VERDICT")
	for _, v := range verdicts {
		fmt.Fprintf(out, "%-32s %7d %9d %12d %5d %8d %11d %10d %12.1f s  %s\n",
			v.Scenario, v.Struck, v.Subtasks, v.Redelivered, v.Lost, v.Doubled, v.WrongRows, v.Overspent, v.LongestStall,
			v.Verdict)
	}
}

// WriteVerdicts writes verdicts to a file, as JSON.
func WriteVerdicts(path string, verdicts []Verdict) error {
	if verdicts == nil {
		verdicts = []Verdict{}
	}
	text, err := json.MarshalIndent(verdicts, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
