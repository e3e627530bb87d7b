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

// Lists implements media.Platform. One query has them all: status ALL includes what was deleted.
func (Platform) Lists() []media.List {
	return []media.List{{Name: "promotion", Level: "adgroup", Table: promotionTable, Unlogged: []string{"promotion_modify_time"}, Page: promotions}}
}

// promotions fetches a page. Pages by number tell the total, which shows whether a pull is whole; pages by cursor do not,
// but have no end. So pages go by number where they reach, and else by cursor, carrying the total along:
// "page:<number>" or "cursor:<total>:<cursor>".
func promotions(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	kind, rest, _ := strings.Cut(page, ":")
	switch kind {
	case "":
		first, err := promotionsByNumber(ctx, api, q, 1)
		if err != nil || first.Total <= promotionsCap {
			return first, err
		}
		return promotionsByCursor(ctx, api, q, first.Total, "0")
	case "page":
		if number, err := strconv.Atoi(rest); err == nil {
			return promotionsByNumber(ctx, api, q, number)
		}
	case "cursor":
		count, cursor, _ := strings.Cut(rest, ":")
		if total, err := strconv.Atoi(count); err == nil && cursor != "" {
			return promotionsByCursor(ctx, api, q, total, cursor)
		}
	}
	return media.Page{}, &media.Error{Class: media.Bug, Message: "page " + strconv.Quote(page) + " is none that was given out"}
}

func promotionsByNumber(ctx context.Context, api media.API, q media.ListQuery, number int) (media.Page, error) {
	answer, err := fetchPromotions(ctx, api, q, url.Values{"page": {strconv.Itoa(number)}, "page_size": {strconv.Itoa(promotionsPage)}})
	if err != nil {
		return media.Page{}, err
	}
	if !answer.Page.TotalNumber.Set {
		return media.Page{}, media.Broken(promotionsEndpoint, errors.New("page_info has no total_number"))
	}
	page := media.Page{Rows: answer.rows, Total: int(answer.Page.TotalNumber.Value)}
	if number*promotionsPage < page.Total {
		page.Next = "page:" + strconv.Itoa(number+1)
	}
	return page, nil
}

func promotionsByCursor(ctx context.Context, api media.API, q media.ListQuery, total int, cursor string) (media.Page, error) {
	answer, err := fetchPromotions(ctx, api, q, url.Values{"cursor": {cursor}, "count": {strconv.Itoa(promotionsPage)}})
	if err != nil {
		return media.Page{}, err
	}
	page := media.Page{Rows: answer.rows, Total: total}
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
	rows []media.Row
}

func fetchPromotions(ctx context.Context, api media.API, q media.ListQuery, query url.Values) (promotionsAnswer, error) {
	query.Set("advertiser_id", api.Account().ExternalID)
	query.Set("fields", asJSON(promotionFields))
	query.Set("filtering", asJSON(promotionFilter(q)))
	data, err := api.Get(ctx, promotionsEndpoint, query)
	if err != nil {
		return promotionsAnswer{}, err
	}
	answer, err := readPromotions(data)
	if err != nil {
		return promotionsAnswer{}, media.Broken(promotionsEndpoint, err)
	}
	return answer, nil
}

// promotionFilter asks for what was modified within the query's window, or for everything when the window is longer
// than the platform takes.
func promotionFilter(q media.ListQuery) map[string]string {
	filter := map[string]string{"status_first": "PROMOTION_STATUS_ALL"}
	// A minute stays unused: the two ends are cut to seconds.
	if !q.Since.IsZero() && q.Until.Sub(q.Since) < modifyWindow-time.Minute {
		filter["promotion_modify_start_time"] = q.Since.In(china).Format(timeLayout)
		filter["promotion_modify_end_time"] = q.Until.In(china).Format(timeLayout)
	}
	return filter
}

func readPromotions(data json.RawMessage) (promotionsAnswer, error) {
	var answer promotionsAnswer
	if err := json.Unmarshal(data, &answer); err != nil {
		return promotionsAnswer{}, err
	}
	for _, raw := range answer.List {
		row, err := readPromotion(raw)
		if err != nil {
			return promotionsAnswer{}, err
		}
		answer.rows = append(answer.rows, row)
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
