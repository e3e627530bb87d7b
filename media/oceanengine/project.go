package oceanengine

import (
	"context"
	"net/url"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

const projectsEndpoint = "v3.0/project/list/"

// projectsPage is how many projects a page holds at most.
const projectsPage = 100

const projectDeleted = "PROJECT_STATUS_DELETE"

var projectTable = rawtable.Table{Name: "oceanengine_project", Shape: rawtable.Objects, Columns: []rawtable.Column{
	{Name: "name", Kind: rawtable.Text},
	{Name: "landing_type", Kind: rawtable.Text},
	{Name: "status_first", Kind: rawtable.Text},
	{Name: "opt_status", Kind: rawtable.Text},
	wire.Yuan.Column("budget"),
	{Name: "budget_mode", Kind: rawtable.Text},
	{Name: "project_create_time", Kind: rawtable.Instant},
	{Name: "project_modify_time", Kind: rawtable.Instant},
}}

var projectFields = []string{
	"project_id", "advertiser_id", "name", "landing_type", "app_promotion_type", "marketing_goal", "ad_type",
	"delivery_mode",
	"delivery_type", "opt_status", "status_first", "status_second", "delivery_setting", "audience", "project_create_time",
	"project_modify_time",
}

// projects fetches a page. A query for the status of deleted projects lists only them, and any other query lists all
// others.
func projects(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	filter := map[string]string{}
	if q.Variant == deleted {
		filter["status_first"] = projectDeleted
	}
	return media.Numbered{Endpoint: projectsEndpoint, Size: projectsPage}.Page(ctx, api, page, url.Values{
		"advertiser_id": {api.Account().ExternalID},
		"fields":        {asJSON(projectFields)},
		"filtering":     {asJSON(withWindow(filter, q, "project_modify_start_time", "project_modify_end_time"))},
	}, media.EachRow(readProject))
}

func readProject(p *wire.Row) media.Row {
	name, modified, setting := p.Text("name"), p.Time("project_modify_time", readTime), p.In("delivery_setting")
	status := p.Text("status_first")
	return media.Row{
		Object: p.Key("project_id"), Name: wire.Cut(name), Modified: modified, Deleted: status == projectDeleted,
		Raw: []any{
			wire.Text(name), wire.Text(p.Text("landing_type")), wire.Text(status), wire.Text(p.Text("opt_status")),
			setting.Money("budget", wire.Yuan),
			wire.Text(setting.Text("budget_mode")), sqldb.At(p.Time("project_create_time", readTime)), sqldb.At(modified),
		},
	}
}
