package bilibili

import (
	"context"
	"encoding/json"
	"slices"

	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

// The statuses of objects are those of the platform's older lists (1 valid, 2 paused, 4 deleted). For this API they are
// not documented.
const (
	statusShown   = "1"
	statusDeleted = 4
)

// Lists implements media.Platform. No list can select changes. The status ALL selects the objects of all statuses
// (STACK); that deleted ones are among them is not documented.
func (Platform) Lists() []media.List {
	list := func(name, level string, o objects) media.List {
		return media.List{
			Name: name, Level: level, Parent: o.parent, NoSince: true, Unlogged: []string{"mtime"}, Page: o.page,
			Table: rawtable.Table{Name: Name + "_" + name, Shape: rawtable.Objects, Columns: o.fields.Table()},
		}
	}
	shown := list("unit", "adgroup", units)
	shown.Shown = rawtable.Shown{Column: "status", Value: statusShown}
	shows := list("creative", "creative", creatives)
	shows.MapsAssets = true
	return []media.List{
		list("campaign", "campaign", campaigns), shown, shows,
		list("image", rawtable.AssetImage, files("image")), list("video", rawtable.AssetVideo, files("video", "duration")),
	}
}

// The columns of lists. Ids are codes too.
var (
	text, exact, id, number = wire.TextColumn, wire.ExactColumn, wire.IDColumn, wire.CountColumn
	yuan, moment            = wire.MoneyColumn(wire.Yuan), wire.TimeColumn(readTime)
)

// objects is a list of one level.
type objects struct {
	endpoint, key, named, parent string
	status                       string // the statuses that are requested; "" for a list without statuses
	fields                       wire.Columns
	assets                       func(r *wire.Row) ([]rawtable.AssetUse, bool)
}

// all selects the objects of all statuses (STACK).
const all = "ALL"

// The lists of STACK, which has the ids, campaign_name and status. Bids and budgets are as in its calls that save a
// unit. All other fields are not documented.
var (
	campaigns = objects{
		endpoint: "cpc/v3/campaign/list_campaigns", key: "campaign_id", named: "campaign_name", status: all,
		fields: wire.Columns{
			text("campaign_name"), id("status"), id("budget_limit_type"),
			yuan("budget"), id("support_auto"), moment("ctime"),
			moment("mtime"),
		},
	}
	units = objects{
		endpoint: "cpc/v3/unit/list_units", key: "unit_id", named: "unit_name", parent: "campaign_id", status: all,
		fields: wire.Columns{
			text("unit_name"), id("campaign_id"), id("status"),
			id("budget_limit_type"), yuan("budget"), yuan("bid"),
			moment("ctime"), moment("mtime"),
		},
	}
	creatives = objects{
		endpoint: "cpc/v3/creative/list_creatives", key: "creative_id", named: "creative_name", parent: "unit_id",
		status: all, assets: shownAssets,
		fields: wire.Columns{
			text("creative_name"), id("unit_id"), id("campaign_id"),
			id("status"), id("video_id"), moment("ctime"),
			moment("mtime"),
		},
	}
)

// files returns the list of images or videos. GUIDE names the lists of material; their paths and fields are not
// documented.
func files(of string, more ...string) objects {
	list := objects{
		endpoint: "cpc/v3/material/list_" + of + "s", key: of + "_id", named: "name",
		fields: wire.Columns{
			text("name"), exact("signature").Of("md5"), number("width"),
			number("height"), number("size"), moment("ctime"),
		},
	}
	for _, field := range more {
		list.fields = append(list.fields, number(field))
	}
	return list
}

func (o objects) page(ctx context.Context, api media.API, _ media.ListQuery, page string) (media.Page, error) {
	body := of(api, nil)
	if o.status != "" {
		body["status"] = o.status
	}
	return rowsOf(o.endpoint).PostPage(ctx, api, page, body, media.EachRow(o.read))
}

func (o objects) read(r *wire.Row) media.Row {
	row := media.Row{Object: r.KeyNumber(o.key), Name: wire.Cut(r.Text(o.named)), Modified: r.Time("mtime", readTime),
		Raw: o.fields.Read(r)}
	if o.status != "" {
		status := r.Int("status")
		row.Deleted = status.Set && status.Value == statusDeleted
	}
	if o.assets != nil {
		row.Assets, row.MoreAssets = o.assets(r)
	}
	return row
}

// shownAssets returns the video and the images of a creative; nil if the row has neither field.
func shownAssets(r *wire.Row) (uses []rawtable.AssetUse, more bool) {
	before := len(r.Faults())
	add := func(kind string, raw json.RawMessage) {
		var file wire.ID
		if err := file.UnmarshalJSON(raw); err != nil {
			r.Add([]wire.Fault{{Field: kind + " ids", Kind: wire.AttributeFault, Why: err.Error()}})
		}
		if use := (rawtable.AssetUse{Kind: kind, ID: string(file)}); file != "" && !slices.Contains(uses, use) {
			uses = append(uses, use)
		}
	}
	if video, ok := r.Fields()["video_id"]; ok {
		uses = []rawtable.AssetUse{}
		add(rawtable.AssetVideo, video)
	}
	images := r.List("image_ids")
	if images != nil && uses == nil {
		uses = []rawtable.AssetUse{}
	}
	for _, image := range images {
		add(rawtable.AssetImage, image)
	}
	return uses, len(r.Faults()) > before
}
