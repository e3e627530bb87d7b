package kuaishou

import (
	"context"
	"encoding/json"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

// listPage is how many rows a page of a list holds. The pages of the documents name no greatest size; client libraries
// use up to 200.
const listPage = 200

// putStatusDeleted is the put_status of a deleted object.
const putStatusDeleted = 3

// Lists implements media.Platform. One query has all objects of a level: status -2 includes deleted ones.
func (Platform) Lists() []media.List {
	list := func(name, level string, l objects) media.List {
		described := media.List{
			Name: name, Level: level, Parent: l.parent, Unlogged: l.unlogged, NoSince: l.since == "", Page: l.page,
			Table: rawtable.Table{Name: Name + "_" + name, Shape: rawtable.Objects, Columns: l.fields.Table()},
		}
		if l.since != "" {
			described.SinceZone = china
		}
		return described
	}
	unitsShown := list("unit", "adgroup", units)
	unitsShown.Shown = rawtable.Shown{Column: "status", Value: "20"} // valid
	shows := list("creative", "creative", creatives)
	shows.MapsAssets, shows.Variants, shows.Page = true, []string{custom, program}, creativePage
	return []media.List{
		list("campaign", "campaign", campaigns), unitsShown, shows,
		list("image", rawtable.AssetImage, images), list("video", rawtable.AssetVideo, videos),
	}
}

// The columns of lists: moments are times as texts, millis are in Unix milliseconds.
var (
	text, id, code, number = wire.TextColumn, wire.IDColumn, wire.CodeColumn, wire.CountColumn
	li                     = wire.MoneyColumn(wire.Li)
	moment, millis         = wire.TimeColumn(readTime), wire.MilliColumn
)

// objects is a list of one level.
type objects struct {
	// key is the field of the id, modified that of the last change, and named that of the name; "" where there is none.
	endpoint, key, named, parent, modified string

	id     func(r *wire.Row, key string) string // reads the id
	fields wire.Columns
	size   int
	filter map[string]any
	// since and until are the fields that select objects by the day of their last change; "" if there are none.
	since, until string
	unlogged     []string
	deleted      func(r *wire.Row) bool
	assets       func(r *wire.Row) ([]rawtable.AssetUse, bool)
}

// changes are the fields that each change of an object changes.
var changes = []string{"update_time"}

var (
	// See document 2568.
	campaigns = objects{
		endpoint: "gw/dsp/campaign/list", key: "campaign_id", id: (*wire.Row).KeyNumber,
		named: "campaign_name", size: listPage,
		filter: map[string]any{"status": -2}, since: "start_date", until: "end_date", deleted: putDeleted,
		modified: "update_time", unlogged: changes,
		fields: wire.Columns{
			text("campaign_name"), code("campaign_type"), code("campaign_sub_type"), code("ad_type"),
			code("put_status"), code("status"), li("day_budget"), code("bid_type"), li("constraint_cpa"),
			li("cap_bid"), moment("create_time"), moment("update_time"),
		},
	}
	// See document 2572.
	units = objects{
		endpoint: "gw/dsp/unit/list", key: "unit_id", id: (*wire.Row).KeyNumber,
		named: "unit_name", parent: "campaign_id", size: listPage,
		filter: map[string]any{"status": -2}, since: "start_date", until: "end_date", deleted: putDeleted,
		modified: "update_time", unlogged: changes,
		fields: wire.Columns{
			text("unit_name"), id("campaign_id"), code("unit_type"), code("bid_type"), li("bid"), li("cpa_bid"),
			code("ocpx_action_type"), code("deep_conversion_type"), li("deep_conversion_bid"), li("day_budget"),
			code("put_status"), code("status"), code("study_status"), moment("create_time"), moment("update_time"),
		},
	}
	// See document 2582.
	creatives = objects{
		endpoint: "gw/dsp/creative/list", key: "creative_id", id: (*wire.Row).KeyNumber,
		named: "creative_name", parent: "unit_id", size: listPage,
		filter: map[string]any{"status": -2}, since: "start_date", until: "end_date", deleted: putDeleted,
		modified: "update_time", unlogged: changes,
		assets: shownAssets,
		fields: wire.Columns{
			text("creative_name"), id("unit_id"), id("campaign_id"), code("creative_material_type"), id("photo_id"),
			text("image_token"), code("put_status"), code("status"), text("review_detail"), moment("create_time"),
			moment("update_time"),
		},
	}
)

func putDeleted(r *wire.Row) bool {
	status := r.Int("put_status")
	return status.Set && status.Value == putStatusDeleted
}

func shownAssets(r *wire.Row) (uses []rawtable.AssetUse, more bool) {
	before := len(r.Faults())
	if video := r.TextID("photo_id"); video != "" {
		uses = append(uses, rawtable.AssetUse{Kind: rawtable.AssetVideo, ID: string(video)})
	}
	if image := imageID(r, "image_token"); image != "" {
		uses = append(uses, rawtable.AssetUse{Kind: rawtable.AssetImage, ID: image})
	}
	return uses, len(r.Faults()) > before
}

func (l objects) page(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	return l.fetch(ctx, api, q, page, media.EachRow(l.read))
}

func (l objects) fetch(ctx context.Context, api media.API, q media.ListQuery, page string,
	add func(*media.Page, json.RawMessage)) (media.Page, error) {
	body := of(api, l.filter)
	if !q.Since.IsZero() && l.since != "" {
		body[l.since], body[l.until] = day.Of(q.Since, china).String(), day.Of(q.Until, china).String()
	}
	return rowsOf(l.endpoint, l.size).PostPage(ctx, api, page, body, add)
}

func (l objects) read(r *wire.Row) media.Row {
	row := media.Row{Object: l.id(r, l.key), Raw: l.fields.Read(r)}
	if l.named != "" {
		row.Name = wire.Cut(r.Text(l.named))
	}
	if l.deleted != nil {
		row.Deleted = l.deleted(r)
	}
	if l.assets != nil {
		row.Assets, row.MoreAssets = l.assets(r)
	}
	for i, f := range l.fields {
		if at, ok := row.Raw[i].(sqldb.Time); ok && f.Field == l.modified {
			row.Modified = at.Time
		}
	}
	return row
}
