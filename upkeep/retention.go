package upkeep

import (
	"errors"
	"fmt"

	"adsync/base/config"
)

// Retention holds for how many days rows of growing tables are kept; 0 means forever. Days that a task still pulls are
// always kept.
type Retention struct {
	RawHourlyDays    int `koanf:"raw_hourly_days" doc:"Days for which the raw tables of hourly reports keep rows; the public ones keep the figures. 0 = forever."`
	RawDailyDays     int `koanf:"raw_daily_days" doc:"Days for which the raw tables of daily reports and cash flows keep rows. 0 = forever, because platforms do not return old days again."`
	ReportHourlyDays int `koanf:"report_hourly_days" doc:"Days for which report_hourly and its rows of coverage are kept. Summaries stay. 0 = forever."`
	ReportDailyDays  int `koanf:"report_daily_days" doc:"Days for which report_daily, wide_daily and their rows of coverage are kept. Summaries stay. 0 = forever."`
	SummaryDays      int `koanf:"summary_days" doc:"Days for which the summaries keep rows. 0 = forever."`
	RunDays          int `koanf:"run_days" doc:"Days for which ended runs, their ticks and orders, and stop orders are kept. Runs of dead subtasks are kept as long as these. 0 = forever."`
	DeadDays         int `koanf:"dead_days" doc:"Days for which dead subtasks are kept. 0 = forever."`
	HealedDays       int `koanf:"healed_days" doc:"Days for which dead subtasks are kept whose days have been pulled completely since. 0 = as long as the others."`
	ConfigChangeDays int `koanf:"config_change_days" doc:"Days for which changes of configuration are kept. 0 = forever."`
	AuditDays        int `koanf:"audit_days" doc:"Days for which the audit of the API is kept. 0 = forever."`
	FileDays         int `koanf:"file_days" doc:"Days for which the list of report files is kept. Open files, those that may get revisions, and the newest of each subscription stay. 0 = forever."`
}

// DefaultRetention keeps all figures and configuration.
func DefaultRetention() Retention {
	return Retention{RawHourlyDays: 90, RunDays: 90, DeadDays: 365, HealedDays: 7, FileDays: 400}
}

// Validate returns every invalid setting, joined, each as a *config.FieldError.
func (r Retention) Validate() error {
	var errs []error
	for _, f := range []struct {
		key         string
		days, least int
	}{
		{"raw_hourly_days", r.RawHourlyDays, 8}, {"raw_daily_days", r.RawDailyDays, 40},
		// Checks of accounts read up to 60 days.
		{"report_hourly_days", r.ReportHourlyDays, 40}, {"report_daily_days", r.ReportDailyDays, 70},
		{"summary_days", r.SummaryDays, 40}, {"run_days", r.RunDays, 14}, {"dead_days", r.DeadDays, 14},
		{"healed_days", r.HealedDays, 1},
		{"config_change_days", r.ConfigChangeDays, 14}, {"audit_days", r.AuditDays, 14},
		{"file_days", r.FileDays, 40}, // Files of 40 days decide the lane of the next ones.
	} {
		if f.days != 0 && f.days < f.least {
			errs = append(errs, &config.FieldError{Key: f.key, Value: fmt.Sprint(f.days),
				Want: fmt.Sprintf("%d or more, or 0 = forever", f.least)})
		}
	}
	return errors.Join(errs...)
}
