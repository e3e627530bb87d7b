package kuaishou

import (
	"context"
	"encoding/json"
	"strconv"

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
			Table: rawtable.Table{Name: Name + "_" + name, Shape: rawtable.Objects, Columns: l.columns()},
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

// column is a typed column of a list's raw table: the field of its name.
type column struct {
	name string
	kind kind
}

type kind int

const (
	text   kind = iota
	id          // of another object: kept as text
	code        // a number that stands for something, 0 too: kept as text
	number      // a count
	li          // money
	moment      // a time
	millis      // a time in Unix milliseconds
)

// objects is a list of one level.
type objects struct {
	// key is the field of the id, modified that of the last change, and named that of the name; "" where there is none.
	endpoint, key, named, parent, modified string

	id     func(r *wire.Row, key string) string // reads the id
	fields []column
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
		fields: []column{
			{"campaign_name", text}, {"campaign_type", code}, {"campaign_sub_type", code}, {"ad_type", code},
			{"put_status", code}, {"status", code}, {"day_budget", li}, {"bid_type", code}, {"constraint_cpa", li},
			{"cap_bid", li}, {"create_time", moment}, {"update_time", moment},
		},
	}
	// See document 2572.
	units = objects{
		endpoint: "gw/dsp/unit/list", key: "unit_id", id: (*wire.Row).KeyNumber,
		named: "unit_name", parent: "campaign_id", size: listPage,
		filter: map[string]any{"status": -2}, since: "start_date", until: "end_date", deleted: putDeleted,
		modified: "update_time", unlogged: changes,
		fields: []column{
			{"unit_name", text}, {"campaign_id", id}, {"unit_type", code}, {"bid_type", code}, {"bid", li}, {"cpa_bid", li},
			{"ocpx_action_type", code}, {"deep_conversion_type", code}, {"deep_conversion_bid", li}, {"day_budget", li},
			{"put_status", code}, {"status", code}, {"study_status", code}, {"create_time", moment}, {"update_time", moment},
		},
	}
	// See document 2582.
	creatives = objects{
		endpoint: "gw/dsp/creative/list", key: "creative_id", id: (*wire.Row).KeyNumber,
		named: "creative_name", parent: "unit_id", size: listPage,
		filter: map[string]any{"status": -2}, since: "start_date", until: "end_date", deleted: putDeleted,
		modified: "update_time", unlogged: changes,
		assets: shownAssets,
		fields: []column{
			{"creative_name", text}, {"unit_id", id}, {"campaign_id", id}, {"creative_material_type", code}, {"photo_id", id},
			{"image_token", text}, {"put_status", code}, {"status", code}, {"review_detail", text}, {"create_time", moment},
			{"update_time", moment},
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

func (l objects) columns() (columns []rawtable.Column) {
	for _, f := range l.fields {
		switch f.kind {
		case number:
			columns = append(columns, rawtable.Column{Name: f.name, Kind: rawtable.Int})
		case li:
			columns = append(columns, wire.Li.Column(f.name))
		case moment, millis:
			columns = append(columns, rawtable.Column{Name: f.name, Kind: rawtable.Instant})
		case text, id, code:
			columns = append(columns, rawtable.Column{Name: f.name, Kind: rawtable.Text})
		}
	}
	return columns
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
	row := media.Row{Object: l.id(r, l.key)}
	if l.named != "" {
		row.Name = wire.Cut(r.Text(l.named))
	}
	if l.deleted != nil {
		row.Deleted = l.deleted(r)
	}
	if l.assets != nil {
		row.Assets, row.MoreAssets = l.assets(r)
	}
	for _, f := range l.fields {
		value := f.value(r, f.name)
		row.Raw = append(row.Raw, value)
		if at, ok := value.(sqldb.Time); ok && f.name == l.modified {
			row.Modified = at.Time
		}
	}
	return row
}

// value returns the column's value from a field of a row.
func (c column) value(r *wire.Row, field string) any {
	switch c.kind {
	case id:
		return wire.Text(string(r.TextID(field)))
	case code:
		if n := r.Int(field); n.Set {
			return strconv.FormatInt(n.Value, 10)
		}
		return nil
	case number:
		return r.Int(field).Column()
	case li:
		return r.Money(field, wire.Li)
	case moment:
		return sqldb.At(r.Time(field, readTime))
	case millis:
		return sqldb.At(r.UnixMilli(field))
	default:
		return wire.Text(r.Text(field))
	}
}
