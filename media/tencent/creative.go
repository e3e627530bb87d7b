package tencent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

const creativesEndpoint = "dynamic_creatives/get"

var creativeTable = rawtable.Table{Name: "tencent_dynamic_creative", Shape: rawtable.Objects,
	Columns: []rawtable.Column{
		{Name: "dynamic_creative_name", Kind: rawtable.Text},
		{Name: "adgroup_id", Kind: rawtable.Text}, // a text, like ids in the other tables
		{Name: "configured_status", Kind: rawtable.Text},
		{Name: "creative_set_approval_status", Kind: rawtable.Text},
		{Name: "created_time", Kind: rawtable.Instant},
		{Name: "last_modified_time", Kind: rawtable.Instant},
	}}

var creatives = cursorList{endpoint: creativesEndpoint, read: readCreative, fields: []string{
	"dynamic_creative_id", "dynamic_creative_name", "adgroup_id", "dynamic_creative_type", "creative_components",
	"configured_status",
	"creative_set_approval_status", "created_time", "last_modified_time", "is_deleted",
}}

func readCreative(c *wire.Row) media.Row {
	name, modified := c.Text("dynamic_creative_name"), c.Unix("last_modified_time")
	assets, all := shown(c)
	return media.Row{
		Object: c.Key("dynamic_creative_id"), Name: wire.Cut(name), Modified: modified, Deleted: c.Bool("is_deleted"),
		Raw: []any{
			wire.Text(name), wire.Text(string(c.ID("adgroup_id"))), wire.Text(c.Text("configured_status")),
			wire.Text(c.Text("creative_set_approval_status")),
			sqldb.At(c.Unix("created_time")), sqldb.At(modified),
		},
		Assets: assets, MoreAssets: !all,
	}
}

// assetFields are the fields that hold the id of an asset, at any depth of a creative's components, by the page of
// dynamic_creatives/get. Ids are texts there. A value of such a field that is not an id, as the list "video", is
// searched. A video's cover is an image. The images of brands, gifts and cards are not shown as the creative and are
// left out, as is the file that an image was cut from (original_image_id).
var assetFields = map[string]string{
	"image_id": rawtable.AssetImage, "cover_id": rawtable.AssetImage,
	"image": rawtable.AssetImage, "image2": rawtable.AssetImage, // in element_story
	"video_id":     rawtable.AssetVideo,
	"short_video1": rawtable.AssetVideo, "short_video2": rawtable.AssetVideo, // in short_video
	"video": rawtable.AssetVideo, "video2": rawtable.AssetVideo, "video3": rawtable.AssetVideo, // in app_promotion_video
}

// shown returns the images and videos among a creative's components; nil when the row has no readable component. all
// is true if every id could be used. A component that the advertiser has removed stays in the list, marked as
// deleted.
func shown(c *wire.Row) (uses []rawtable.AssetUse, all bool) {
	// Ids in the components keep all their digits.
	decoder := json.NewDecoder(bytes.NewReader(c.Fields()["creative_components"]))
	decoder.UseNumber()
	var components any
	if decoder.Decode(&components) != nil || components == nil {
		return nil, true
	}
	switch value := components.(type) {
	case map[string]any, []any:
	case string:
		if !rawtable.IsNoValue(value) {
			unusable(c, "creative_components", "is a text")
		}
		return nil, true
	default:
		unusable(c, "creative_components", fmt.Sprintf("%.40q is neither an object nor a list", fmt.Sprint(value)))
		return nil, true
	}
	before := len(c.Faults())
	found := map[rawtable.AssetUse]bool{}
	findAssets(c, components, found)
	return append([]rawtable.AssetUse{}, slices.SortedFunc(maps.Keys(found), compareUses)...), len(c.Faults()) == before
}

// findAssets adds the images and videos in a value of a creative's components to found.
func findAssets(c *wire.Row, within any, found map[rawtable.AssetUse]bool) {
	switch within := within.(type) {
	case []any:
		for _, v := range within {
			findAssets(c, v, found)
		}
	case map[string]any:
		if isTrue(within["is_deleted"]) {
			return
		}
		for field, v := range within {
			kind, isAsset := assetFields[field]
			switch v.(type) {
			case []any, map[string]any:
				if strings.HasSuffix(field, "_id") && isAsset {
					unusable(c, "creative_components."+field, "is neither a number nor a text")
				}
				findAssets(c, v, found)
			default:
				if !isAsset {
					continue
				}
				if id := assetID(c, field, v); id != "" {
					found[rawtable.AssetUse{Kind: kind, ID: id}] = true
				}
			}
		}
	}
}

// isTrue reads a truth value, which may also be a number or a text.
func isTrue(value any) bool {
	text, err := json.Marshal(value)
	return err == nil && wire.Flag(text)
}

func unusable(c *wire.Row, field, why string) {
	c.Add([]wire.Fault{{Field: field, Kind: wire.AttributeFault, Why: why}})
}

// assetID returns the id of an asset; "" when it is not set or unusable.
func assetID(c *wire.Row, field string, value any) string {
	text, err := json.Marshal(value)
	var id wire.TextID
	if err = cmp.Or(err, id.UnmarshalJSON(text)); err != nil {
		unusable(c, "creative_components."+field, err.Error())
	}
	return string(id)
}

func compareUses(a, b rawtable.AssetUse) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
}
