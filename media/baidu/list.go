package baidu

import (
	"context"
	"encoding/json"
	"slices"

	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

// The two kinds of advertising of an account. Each has its own lists and reports.
const (
	search = "search"
	feed   = "feed"
)

// Lists implements media.Platform. Lists have no deleted objects: an object that is in none is marked as deleted.
func (Platform) Lists() []media.List {
	objects := func(name, parent string, columns wire.Columns, s, f *objects) media.List {
		return media.List{
			Name: name, Level: name, Parent: parent, NoSince: true, Variants: []string{search, feed},
			Table: rawtable.Table{Name: Name + "_" + name, Shape: rawtable.Objects, Columns: columns.Table()},
			Page: func(ctx context.Context, api media.API, q media.ListQuery, _ string) (media.Page, error) {
				if q.Variant == feed {
					return f.page(ctx, api, columns)
				}
				return s.page(ctx, api, columns)
			},
		}
	}
	campaigns := objects("campaign", "", campaignColumns, searchCampaigns, feedCampaigns)
	adgroups := objects("adgroup", "campaign_id", adgroupColumns, searchAdgroups, feedAdgroups)
	adgroups.Shown = rawtable.Shown{Column: "pause", Value: "false"}
	adgroups.Unlogged = []string{"modtime"}
	creatives := objects("creative", "adgroup_id", creativeColumns, searchCreatives, feedCreatives)
	creatives.MapsAssets = true
	return []media.List{campaigns, adgroups, creatives, images.list(rawtable.AssetImage),
		videos.list(rawtable.AssetVideo)}
}

// The columns of lists: moments are times as texts, millis are in Unix milliseconds.
var (
	text, id, truth, number = wire.TextColumn, wire.IDColumn, wire.TruthColumn, wire.CountColumn
	yuan                    = wire.MoneyColumn(wire.Yuan)
	moment, millis          = wire.TimeColumn(readTime), wire.MilliColumn
)

var (
	campaignColumns = wire.Columns{text("name"), truth("pause"), id("status"), yuan("budget"),
		moment("create_time")}
	adgroupColumns = wire.Columns{text("name"), id("campaign_id"), truth("pause"), id("status"), yuan("bid"),
		moment("create_time"), moment("modtime")}
	creativeColumns = wire.Columns{text("name"), id("adgroup_id"), truth("pause"), id("status"),
		moment("create_time")}
)

// objects is a list of one kind of advertising.
type objects struct {
	endpoint string
	choice   string // the parameter that names the fields
	key      string
	// fields are the platform's names of the raw table's columns, in their order; "" where it has none. others are further
	// fields that are requested.
	fields, others []string
	// above is the list of the parents whose children are requested, as most at a time, with idType. nil for campaigns,
	// all of which one call returns.
	above  *objects
	idType int
	most   int
	// assets reads the images and videos that a creative shows.
	assets func(r *wire.Row) ([]rawtable.AssetUse, bool)
}

// The lists of search (pages 102631 and 103889) and of feed (pages 100441 and 102474).
var (
	searchCampaigns = &objects{
		endpoint: searchPath + "CampaignService/getCampaign", choice: "campaignFields", key: "campaignId",
		fields: []string{"campaignName", "pause", "status", "budget", "createTime"},
		others: []string{"adType", "marketingTargetId", "campaignOcpcBid", "campaignTransTypes"},
	}
	searchAdgroups = &objects{
		endpoint: searchPath + "AdgroupService/getAdgroup", choice: "adgroupFields", key: "adgroupId",
		fields: []string{"adgroupName", "campaignId", "pause", "status", "maxPrice", "createTime", ""},
		above:  searchCampaigns, idType: 3, most: 100,
	}
	searchCreatives = &objects{
		endpoint: searchPath + "CreativeService/getCreative", choice: "creativeFields", key: "creativeId",
		fields: []string{"title", "adgroupId", "pause", "status", "createTime"}, others: []string{"description1"},
		above: searchAdgroups, idType: 5, most: 1000,
	}
	feedCampaigns = &objects{
		endpoint: feedPath + "CampaignFeedService/getCampaignFeed", choice: "campaignFeedFields", key: "campaignFeedId",
		fields: []string{"campaignFeedName", "pause", "status", "budget", "addtime"},
		others: []string{"subject", "starttime", "endtime", "bstype"},
	}
	feedAdgroups = &objects{
		endpoint: feedPath + "AdgroupFeedService/getAdgroupFeed", choice: "adgroupFeedFields", key: "adgroupFeedId",
		fields: []string{"adgroupFeedName", "campaignFeedId", "pause", "status", "bid", "addtime", "modtime"},
		others: []string{"ocpc"},
		above:  feedCampaigns, idType: 1, most: 100,
	}
	feedCreatives = &objects{
		endpoint: feedPath + "CreativeFeedService/getCreativeFeed", choice: "creativeFeedFields", key: "creativeFeedId",
		fields: []string{"creativeFeedName", "adgroupFeedId", "pause", "status", "addtime"},
		others: []string{"materialstyle", "material"}, assets: shownAssets,
		above: feedCampaigns, idType: 1, most: 100,
	}
)

// page reads the whole list. It has no total: see media.ByRepeat.
func (l *objects) page(ctx context.Context, api media.API, columns wire.Columns) (media.Page, error) {
	requested := []string{l.key}
	for _, field := range slices.Concat(l.fields, l.others) {
		if field != "" {
			requested = append(requested, field)
		}
	}
	rows, lost, err := l.all(ctx, api, requested)
	if err != nil {
		return media.Page{}, err
	}
	page := media.Page{Proof: media.ByRepeat, Rows: lost}
	for _, raw := range rows {
		page.Rows = append(page.Rows, media.OpenRow(raw, func(r *wire.Row) media.Row { return l.read(r, columns) }))
	}
	return page, nil
}

// all returns the rows of all objects with some fields, and what is lost because an id above them cannot be used.
func (l *objects) all(ctx context.Context, api media.API, fields []string) (rows wire.List, lost []media.Row,
	err error) {
	if l.above == nil {
		payload, err := ask(ctx, api, l.endpoint, map[string]any{l.choice: fields})
		if err != nil {
			return nil, nil, err
		}
		return rowsOf(l.endpoint, payload)
	}
	parents, lost, err := l.above.all(ctx, api, []string{l.above.key})
	if err != nil {
		return nil, nil, err
	}
	var ids []json.Number
	for _, raw := range parents {
		row := media.OpenRow(raw, func(r *wire.Row) media.Row { return media.Row{Object: r.KeyNumber(l.above.key)} })
		if row.Lost {
			lost = append(lost, row)
		} else if !slices.Contains(ids, json.Number(row.Object)) {
			ids = append(ids, json.Number(row.Object))
		}
	}
	for some := range slices.Chunk(ids, l.most) {
		payload, err := ask(ctx, api, l.endpoint, map[string]any{l.choice: fields, "ids": some, "idType": l.idType})
		if err != nil {
			return nil, nil, err
		}
		more, failed, err := rowsOf(l.endpoint, payload)
		if err != nil {
			return nil, nil, err
		}
		rows, lost = append(rows, more...), append(lost, failed...)
	}
	return rows, lost, nil
}

func (l *objects) read(r *wire.Row, columns wire.Columns) media.Row {
	row := media.Row{Object: r.KeyNumber(l.key), Name: wire.Cut(r.Text(l.fields[0])),
		Raw: readColumns(r, columns, l.fields)}
	if l.assets != nil {
		row.Assets, row.MoreAssets = l.assets(r)
	}
	return row
}

// readColumns returns the values of columns from the fields of the same places.
func readColumns(r *wire.Row, columns wire.Columns, fields []string) []any {
	raw := make([]any, len(columns))
	for i, c := range columns {
		if fields[i] != "" {
			raw[i] = c.Read(r, fields[i])
		}
	}
	return raw
}
