package oceanengine

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

const projectsEndpoint = "v3.0/project/list/"

// projectsPage is the most that a page of projects holds.
const projectsPage = 100

const projectDeleted = "PROJECT_STATUS_DELETE"

var projectTable = store.RawTable{Name: "oceanengine_project", Shape: store.Objects, Columns: []store.RawColumn{
	{Name: "name", Kind: store.Text},
	{Name: "landing_type", Kind: store.Text},
	{Name: "status_first", Kind: store.Text},
	{Name: "opt_status", Kind: store.Text},
	{Name: "budget_fen", Kind: store.Int}, // yuan on the wire
	{Name: "budget_mode", Kind: store.Text},
	{Name: "project_create_time", Kind: store.Instant},
	{Name: "project_modify_time", Kind: store.Instant},
}}

var projectFields = []string{
	"project_id", "advertiser_id", "name", "landing_type", "app_promotion_type", "marketing_goal", "ad_type", "delivery_mode",
	"delivery_type", "opt_status", "status_first", "status_second", "delivery_setting", "audience", "project_create_time",
	"project_modify_time",
}

// projects fetches a page. What was deleted is listed when its status is asked for, else everything but that.
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

func readProject(raw json.RawMessage) (media.Row, error) {
	var p struct {
		ProjectID   wire.ID `json:"project_id"`
		Name        string  `json:"name"`
		LandingType string  `json:"landing_type"`
		StatusFirst string  `json:"status_first"`
		OptStatus   string  `json:"opt_status"`
		Setting     struct {
			Budget     wire.Decimal `json:"budget"`
			BudgetMode string       `json:"budget_mode"`
		} `json:"delivery_setting"`
		CreateTime string `json:"project_create_time"`
		ModifyTime string `json:"project_modify_time"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return media.Row{}, err
	}
	if p.ProjectID == "" {
		return media.Row{}, errNoID
	}
	created, err1 := readTime(p.CreateTime)
	modified, err2 := readTime(p.ModifyTime)
	budget, err3 := p.Setting.Budget.Column(2)
	if err := errors.Join(err1, err2, err3); err != nil {
		return media.Row{}, err
	}
	return media.Row{
		Object: string(p.ProjectID), Name: wire.Cut(p.Name), Modified: modified, Deleted: p.StatusFirst == projectDeleted,
		Raw: []any{
			wire.Text(p.Name), wire.Text(p.LandingType), wire.Text(p.StatusFirst), wire.Text(p.OptStatus), budget,
			wire.Text(p.Setting.BudgetMode), store.At(created), store.At(modified),
		},
		JSON: raw,
	}, nil
}
