package oceanengine

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

const promotionsEndpoint = "v3.0/promotion/list/"

// The platform gives out 20 promotions a page, and by page number none beyond the 10,000th.
const (
	promotionsPage = 20
	promotionsCap  = 10_000
)

// modifyWindow is the longest span of modification times that can be asked for.
const modifyWindow = 30 * 24 * time.Hour

const statusDeleted = "PROMOTION_STATUS_DELETED"

var promotionTable = store.RawTable{Name: "oceanengine_promotion", Shape: store.Objects, Columns: []store.RawColumn{
	{Name: "promotion_name", Kind: store.Text},
	{Name: "project_id", Kind: store.Text}, // a text, as ids are in the other tables
	{Name: "status_first", Kind: store.Text},
	{Name: "opt_status", Kind: store.Text},
	{Name: "budget_fen", Kind: store.Int}, // yuan on the wire
	{Name: "budget_mode", Kind: store.Text},
	{Name: "cpa_bid_fen", Kind: store.Int}, // yuan on the wire
	{Name: "promotion_create_time", Kind: store.Instant},
	{Name: "promotion_modify_time", Kind: store.Instant},
}}

var promotionFields = []string{
	"promotion_id", "promotion_name", "project_id", "advertiser_id", "status_first", "opt_status", "budget", "budget_mode",
	"cpa_bid", "promotion_create_time", "promotion_modify_time",
}

// Lists implements media.Platform. One query has all promotions: status ALL includes what was deleted.
func (Platform) Lists() []media.List {
	return []media.List{
		{Name: "promotion", Level: "adgroup", Table: promotionTable, Unlogged: []string{"promotion_modify_time"}, Page: promotions.page},
		{Name: "project", Level: "campaign", Table: projectTable, Variants: []string{live, deleted}, Unlogged: []string{"project_modify_time"}, Page: projects},
		{Name: "promotion_material", Level: "creative", Table: materialTable, MapsAssets: true, Page: materials.page},
		{Name: "image", Level: store.AssetImage, Table: imageTable, Unlogged: []string{"url"}, Page: images.page},
		{Name: "video", Level: store.AssetVideo, Table: videoTable, Unlogged: []string{"url", "poster_url"}, Page: videos.page},
	}
}

var promotions = promotionList{fields: promotionFields, read: func(raw json.RawMessage) ([]media.Row, string, error) {
	row, err := readPromotion(raw)
	return []media.Row{row}, "", err
}}

// promotionList reads something of each promotion.
type promotionList struct {
	fields []string
	// read returns the rows that a promotion becomes, and its id when these are parts of it.
	read func(raw json.RawMessage) (rows []media.Row, promotion string, err error)
}

// page fetches a page. Pages by number tell the total, which shows whether a pull is whole; pages by cursor do not, but have
// no end. So pages go by number where they reach, and else by cursor, carrying the total along: "page:<number>" or
// "cursor:<total>:<cursor>".
func (l promotionList) page(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	kind, rest, _ := strings.Cut(page, ":")
	switch kind {
	case "":
		first, err := l.byNumber(ctx, api, q, 1)
		if err != nil || first.Total <= promotionsCap {
			return first, err
		}
		return l.byCursor(ctx, api, q, first.Total, "0")
	case "page":
		if number, err := strconv.Atoi(rest); err == nil {
			return l.byNumber(ctx, api, q, number)
		}
	case "cursor":
		count, cursor, _ := strings.Cut(rest, ":")
		if total, err := strconv.Atoi(count); err == nil && cursor != "" {
			return l.byCursor(ctx, api, q, total, cursor)
		}
	}
	return media.Page{}, noSuchPage(page)
}

func (l promotionList) byNumber(ctx context.Context, api media.API, q media.ListQuery, number int) (media.Page, error) {
	answer, err := l.fetch(ctx, api, q, url.Values{"page": {strconv.Itoa(number)}, "page_size": {strconv.Itoa(promotionsPage)}})
	if err != nil {
		return media.Page{}, err
	}
	if !answer.Page.TotalNumber.Set {
		return media.Page{}, media.Broken(promotionsEndpoint, errors.New("page_info has no total_number"))
	}
	page := media.Page{Rows: answer.rows, Counted: answer.counted, Total: int(answer.Page.TotalNumber.Value)}
	if number*promotionsPage < page.Total {
		page.Next = "page:" + strconv.Itoa(number+1)
	}
	return page, nil
}

func (l promotionList) byCursor(ctx context.Context, api media.API, q media.ListQuery, total int, cursor string) (media.Page, error) {
	answer, err := l.fetch(ctx, api, q, url.Values{"cursor": {cursor}, "count": {strconv.Itoa(promotionsPage)}})
	if err != nil {
		return media.Page{}, err
	}
	page := media.Page{Rows: answer.rows, Counted: answer.counted, Total: total}
	if next := answer.Cursor.Cursor; answer.Cursor.HasMore && next.Set {
		page.Next = "cursor:" + strconv.Itoa(total) + ":" + strconv.FormatInt(next.Value, 10)
	}
	return page, nil
}

type promotionsAnswer struct {
	List []json.RawMessage `json:"list"`
	Page pageInfo          `json:"page_info"`
	// The cursor is not said to be an offset or an id: it goes back as it came.
	Cursor struct {
		HasMore bool     `json:"has_more"`
		Cursor  wire.Int `json:"cursor"`
	} `json:"cursor_info"`
	rows    []media.Row
	counted []string // the promotions, where the rows are parts of them
}

func (l promotionList) fetch(ctx context.Context, api media.API, q media.ListQuery, query url.Values) (promotionsAnswer, error) {
	query.Set("advertiser_id", api.Account().ExternalID)
	query.Set("fields", asJSON(l.fields))
	query.Set("filtering", asJSON(promotionFilter(q)))
	data, err := api.Get(ctx, promotionsEndpoint, query)
	if err != nil {
		return promotionsAnswer{}, err
	}
	answer, err := l.readAnswer(data)
	if err != nil {
		return promotionsAnswer{}, media.Broken(promotionsEndpoint, err)
	}
	return answer, nil
}

// promotionFilter asks for what was modified within the query's window, or for everything when the window is longer
// than the platform takes.
func promotionFilter(q media.ListQuery) map[string]string {
	return withWindow(map[string]string{"status_first": "PROMOTION_STATUS_ALL"}, q, "promotion_modify_start_time", "promotion_modify_end_time")
}

// withWindow adds a query's window to a filter, unless it is longer than the platform takes.
func withWindow(filter map[string]string, q media.ListQuery, start, end string) map[string]string {
	// A minute stays unused: the two ends are cut to seconds.
	if !q.Since.IsZero() && q.Until.Sub(q.Since) < modifyWindow-time.Minute {
		filter[start] = q.Since.In(china).Format(timeLayout)
		filter[end] = q.Until.In(china).Format(timeLayout)
	}
	return filter
}

func (l promotionList) readAnswer(data json.RawMessage) (promotionsAnswer, error) {
	var answer promotionsAnswer
	if err := json.Unmarshal(data, &answer); err != nil {
		return promotionsAnswer{}, err
	}
	for _, raw := range answer.List {
		rows, promotion, err := l.read(raw)
		if err != nil {
			return promotionsAnswer{}, err
		}
		answer.rows = append(answer.rows, rows...)
		if promotion != "" {
			answer.counted = append(answer.counted, promotion)
		}
	}
	return answer, nil
}

func readPromotion(raw json.RawMessage) (media.Row, error) {
	var p struct {
		PromotionID   wire.ID      `json:"promotion_id"`
		PromotionName string       `json:"promotion_name"`
		ProjectID     wire.ID      `json:"project_id"`
		StatusFirst   string       `json:"status_first"`
		OptStatus     string       `json:"opt_status"`
		Budget        wire.Decimal `json:"budget"`
		BudgetMode    string       `json:"budget_mode"`
		CPABid        wire.Decimal `json:"cpa_bid"`
		CreateTime    string       `json:"promotion_create_time"`
		ModifyTime    string       `json:"promotion_modify_time"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return media.Row{}, err
	}
	if p.PromotionID == "" {
		return media.Row{}, errNoID
	}
	created, err1 := readTime(p.CreateTime)
	modified, err2 := readTime(p.ModifyTime)
	budget, err3 := p.Budget.Column(2)
	bid, err4 := p.CPABid.Column(2)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return media.Row{}, err
	}
	return media.Row{
		Object: string(p.PromotionID), Name: wire.Cut(p.PromotionName), Modified: modified, Deleted: p.StatusFirst == statusDeleted,
		Raw: []any{
			wire.Text(p.PromotionName), wire.Text(string(p.ProjectID)), wire.Text(p.StatusFirst), wire.Text(p.OptStatus),
			budget, wire.Text(p.BudgetMode), bid, store.At(created), store.At(modified),
		},
		JSON: raw,
	}, nil
}
