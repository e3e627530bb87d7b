package tencent

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

const adgroupsEndpoint = "adgroups/get"

// adgroupsPage is the most that a page of ad groups holds.
const adgroupsPage = 100

// errNoID says that a row lacks what it is known by.
var errNoID = errors.New("a row has no id")

// The two queries that make the whole. Live ones come first: an ad group that is deleted between the two is then in
// both, the other way round it would be in none.
const (
	live    = "live"
	deleted = "deleted"
)

var adgroupTable = store.RawTable{Name: "tencent_adgroup", Shape: store.Objects, Columns: []store.RawColumn{
	{Name: "adgroup_name", Kind: store.Text},
	{Name: "configured_status", Kind: store.Text},
	{Name: "system_status", Kind: store.Text},
	{Name: "daily_budget_fen", Kind: store.Int}, // 0 is no limit
	{Name: "bid_amount_fen", Kind: store.Int},
	{Name: "created_time", Kind: store.Instant},
	{Name: "last_modified_time", Kind: store.Instant},
}}

var adgroupFields = []string{
	"adgroup_id", "adgroup_name", "configured_status", "system_status", "daily_budget", "bid_amount",
	"created_time", "last_modified_time", "is_deleted",
}

// Lists implements media.Platform.
func (Platform) Lists() []media.List {
	return []media.List{
		{Name: "adgroup", Level: "adgroup", Table: adgroupTable, Variants: []string{live, deleted}, Unlogged: []string{"last_modified_time", "is_deleted"}, Page: adgroups},
	}
}

// adgroups fetches a page. It pages by cursor: numbered pages end at 10,000 rows. A page is named "<rows so far>:<cursor>".
func adgroups(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	seen, cursor, err := splitPage(page)
	if err != nil {
		return media.Page{}, err
	}
	query := url.Values{
		"account_id":      {api.Account().ExternalID},
		"fields":          {asJSON(adgroupFields)},
		"is_deleted":      {strconv.FormatBool(q.Variant == deleted)},
		"pagination_mode": {"PAGINATION_MODE_CURSOR"},
		"page_size":       {strconv.Itoa(adgroupsPage)},
	}
	if !q.Since.IsZero() {
		query.Set("filtering", asJSON([]filter{{
			Field: "last_modified_time", Operator: "GREATER_EQUALS", Values: []string{strconv.FormatInt(q.Since.Unix(), 10)},
		}}))
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	data, err := api.Get(ctx, adgroupsEndpoint, query)
	if err != nil {
		return media.Page{}, err
	}
	out, next, err := readAdgroups(data, q.Variant == deleted)
	if err != nil {
		return media.Page{}, media.Broken(adgroupsEndpoint, err)
	}
	// What ends the list is not written down. A cursor beside the last rows would only lead to an empty page, and an
	// empty page to no more.
	seen += len(out.Rows)
	if next != "" && seen < out.Total && len(out.Rows) > 0 {
		out.Next = strconv.Itoa(seen) + ":" + next
	}
	return out, nil
}

// filter is one condition of a query. Values are texts, whatever the field is.
type filter struct {
	Field    string   `json:"field"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

func splitPage(page string) (seen int, cursor string, err error) {
	if page == "" {
		return 0, "", nil
	}
	count, cursor, _ := strings.Cut(page, ":")
	if seen, err = strconv.Atoi(count); err != nil || cursor == "" {
		return 0, "", &media.Error{Class: media.Bug, Message: "page " + strconv.Quote(page) + " is none that was given out"}
	}
	return seen, cursor, nil
}

func readAdgroups(data json.RawMessage, isDeleted bool) (page media.Page, next string, err error) {
	var answer struct {
		List   []json.RawMessage `json:"list"`
		Cursor struct {
			TotalNumber wire.Int `json:"total_number"`
			NextCursor  string   `json:"next_cursor"`
		} `json:"cursor_page_info"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return media.Page{}, "", err
	}
	if !answer.Cursor.TotalNumber.Set {
		return media.Page{}, "", errors.New("cursor_page_info has no total_number")
	}
	page.Total = int(answer.Cursor.TotalNumber.Value)
	for _, raw := range answer.List {
		row, err := readAdgroup(raw)
		if err != nil {
			return media.Page{}, "", err
		}
		row.Deleted = row.Deleted || isDeleted
		page.Rows = append(page.Rows, row)
	}
	return page, answer.Cursor.NextCursor, nil
}

func readAdgroup(raw json.RawMessage) (media.Row, error) {
	var a struct {
		AdgroupID        wire.ID  `json:"adgroup_id"`
		AdgroupName      string   `json:"adgroup_name"`
		ConfiguredStatus string   `json:"configured_status"`
		SystemStatus     string   `json:"system_status"`
		DailyBudget      wire.Int `json:"daily_budget"`
		BidAmount        wire.Int `json:"bid_amount"`
		CreatedTime      wire.Int `json:"created_time"`
		LastModifiedTime wire.Int `json:"last_modified_time"`
		IsDeleted        bool     `json:"is_deleted"`
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return media.Row{}, err
	}
	if a.AdgroupID == "" {
		return media.Row{}, errNoID
	}
	modified := a.LastModifiedTime.Unix()
	return media.Row{
		Object: string(a.AdgroupID), Name: wire.Cut(a.AdgroupName), Modified: modified, Deleted: a.IsDeleted,
		Raw: []any{
			wire.Text(a.AdgroupName), wire.Text(a.ConfiguredStatus), wire.Text(a.SystemStatus),
			a.DailyBudget.Column(), a.BidAmount.Column(),
			store.At(a.CreatedTime.Unix()), store.At(modified),
		},
		JSON: raw,
	}, nil
}
