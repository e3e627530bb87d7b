package upkeep

import (
	"errors"
	"fmt"

	"adsync/base/config"
)

// Retention says for how many days rows are kept that tables would else have more and more of; 0 is for ever. A day
// that some task still pulls is kept in any case.
type Retention struct {
	RawHourlyDays    int `koanf:"raw_hourly_days" doc:"Days for which the raw tables of hourly reports keep rows; the public ones keep the figures. 0 = for ever."`
	RawDailyDays     int `koanf:"raw_daily_days" doc:"Days for which the raw tables of daily reports and cash flows keep rows. 0 = for ever: what platforms no longer tell of a day would be gone with them."`
	ReportHourlyDays int `koanf:"report_hourly_days" doc:"Days for which report_hourly keeps rows, and coverage what it knows of them. Summaries stay. 0 = for ever."`
	ReportDailyDays  int `koanf:"report_daily_days" doc:"Days for which report_daily and wide_daily keep rows, and coverage what it knows of them. Summaries stay. 0 = for ever."`
	SummaryDays      int `koanf:"summary_days" doc:"Days for which the summaries keep rows. 0 = for ever."`
	RunDays          int `koanf:"run_days" doc:"Days for which runs that have ended, their ticks and their orders are kept, and orders that stopped work. Those of dead subtasks stay as long as these. 0 = for ever."`
	DeadDays         int `koanf:"dead_days" doc:"Days for which dead subtasks are kept that nobody takes up again. 0 = for ever."`
	HealedDays       int `koanf:"healed_days" doc:"Days for which dead subtasks are kept whose days have been pulled whole since. 0 = as long as the others."`
	ConfigChangeDays int `koanf:"config_change_days" doc:"Days for which changes of configuration are kept. 0 = for ever."`
	AuditDays        int `koanf:"audit_days" doc:"Days for which it is kept who did what over the API. 0 = for ever."`
}

// DefaultRetention keeps all figures and configuration.
func DefaultRetention() Retention {
	return Retention{RawHourlyDays: 90, RunDays: 90, DeadDays: 365, HealedDays: 7}
}

// Validate reports every setting that cannot be used.
func (r Retention) Validate() error {
	var errs []error
	for _, f := range []struct {
		key         string
		days, least int
	}{
		{"raw_hourly_days", r.RawHourlyDays, 8}, {"raw_daily_days", r.RawDailyDays, 40},
		// Accounts are judged by up to 60 days.
		{"report_hourly_days", r.ReportHourlyDays, 40}, {"report_daily_days", r.ReportDailyDays, 70},
		{"summary_days", r.SummaryDays, 40}, {"run_days", r.RunDays, 14}, {"dead_days", r.DeadDays, 14},
		{"healed_days", r.HealedDays, 1},
		{"config_change_days", r.ConfigChangeDays, 14}, {"audit_days", r.AuditDays, 14},
	} {
		if f.days != 0 && f.days < f.least {
			errs = append(errs, &config.FieldError{Key: f.key, Value: fmt.Sprint(f.days),
				Want: fmt.Sprintf("%d or more, or 0 for ever", f.least)})
		}
	}
	return errors.Join(errs...)
}
