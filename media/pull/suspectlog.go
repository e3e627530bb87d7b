package pull

import (
	"errors"
	"fmt"
	"log/slog"

	"adsync/base/store/results"
	"adsync/base/telemetry"
	"adsync/media"
)

// suspect counts and logs the days of a claim whose answer was not believed, and returns the error that makes the
// subtask retry.
func (p *puller) suspect(account media.Account, claim results.Claim, result results.ReportResult) error {
	p.metrics.suspect.WithLabelValues(account.Media, claim.Report).Add(float64(len(result.Suspect)))
	err := notWhole(fmt.Sprintf("suspect: the answer for %v is not believed: %s", result.Suspect, result.Why))
	// Never cleared: one account's good answer proves nothing about the others.
	p.causes.Report(slog.LevelWarn, "suspect/"+account.Media+"/"+claim.Report,
		"suspect answer: nothing was deleted", telemetry.OneCause(err),
		"media", account.Media, "account_id", account.ID, "report", claim.Report, "level", claim.Level)
	return err
}

// reportDoubts counts and logs the days of other reports and levels that an answer contradicts.
func (p *puller) reportDoubts(account media.Account, report, level string, doubts []results.Doubt) {
	for _, d := range doubts {
		p.metrics.suspect.WithLabelValues(account.Media, d.Report).Inc()
		p.causes.Report(slog.LevelWarn, "doubt/"+account.Media+"/"+d.Report,
			"answer contradicts an earlier one, now suspect", telemetry.OneCause(errors.New(d.Note)),
			"media", account.Media, "account_id", account.ID, "report", d.Report, "level", d.Level, "day", d.Day, "by_report",
			report, "by_level", level)
	}
}
