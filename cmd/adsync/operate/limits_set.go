package operate

import (
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newLimitsSet(a *settings.Source) *cobra.Command {
	var rule client.LimitRuleRequest
	var period, penalty time.Duration
	var off bool
	cmd := api.Command(a, &cobra.Command{
		Use:   "set MEDIA ENDPOINT",
		Short: "Sets a call limit",
		Long: `Sets how many calls a platform takes at an endpoint, or at all endpoints that begin like a prefix with a *
at its end. The limit takes the place of the one with the same endpoint, scope, period and unit, also of the platform's
own; what is not given is as in a new one. All processes follow within seconds.`,
		Example: `  adsync limits set {media} hourly_reports/get --scope app --period 1m --calls 400
  adsync limits set {media} '*' --each-endpoint --scope app --period 1s --calls 20 --off`,
		Args: usage.Args(2, "MEDIA ENDPOINT, such as: "+usage.SomePlatform()+" hourly_reports/get"),
	}, func(r *api.Request, args []string) error {
		rule.Media, rule.Endpoint = args[0], args[1]
		rule.PeriodMs, rule.PenaltyMs = period.Milliseconds(), penalty.Milliseconds()
		on := !off
		rule.Enabled = &on
		return api.Send(r, http.MethodPut, limitRulesPath, rule, show.LimitRule)
	})
	flags := cmd.Flags()
	flags.StringVar(&rule.Scope, "scope", "app", "whose calls are added up: app, account or platform")
	flags.DurationVar(&period, "period", 0, "the length of the window, 1s to 24h")
	flags.Int64Var(&rule.Calls, "calls", 0, "how many calls, or rows, the platform takes in a window")
	flags.StringVar(&rule.Unit, "unit", "calls", "what is counted: calls or rows")
	flags.BoolVar(&rule.EachEndpoint, "each-endpoint", false,
		"every endpoint that the prefix matches has the limit for itself")
	flags.Int64Var(&rule.CallsMax, "calls-max", 0, "up to where calls may be raised, where nobody knows the limit")
	flags.Float64Var(&rule.Share, "share", 0, "the part of the limit that we use; 0 = 0.95")
	flags.Int64Var(&rule.Cost, "cost", 0, "how much of the limit one call takes; 0 = 1")
	flags.StringVar(&rule.Costs, "costs", "",
		"of endpoints whose calls take another number, such as report/get=5,list/*=2")
	flags.StringVar(&rule.CalendarZone, "calendar-zone", "",
		"the zone in which the windows begin at each full period; without it they slide")
	flags.DurationVar(&penalty, "penalty", 0, "for how long the platform refuses all calls once the limit was overrun")
	flags.BoolVar(&off, "off", false, "switch it off: there is no such limit then, not even the platform's own")
	return cmd
}
