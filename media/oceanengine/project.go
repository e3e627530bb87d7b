package oceanengine

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"

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
	"delivery_type", "opt_status", "status_first", "status_second", "delivery_setting", "project_create_time", "project_modify_time",
}

// projects fetches a page. What was deleted is listed when its status is asked for, else everything but that.
func projects(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	number, err := pageNumber(page)
	if err != nil {
		return media.Page{}, err
	}
	filter := map[string]string{}
	if q.Variant == deleted {
		filter["status_first"] = projectDeleted
	}
	data, err := api.Get(ctx, projectsEndpoint, url.Values{
		"advertiser_id": {api.Account().ExternalID},
		"fields":        {asJSON(projectFields)},
		"filtering":     {asJSON(withWindow(filter, q, "project_modify_start_time", "project_modify_end_time"))},
		"page":          {strconv.Itoa(number)},
		"page_size":     {strconv.Itoa(projectsPage)},
	})
	if err != nil {
		return media.Page{}, err
	}
	out, err := readList(data, readProject)
	if err != nil {
		return media.Page{}, media.Broken(projectsEndpoint, err)
	}
	if number*projectsPage < out.Total {
		out.Next = strconv.Itoa(number + 1)
	}
	return out, nil
}

// readList reads a page of a list that is numbered.
func readList(data json.RawMessage, read func(json.RawMessage) (media.Row, error)) (media.Page, error) {
	var answer struct {
		List []json.RawMessage `json:"list"`
		Page pageInfo          `json:"page_info"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return media.Page{}, err
	}
	if !answer.Page.TotalNumber.Set {
		return media.Page{}, errors.New("page_info has no total_number")
	}
	page := media.Page{Total: int(answer.Page.TotalNumber.Value)}
	for _, raw := range answer.List {
		row, err := read(raw)
		if err != nil {
			return media.Page{}, err
		}
		page.Rows = append(page.Rows, row)
	}
	return page, nil
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
