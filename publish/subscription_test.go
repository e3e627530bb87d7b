package publish

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/base/store/publishing"
)

// now is noon of 21 November in Shanghai.
var now = time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)

// sales returns a subscription that can be used: a CSV file of each day's costs, at 9 in Shanghai.
func sales() publishing.Subscription {
	row := Defaults("sales")
	row.Source = `{"query": "SELECT day, account_id, cost FROM report_daily_account WHERE day BETWEEN :from AND :to ` +
		`ORDER BY day, account_id, level, object_id"}`
	row.Format, row.Path, row.Destination = `{"format": "csv"}`, "{day}/{subscription}{ext}", "shelf"
	row.Cron, row.Timezone = "0 9 * * *", "Asia/Shanghai"
	row.Since = now.AddDate(0, 0, -2)
	return row
}

// checked returns a subscription after changes.
func checked(t require.TestingT, change func(*publishing.Subscription)) *Subscription {
	row := sales()
	if change != nil {
		change(&row)
	}
	s, err := Check(row)
	require.NoError(t, err)
	return s
}

func TestCheck_NamesEachFieldThatItRefuses(t *testing.T) {
	t.Parallel()
	checked(t, nil)
	long := strings.Repeat("n", 210)
	for _, c := range []struct {
		key    string
		change func(*publishing.Subscription)
	}{
		{"name", func(s *publishing.Subscription) { s.Name = "Sales" }},
		{"lane", func(s *publishing.Subscription) { s.Lane = "a lane" }},
		{"destination", func(s *publishing.Subscription) { s.Destination = "" }},
		{"rows_max", func(s *publishing.Subscription) { s.RowsMax = -1 }},
		{"on_empty", func(s *publishing.Subscription) { s.OnEmpty = "no" }},
		{"on_exists", func(s *publishing.Subscription) { s.OnExists = "" }},
		{"verify", func(s *publishing.Subscription) { s.Verify = "sum" }},
		{"period", func(s *publishing.Subscription) { s.Period = "days:1" }},
		{"cron", func(s *publishing.Subscription) { s.Cron = "61 * * * *" }},
		{"timezone", func(s *publishing.Subscription) { s.Timezone = "Mars/Base" }},
		{"format", func(s *publishing.Subscription) { s.Format = "{" }},
		{"format.format", func(s *publishing.Subscription) { s.Format = `{"format": "pdf"}` }},
		{"format.gzip", func(s *publishing.Subscription) { s.Format = `{"format": "xlsx", "gzip": true}` }},
		{"source.query", func(s *publishing.Subscription) { s.Source = `{"query": "SELECT 1 FROM token"}` }},
		{"source.query", func(s *publishing.Subscription) {
			s.Source = strings.Replace(s.Source, ":from", ":begin", 1)
		}},
		{"source.text", func(s *publishing.Subscription) { s.Source = `{"text": "SELECT"}` }},
		{"scope", func(s *publishing.Subscription) { s.Scope = "games" }},
		{"scope.games", func(s *publishing.Subscription) { s.Path = "{game}/{day}" }},
		{"customer", func(s *publishing.Subscription) { s.Path = "{customer}/{day}" }},
		{"path", func(s *publishing.Subscription) { s.Path = "{days}" }},
		{"path", func(s *publishing.Subscription) { s.Path = "/{day}" }},
		{"path", func(s *publishing.Subscription) { s.Path = strings.Repeat("a/", 250) + "{day}" }},
		{"path", func(s *publishing.Subscription) { s.Path, s.OnExists = "same.csv", existsRefuse }},
		{"path", func(s *publishing.Subscription) { s.Path = "{day}/" + long }}, // Its manifest's name is too long.
		{"completeness", func(s *publishing.Subscription) { s.Completeness = "whole" }},
		{"completeness.when", func(s *publishing.Subscription) { s.Completeness = `{"when": "never"}` }},
		{"completeness.when", func(s *publishing.Subscription) {
			s.Completeness = `{"when": "complete"}`
			s.Source = `{"query": "SELECT account_id, fund FROM account_balance ORDER BY account_id, fund"}`
		}},
		{"completeness.at_latest", func(s *publishing.Subscription) { s.Completeness = `{"at_latest": "drop"}` }},
		{"completeness.parked", func(s *publishing.Subscription) { s.Completeness = `{"parked": "skip"}` }},
		{"completeness.latest_minutes", func(s *publishing.Subscription) { s.Completeness = `{"latest_minutes": -1}` }},
		{"corrections.every_minutes", func(s *publishing.Subscription) { s.Corrections = `{"every_minutes": 4, "days": 1}` }},
		{"corrections.quiet_minutes", func(s *publishing.Subscription) { s.Corrections = `{"quiet_minutes": -1}` }},
		{"corrections.days", func(s *publishing.Subscription) { s.Corrections = `{"every_minutes": 5}` }},
		{"path", func(s *publishing.Subscription) { s.Corrections, s.OnExists = hourly, existsRefuse }},
		{"path", func(s *publishing.Subscription) {
			s.Corrections, s.OnExists, s.Path = hourly, existsRefuse, "{days}" // It is refused for one reason.
		}},
	} {
		row := sales()
		c.change(&row)
		_, err := Check(row)
		var keys []string
		for _, e := range config.Flatten(err) {
			var f *config.FieldError
			require.ErrorAs(t, e, &f)
			keys = append(keys, f.Key)
		}
		require.Equal(t, []string{c.key}, keys, "%v", err)
	}
	row := sales()
	row.Lane, row.Verify, row.Period = "a lane", "sum", "year"
	_, err := Check(row)
	require.Len(t, config.Flatten(err), 3, "all mistakes are reported")
}

// hourly is corrections for a week.
const hourly = `{"every_minutes": 60, "days": 7}`

// A revision needs a name that the one before it does not have, or may replace it.
func TestCheck_TakesNamesUnderWhichRevisionsCanBeDelivered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, exists, corrections string }{
		{"{day}-{revision}{ext}", existsRefuse, hourly},
		{"{day}{ext}", existsReplace, hourly},
		{"{day}{ext}", existsVersion, hourly},
		{"{day}{ext}", existsRefuse, `{"quiet_minutes": 5}`}, // There are no corrections.
	} {
		checked(t, func(s *publishing.Subscription) { s.Path, s.OnExists, s.Corrections = c.path, c.exists, c.corrections })
	}
	row := sales()
	row.OnExists, row.Corrections = existsRefuse, hourly
	_, err := Check(row)
	require.ErrorContains(t, err, "{revision}", "it names the remedy")
}

func TestCheck_TakesNamesThatDifferByTheFirstDayAlone(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"{from}", "{from:compact}", "{to:compact}", "{period}", "n{sequence}"} {
		checked(t, func(s *publishing.Subscription) { s.Path, s.OnExists, s.Period = path, existsRefuse, "week" })
	}
	long := strings.Repeat("n", 210)
	checked(t, func(s *publishing.Subscription) { s.Path, s.Manifest = "{day}/"+long, false })
}

func TestNeedsOf_FollowsTheViews(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		view         string
		want         string
		summed, wide bool
	}{
		{"account_balance", "", false, false},
		{"partner_daily", "", false, false},
		{"fund_daily", "fund_daily/account", false, false},
		{"report_daily_account", "report_daily/account", false, false},
		{"report_hourly_campaign", "report_hourly/campaign", false, false},
		{"report_daily_creative_asset", "report_daily/creative", false, false},
		{"summary_daily", "report_daily/account", true, false},
		{"summary_hourly", "report_hourly/account", true, false},
		{"wide_daily_adgroup", "report_daily/adgroup", false, true},
		{"wide_daily", "report_daily/account report_daily/campaign report_daily/adgroup report_daily/creative", false, true},
	} {
		n := needsOf([]string{c.view})
		var words []string
		for _, scope := range n.scopes {
			words = append(words, scope.Report+"/"+scope.Level)
		}
		require.Equal(t, c.want, strings.Join(words, " "), c.view)
		require.Equal(t, []bool{c.summed, c.wide}, []bool{n.summed, n.wide}, c.view)
	}
	require.Len(t, needsOf([]string{"report_daily_account", "summary_daily"}).scopes, 1, "each scope once")
}
