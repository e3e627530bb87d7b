package show

import (
	"fmt"
	"io"
	"strings"

	"adsync/base/checkup"
	"adsync/cmd/adsync/internal/table"
)

// Findings prints what a check of the servers found, and what to do about it.
func Findings(w io.Writer, all []checkup.Finding) error {
	if err := findings.print(w, all); err != nil {
		return err
	}
	var remedies []string
	for _, f := range all {
		if f.Remedy != "" && f.State != checkup.OK {
			remedies = append(remedies, fmt.Sprintf("  %s, %s: %s", f.Server, f.Check, table.Clean(f.Remedy)))
		}
	}
	if len(remedies) > 0 {
		fmt.Fprintf(w, "\nWhat to do:\n%s\n", strings.Join(remedies, "\n"))
	}
	return nil
}

var findings = columns[checkup.Finding]{
	{"SERVER", func(f *checkup.Finding) any { return f.Server }},
	{"CHECK", func(f *checkup.Finding) any { return f.Check }},
	{"STATE", func(f *checkup.Finding) any { return f.State }},
	{"DETAIL", func(f *checkup.Finding) any { return table.Whole(f.Detail) }},
}
