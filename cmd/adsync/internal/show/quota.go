package show

import (
	"fmt"
	"io"

	"adsync/quota"
)

// QuotaFigures prints how well scenarios used and kept the call limits.
func QuotaFigures(w io.Writer, all []quota.Figures) error { return quotaFigures.print(w, all) }

var quotaFigures = columns[quota.Figures]{
	{"SCENARIO", func(f *quota.Figures) any { return f.Name }},
	{"PROCESSES", func(f *quota.Figures) any { return f.Processes }},
	{"CALLS", func(f *quota.Figures) any { return f.Calls }},
	{"USE", func(f *quota.Figures) any { return fmt.Sprintf("%.2f %%", 100*f.UseRatio) }},
	{"REFUSED", func(f *quota.Figures) any { return f.Refused }},
	{"OVERSPENT", func(f *quota.Figures) any { return f.Overspent }},
	{"FAIRNESS ERROR", func(f *quota.Figures) any { return fmt.Sprintf("%.1f", f.FairnessError) }},
	{"CONVERGENCE", func(f *quota.Figures) any { return fmt.Sprintf("%.1f s", f.ConvergenceSeconds) }},
	{"ROUND TRIPS A CALL", func(f *quota.Figures) any { return fmt.Sprintf("%.4f", f.RoundTripsPerCall) }},
	{"A PROCESS IN 2 S", func(f *quota.Figures) any { return fmt.Sprintf("%.2f", f.RoundTripsPerProcess) }},
	{"SPREAD", func(f *quota.Figures) any { return fmt.Sprintf("%.1f ms", 1000*f.SpreadSeconds) }},
}
