package tiktok

import (
	"context"
	"net/url"
	"strings"
	"time"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

// The greatest sizes of a page. That of the lists of files is not documented: client libraries use up to 100.
const (
	listPage = 1000
	filePage = 100
)

// Lists implements media.Platform. No list selects changes: filters know the creation of an object only.
func (Platform) Lists() []media.List {
	list := func(name, level string, o objects) media.List {
		return media.List{Name: name, Level: level, Parent: o.parent, NoSince: true, Unlogged: o.unlogged, Page: o.page,
			Table: rawtable.Table{Name: Name + "_" + name, Shape: rawtable.Objects, Columns: o.columns()}}
	}
	shown := list("adgroup", "adgroup", adGroups)
	shown.Shown = rawtable.Shown{Column: "secondary_status", Value: "ADGROUP_STATUS_DELIVERY_OK"}
	creatives := list("ad", "creative", ads)
	creatives.MapsAssets = true
	return []media.List{
		list("campaign", "campaign", campaigns), shown, creatives,
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
	exact       // a text that must not be changed
	id          // of another object
	number      // a count
	money       // in the account's currency
	moment      // a time
	length      // in seconds, with decimals
)

// objects is a list of one level.
type objects struct {
	endpoint, key, named, parent string
	textKey                      bool // the id may be any text
	size                         int
	all                          bool // deleted objects are listed if they are requested
	unlogged                     []string
	fields                       []column
	assets                       func(r *wire.Row) (uses []rawtable.AssetUse, more bool)
}

// changes are the fields that each change of an object changes.
var changes = []string{"modify_time"}

var (
	campaigns = objects{
		endpoint: "campaign/get/", key: "campaign_id", named: "campaign_name", size: listPage, all: true, unlogged: changes,
		fields: []column{
			{"campaign_name", text}, {"objective_type", text}, {"app_promotion_type", text}, {"budget", money},
			{"budget_mode", text}, {"operation_status", text}, {"secondary_status", text}, {"create_time", moment},
			{"modify_time", moment},
		},
	}
	adGroups = objects{
		endpoint: "adgroup/get/", key: "adgroup_id", named: "adgroup_name", parent: "campaign_id", size: listPage,
		all: true, unlogged: changes,
		fields: []column{
			{"adgroup_name", text}, {"campaign_id", id}, {"budget", money}, {"budget_mode", text}, {"bid_type", text},
			{"bid_price", money}, {"conversion_bid_price", money}, {"optimization_goal", text}, {"billing_event", text},
			{"app_id", id}, {"click_attribution_window", text}, {"view_attribution_window", text},
			{"schedule_start_time", moment}, {"schedule_end_time", moment}, {"operation_status", text},
			{"secondary_status", text}, {"create_time", moment}, {"modify_time", moment},
		},
	}
	// Ads of Smart+ campaigns may have no modify_time.
	ads = objects{
		endpoint: "ad/get/", key: "ad_id", named: "ad_name", parent: "adgroup_id", size: listPage, all: true,
		unlogged: changes, assets: shownAssets,
		fields: []column{
			{"ad_name", text}, {"adgroup_id", id}, {"campaign_id", id}, {"ad_format", text}, {"video_id", text},
			{"operation_status", text}, {"secondary_status", text}, {"create_time", moment}, {"modify_time", moment},
		},
	}
	// Addresses of files are unlogged: they change with each call.
	videos = objects{
		endpoint: "file/video/ad/search/", key: "video_id", named: "file_name", textKey: true, size: filePage,
		unlogged: []string{"modify_time", "preview_url", "preview_url_expire_time", "video_cover_url"},
		fields:   append([]column{{"duration", length}}, fileFields...),
	}
	images = objects{
		endpoint: "file/image/ad/search/", key: "image_id", named: "file_name", textKey: true, size: filePage,
		unlogged: []string{"modify_time", "image_url"}, fields: fileFields,
	}
)

var fileFields = []column{
	{"file_name", text}, {"material_id", id}, {"signature", exact}, {"format", text}, {"width", number},
	{"height", number}, {"size", number}, {"create_time", moment}, {"modify_time", moment},
}

// shownAssets returns the video and the images of an ad. A video's cover is one of the images.
func shownAssets(r *wire.Row) (uses []rawtable.AssetUse, more bool) {
	before := len(r.Faults())
	if video := r.TextID("video_id"); video != "" {
		uses = append(uses, rawtable.AssetUse{Kind: rawtable.AssetVideo, ID: string(video)})
	}
	seen := map[wire.TextID]bool{}
	for _, raw := range r.List("image_ids") {
		var image wire.TextID
		if err := image.UnmarshalJSON(raw); err != nil {
			r.Add([]wire.Fault{{Field: "image_ids", Kind: wire.AttributeFault, Why: err.Error()}})
		}
		if image != "" && !seen[image] {
			seen[image] = true
			uses = append(uses, rawtable.AssetUse{Kind: rawtable.AssetImage, ID: string(image)})
		}
	}
	return uses, len(r.Faults()) > before
}

func (o objects) columns() (columns []rawtable.Column) {
	for _, f := range o.fields {
		switch f.kind {
		case text, exact, id:
			columns = append(columns, rawtable.Column{Name: f.name, Kind: rawtable.Text})
		case number:
			columns = append(columns, rawtable.Column{Name: f.name, Kind: rawtable.Int})
		case money:
			columns = append(columns, wire.Major.Column(f.name))
		case moment:
			columns = append(columns, rawtable.Column{Name: f.name, Kind: rawtable.Instant})
		case length:
			columns = append(columns, rawtable.Column{Name: f.name + "_ms", Kind: rawtable.Int})
		}
	}
	return columns
}

// page fetches a page of the list. Lists have no order that could be requested.
func (o objects) page(ctx context.Context, api media.API, _ media.ListQuery, page string) (media.Page, error) {
	query := url.Values{"advertiser_id": {api.Account().ExternalID}}
	if o.all {
		query.Set("filtering", asJSON(map[string]string{"primary_status": statusAll}))
	}
	return media.Numbered{Endpoint: o.endpoint, Size: o.size}.Page(ctx, api, page, query, media.EachRow(o.read))
}

func (o objects) read(r *wire.Row) media.Row {
	row := media.Row{
		Name: wire.Cut(r.Text(o.named)), Modified: r.Time("modify_time", readTime),
		Deleted: o.all && strings.HasSuffix(r.Text("secondary_status"), "_STATUS_DELETE"),
	}
	if o.textKey {
		row.Object = r.TextKey(o.key)
	} else {
		row.Object = r.KeyNumber(o.key)
	}
	if o.assets != nil {
		row.Assets, row.MoreAssets = o.assets(r)
	}
	for _, f := range o.fields {
		row.Raw = append(row.Raw, o.value(r, f))
	}
	return row
}

func (o objects) value(r *wire.Row, f column) any {
	switch f.kind {
	case exact:
		return wire.Text(r.Exact(f.name))
	case id:
		return wire.Text(string(r.TextID(f.name)))
	case number:
		return r.Int(f.name).Column()
	case money:
		return r.Money(f.name, wire.Major)
	case moment:
		return instant(r.Time(f.name, readTime))
	case length:
		return r.Scaled(f.name, 3)
	case text:
	}
	return wire.Text(r.Text(f.name))
}

// instant returns a time for a column.
func instant(t time.Time) sqldb.Time { return sqldb.At(t) }
