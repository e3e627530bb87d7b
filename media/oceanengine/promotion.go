package oceanengine

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

const promotionsEndpoint = "v3.0/promotion/list/"

// The platform returns 20 promotions a page, and by page number none beyond the 10,000th.
const (
	promotionsPage = 20
	promotionsCap  = 10_000
)

// modifyWindow is the longest span of modification times that a query can select.
const modifyWindow = 30 * 24 * time.Hour

const statusDeleted = "PROMOTION_STATUS_DELETED"

var promotionTable = rawtable.Table{Name: "oceanengine_promotion", Shape: rawtable.Objects, Columns: []rawtable.Column{
	{Name: "promotion_name", Kind: rawtable.Text},
	{Name: "project_id", Kind: rawtable.Text}, // a text, like ids in the other tables
	{Name: "status_first", Kind: rawtable.Text},
	{Name: "opt_status", Kind: rawtable.Text},
	wire.Yuan.Column("budget"),
	{Name: "budget_mode", Kind: rawtable.Text},
	wire.Yuan.Column("cpa_bid"),
	{Name: "promotion_create_time", Kind: rawtable.Instant},
	{Name: "promotion_modify_time", Kind: rawtable.Instant},
}}

var promotionFields = []string{
	"promotion_id", "promotion_name", "project_id", "advertiser_id", "status_first", "opt_status", "budget", "budget_mode",
	"cpa_bid", "promotion_create_time", "promotion_modify_time",
}

// Lists implements media.Platform. One query has all promotions: status ALL includes deleted ones.
func (Platform) Lists() []media.List {
	return []media.List{
		{Name: "promotion", Level: "adgroup", Table: promotionTable, Parent: "project_id",
			Unlogged: []string{"promotion_modify_time"},
			Shown:    rawtable.Shown{Column: "status_first", Value: "PROMOTION_STATUS_ENABLE"}, Page: promotions.page},
		{Name: "project", Level: "campaign", Table: projectTable, Variants: []string{live, deleted},
			Unlogged: []string{"project_modify_time"}, Page: projects},
		{Name: "promotion_material", Level: "creative", Table: materialTable, Parent: "promotion_id", IDHasParent: true,
			MapsAssets: true, Page: materials.page},
		{Name: "image", Level: rawtable.AssetImage, Table: imageTable, Unlogged: []string{"url"}, Page: images.page},
		{Name: "video", Level: rawtable.AssetVideo, Table: videoTable, Unlogged: []string{"url", "poster_url"},
			Page: videos.page},
	}
}

var promotions = promotionList{fields: promotionFields, add: media.EachRow(readPromotion)}

// promotionList reads rows from each promotion.
type promotionList struct {
	fields []string
	// add adds the rows of a promotion to a page.
	add func(page *media.Page, promotion json.RawMessage)
	// finish adds values that the list lacks to the rows of a page; nil if there are none.
	finish func(ctx context.Context, api media.API, page *media.Page) error
}

// page fetches a page. Pages by number have the total, which shows whether a pull is whole, but end at the 10,000th
// row. Pages by cursor have neither. So page uses numbers as far as they reach, and a cursor otherwise, and keeps the
// total in the token: "page:<number>" or "cursor:<total>:<cursor>".
func (l promotionList) page(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	out, err := l.fetch(ctx, api, q, page)
	if err == nil && l.finish != nil {
		err = l.finish(ctx, api, &out)
	}
	return out, err
}

func (l promotionList) fetch(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	kind, rest, _ := strings.Cut(page, ":")
	switch kind {
	case "":
		first, err := l.byNumber(ctx, api, q, "")
		if err != nil || first.Total <= promotionsCap {
			return first, err
		}
		return l.byCursor(ctx, api, q, first.Total, "0")
	case "page":
		if rest != "" {
			return l.byNumber(ctx, api, q, rest)
		}
	case "cursor":
		count, cursor, _ := strings.Cut(rest, ":")
		if total, err := strconv.Atoi(count); err == nil && cursor != "" {
			return l.byCursor(ctx, api, q, total, cursor)
		}
	}
	return media.Page{}, noSuchPage(page)
}

func (l promotionList) byNumber(ctx context.Context, api media.API, q media.ListQuery, number string) (media.Page,
	error) {
	page, err := media.Numbered{Endpoint: promotionsEndpoint, Size: promotionsPage}.Page(ctx, api, number, l.query(api, q),
		l.add)
	if page.Next != "" {
		page.Next = "page:" + page.Next
	}
	return page, err
}

func (l promotionList) byCursor(ctx context.Context, api media.API, q media.ListQuery, total int,
	cursor string) (media.Page, error) {
	query := l.query(api, q)
	query.Set("cursor", cursor)
	query.Set("count", strconv.Itoa(promotionsPage))
	data, err := api.Get(ctx, promotionsEndpoint, query)
	if err != nil {
		return media.Page{}, err
	}
	page, next, err := l.read(data)
	if err != nil {
		return media.Page{}, media.Broken(promotionsEndpoint, err)
	}
	page.Total = total
	if next != "" {
		page.Next = "cursor:" + strconv.Itoa(total) + ":" + next
	}
	return page, nil
}

func (l promotionList) query(api media.API, q media.ListQuery) url.Values {
	return url.Values{
		"advertiser_id": {api.Account().ExternalID},
		"fields":        {asJSON(l.fields)},
		"filtering":     {asJSON(promotionFilter(q))},
	}
}

// promotionFilter selects promotions modified within the query's window, or all when the window is longer than the
// platform allows.
func promotionFilter(q media.ListQuery) map[string]string {
	return withWindow(map[string]string{"status_first": "PROMOTION_STATUS_ALL"}, q, "promotion_modify_start_time",
		"promotion_modify_end_time")
}

// withWindow adds a query's window to a filter, unless it is longer than the platform allows.
func withWindow(filter map[string]string, q media.ListQuery, start, end string) map[string]string {
	// The margin of a minute covers that the two ends are cut to seconds.
	if !q.Since.IsZero() && q.Until.Sub(q.Since) < modifyWindow-time.Minute {
		filter[start] = q.Since.In(china).Format(timeLayout)
		filter[end] = q.Until.In(china).Format(timeLayout)
	}
	return filter
}

// read reads a page by cursor. The cursor's meaning is not documented: it is sent back unchanged.
func (l promotionList) read(data json.RawMessage) (page media.Page, next string, err error) {
	var answer struct {
		List   wire.List       `json:"list"`
		Cursor json.RawMessage `json:"cursor_info"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return media.Page{}, "", err
	}
	for _, raw := range answer.List {
		l.add(&page, raw)
	}
	if cursor := wire.Open(answer.Cursor).Fields(); wire.Flag(cursor["has_more"]) {
		next = wire.String(cursor["cursor"])
	}
	return page, next, nil
}

func readPromotion(p *wire.Row) media.Row {
	name, status, modified := p.Text("promotion_name"), p.Text("status_first"), p.Time("promotion_modify_time", readTime)
	return media.Row{
		Object: p.Key("promotion_id"), Name: wire.Cut(name), Modified: modified, Deleted: status == statusDeleted,
		Raw: []any{
			wire.Text(name), wire.Text(string(p.ID("project_id"))), wire.Text(status), wire.Text(p.Text("opt_status")),
			p.Money("budget", wire.Yuan), wire.Text(p.Text("budget_mode")), p.Money("cpa_bid", wire.Yuan),
			sqldb.At(p.Time("promotion_create_time", readTime)), sqldb.At(modified),
		},
	}
}
