package publish

import "adsync/publish/query"

// Names of tables, which also begin the names of their views by level. The first two are reports too.
const (
	reportDaily  = "report_daily"
	reportHourly = "report_hourly"
	wideDaily    = "wide_daily"
)

// Views returns the tables and views that subscriptions may read: the figures, and nothing of logins or work.
func Views() []query.View {
	var all []query.View
	for _, span := range []struct {
		name string
		key  []string
	}{
		{reportDaily, []string{"day", "account_id", "level", "object_id"}},
		{reportHourly, []string{"day", "hour", "account_id", "level", "object_id"}},
		{wideDaily, []string{"day", "account_id", "level", "object_id"}},
	} {
		view := query.View{Name: span.name, Account: "account_id", Media: "media", Key: span.key}
		if span.name == wideDaily {
			view.Game = "game"
		}
		all = append(all, view)
		for _, level := range levels {
			view.Name = span.name + "_" + level
			all = append(all, view)
		}
	}
	return append(all,
		query.View{Name: "summary_daily", Game: "game", Media: "media",
			Key: []string{"day", "game", "media", "os", "currency", "day_zone"}},
		query.View{Name: "summary_hourly", Game: "game", Media: "media",
			Key: []string{"day", "hour", "game", "media", "os", "currency", "day_zone"}},
		query.View{Name: "report_daily_creative_asset", Account: "account_id", Media: "media",
			Key: []string{"day", "account_id", "creative_id", "kind", "asset_id"}},
		query.View{Name: "account_balance", Account: "account_id", Media: "media", Key: []string{"account_id", "fund"}},
		query.View{Name: "fund_daily", Account: "account_id", Media: "media", Key: []string{"day", "account_id", "fund"}},
		query.View{Name: "partner_daily", Game: "game", Account: "account_id", Media: "media", Key: []string{"partner_id"}},
	)
}
