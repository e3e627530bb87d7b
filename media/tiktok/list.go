package tiktok

import (
	"context"
	"net/url"
	"strings"

	"adsync/base/rawtable"
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
			Table: rawtable.Table{Name: Name + "_" + name, Shape: rawtable.Objects, Columns: o.fields.Table()}}
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

// The columns of lists.
var (
	text, exact, id = wire.TextColumn, wire.ExactColumn, wire.IDColumn
	number, length  = wire.CountColumn, wire.LengthColumn
	money, moment   = wire.MoneyColumn(wire.Major), wire.TimeColumn(readTime)
)

// objects is a list of one level.
type objects struct {
	endpoint, key, named, parent string
	textKey                      bool // the id may be any text
	size                         int
	all                          bool // deleted objects are listed if they are requested
	unlogged                     []string
	fields                       wire.Columns
	assets                       func(r *wire.Row) (uses []rawtable.AssetUse, more bool)
}

// changes are the fields that each change of an object changes.
var changes = []string{"modify_time"}

var (
	campaigns = objects{
		endpoint: "campaign/get/", key: "campaign_id", named: "campaign_name", size: listPage, all: true, unlogged: changes,
		fields: wire.Columns{
			text("campaign_name"), text("objective_type"), text("app_promotion_type"), money("budget"),
			text("budget_mode"), text("operation_status"), text("secondary_status"), moment("create_time"),
			moment("modify_time"),
		},
	}
	adGroups = objects{
		endpoint: "adgroup/get/", key: "adgroup_id", named: "adgroup_name", parent: "campaign_id", size: listPage,
		all: true, unlogged: changes,
		fields: wire.Columns{
			text("adgroup_name"), id("campaign_id"), money("budget"), text("budget_mode"), text("bid_type"),
			money("bid_price"), money("conversion_bid_price"), text("optimization_goal"), text("billing_event"),
			id("app_id"), text("click_attribution_window"), text("view_attribution_window"),
			moment("schedule_start_time"), moment("schedule_end_time"), text("operation_status"),
			text("secondary_status"), moment("create_time"), moment("modify_time"),
		},
	}
	// Ads of Smart+ campaigns may have no modify_time.
	ads = objects{
		endpoint: "ad/get/", key: "ad_id", named: "ad_name", parent: "adgroup_id", size: listPage, all: true,
		unlogged: changes, assets: shownAssets,
		fields: wire.Columns{
			text("ad_name"), id("adgroup_id"), id("campaign_id"), text("ad_format"), text("video_id"),
			text("operation_status"), text("secondary_status"), moment("create_time"), moment("modify_time"),
		},
	}
	// Addresses of files are unlogged: they change with each call.
	videos = objects{
		endpoint: "file/video/ad/search/", key: "video_id", named: "file_name", textKey: true, size: filePage,
		unlogged: []string{"modify_time", "preview_url", "preview_url_expire_time", "video_cover_url"},
		fields:   append(wire.Columns{length("duration")}, fileFields...),
	}
	images = objects{
		endpoint: "file/image/ad/search/", key: "image_id", named: "file_name", textKey: true, size: filePage,
		unlogged: []string{"modify_time", "image_url"}, fields: fileFields,
	}
)

var fileFields = wire.Columns{
	text("file_name"), id("material_id"), exact("signature"), text("format"), number("width"),
	number("height"), number("size"), moment("create_time"), moment("modify_time"),
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
		Raw: o.fields.Read(r), Name: wire.Cut(r.Text(o.named)), Modified: r.Time("modify_time", readTime),
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
	return row
}
