package bilibili

import (
	"context"
	"encoding/json"
	"slices"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
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
			Table: rawtable.Table{Name: Name + "_" + name, Shape: rawtable.Objects, Columns: o.columns()},
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

// column is a typed column of a list's raw table.
type column struct {
	field string
	kind  kind
	name  string // of the column; "" if it is the field's
}

type kind int

const (
	text   kind = iota
	exact       // a text that must not be changed
	id          // of another object, or a code: kept as text
	number      // a count
	yuan        // money
	moment      // a time
)

// objects is a list of one level.
type objects struct {
	endpoint, key, named, parent string
	status                       string // the statuses that are requested; "" for a list without statuses
	fields                       []column
	assets                       func(r *wire.Row) ([]rawtable.AssetUse, bool)
}

// all selects the objects of all statuses (STACK).
const all = "ALL"

// The lists of STACK, which has the ids, campaign_name and status. Bids and budgets are as in its calls that save a
// unit. All other fields are not documented.
var (
	campaigns = objects{
		endpoint: "cpc/v3/campaign/list_campaigns", key: "campaign_id", named: "campaign_name", status: all,
		fields: []column{
			{field: "campaign_name"}, {field: "status", kind: id}, {field: "budget_limit_type", kind: id},
			{field: "budget", kind: yuan}, {field: "support_auto", kind: id}, {field: "ctime", kind: moment},
			{field: "mtime", kind: moment},
		},
	}
	units = objects{
		endpoint: "cpc/v3/unit/list_units", key: "unit_id", named: "unit_name", parent: "campaign_id", status: all,
		fields: []column{
			{field: "unit_name"}, {field: "campaign_id", kind: id}, {field: "status", kind: id},
			{field: "budget_limit_type", kind: id}, {field: "budget", kind: yuan}, {field: "bid", kind: yuan},
			{field: "ctime", kind: moment}, {field: "mtime", kind: moment},
		},
	}
	creatives = objects{
		endpoint: "cpc/v3/creative/list_creatives", key: "creative_id", named: "creative_name", parent: "unit_id",
		status: all, assets: shownAssets,
		fields: []column{
			{field: "creative_name"}, {field: "unit_id", kind: id}, {field: "campaign_id", kind: id},
			{field: "status", kind: id}, {field: "video_id", kind: id}, {field: "ctime", kind: moment},
			{field: "mtime", kind: moment},
		},
	}
)

// files returns the list of images or videos. GUIDE names the lists of material; their paths and fields are not
// documented.
func files(of string, more ...string) objects {
	list := objects{
		endpoint: "cpc/v3/material/list_" + of + "s", key: of + "_id", named: "name",
		fields: []column{
			{field: "name"}, {field: "md5", kind: exact, name: "signature"}, {field: "width", kind: number},
			{field: "height", kind: number}, {field: "size", kind: number}, {field: "ctime", kind: moment},
		},
	}
	for _, field := range more {
		list.fields = append(list.fields, column{field: field, kind: number})
	}
	return list
}

// columns returns the columns of the list's raw table.
func (o objects) columns() (columns []rawtable.Column) {
	for _, f := range o.fields {
		c := rawtable.Column{Name: f.field}
		switch f.kind {
		case number:
			c.Kind = rawtable.Int
		case yuan:
			c = wire.Yuan.Column(f.field)
		case moment:
			c.Kind = rawtable.Instant
		case text, exact, id:
			c.Kind = rawtable.Text
		}
		if f.name != "" {
			c.Name = f.name
		}
		columns = append(columns, c)
	}
	return columns
}

func (o objects) page(ctx context.Context, api media.API, _ media.ListQuery, page string) (media.Page, error) {
	body := of(api, nil)
	if o.status != "" {
		body["status"] = o.status
	}
	return rowsOf(o.endpoint).PostPage(ctx, api, page, body, media.EachRow(o.read))
}

func (o objects) read(r *wire.Row) media.Row {
	row := media.Row{Object: r.KeyNumber(o.key), Name: wire.Cut(r.Text(o.named)), Modified: r.Time("mtime", readTime)}
	if o.status != "" {
		status := r.Int("status")
		row.Deleted = status.Set && status.Value == statusDeleted
	}
	if o.assets != nil {
		row.Assets, row.MoreAssets = o.assets(r)
	}
	for _, f := range o.fields {
		switch f.kind {
		case text:
			row.Raw = append(row.Raw, wire.Text(r.Text(f.field)))
		case exact:
			row.Raw = append(row.Raw, wire.Text(r.Exact(f.field)))
		case id:
			row.Raw = append(row.Raw, wire.Text(string(r.TextID(f.field))))
		case number:
			row.Raw = append(row.Raw, r.Int(f.field).Column())
		case yuan:
			row.Raw = append(row.Raw, r.Money(f.field, wire.Yuan))
		case moment:
			row.Raw = append(row.Raw, sqldb.At(r.Time(f.field, readTime)))
		}
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
