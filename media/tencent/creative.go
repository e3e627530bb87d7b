package tencent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

const creativesEndpoint = "dynamic_creatives/get"

var creativeTable = store.RawTable{Name: "tencent_dynamic_creative", Shape: store.Objects, Columns: []store.RawColumn{
	{Name: "dynamic_creative_name", Kind: store.Text},
	{Name: "adgroup_id", Kind: store.Text}, // a text, as ids are in the other tables
	{Name: "configured_status", Kind: store.Text},
	{Name: "creative_set_approval_status", Kind: store.Text},
	{Name: "created_time", Kind: store.Instant},
	{Name: "last_modified_time", Kind: store.Instant},
}}

var creatives = cursorList{endpoint: creativesEndpoint, read: readCreative, fields: []string{
	"dynamic_creative_id", "dynamic_creative_name", "adgroup_id", "dynamic_creative_type", "creative_components", "configured_status",
	"creative_set_approval_status", "created_time", "last_modified_time", "is_deleted",
}}

func readCreative(c *wire.Row) media.Row {
	name, modified := c.Text("dynamic_creative_name"), c.Unix("last_modified_time")
	return media.Row{
		Object: c.Key("dynamic_creative_id"), Name: wire.Cut(name), Modified: modified, Deleted: c.Bool("is_deleted"),
		Raw: []any{
			wire.Text(name), wire.Text(string(c.ID("adgroup_id"))), wire.Text(c.Text("configured_status")), wire.Text(c.Text("creative_set_approval_status")),
			store.At(c.Unix("created_time")), store.At(modified),
		},
		Assets: shown(c),
	}
}

// assetFields are those that hold the id of an asset, wherever in a creative's components they stand, from the page of
// dynamic_creatives/get. Ids are texts there; what is no id under such a name, as the list "video", is looked into. A
// video's cover is an image. The images of brands, gifts and cards stand beside what is shown and are not among them,
// nor is the file that an image was cut from (original_image_id).
var assetFields = map[string]string{
	"image_id": store.AssetImage, "cover_id": store.AssetImage,
	"image": store.AssetImage, "image2": store.AssetImage, // of element_story
	"video_id":     store.AssetVideo,
	"short_video1": store.AssetVideo, "short_video2": store.AssetVideo, // of short_video
	"video": store.AssetVideo, "video2": store.AssetVideo, "video3": store.AssetVideo, // of app_promotion_video
}

// shown finds the images and videos among a creative's components; nil when it was not told of any component. A
// component that the advertiser has taken out stays in the list, as a deleted one.
func shown(c *wire.Row) []store.AssetUse {
	// Ids among the components keep all their digits.
	decoder := json.NewDecoder(bytes.NewReader(c.Fields()["creative_components"]))
	decoder.UseNumber()
	var components any
	if decoder.Decode(&components) != nil || components == nil {
		return nil
	}
	found := map[store.AssetUse]bool{}
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, v := range value {
				walk(v)
			}
		case map[string]any:
			if value["is_deleted"] == true {
				return
			}
			for field, v := range value {
				kind, isAsset := assetFields[field]
				switch v.(type) {
				case string, json.Number:
					if !isAsset {
						continue
					}
					if id := assetID(c, field, v); id != "" {
						found[store.AssetUse{Kind: kind, ID: id}] = true
					}
				default:
					walk(v)
				}
			}
		}
	}
	walk(components)
	return append([]store.AssetUse{}, slices.SortedFunc(maps.Keys(found), compareUses)...)
}

// assetID reads the id of an asset, a text or a json.Number; "" when it is not set or cannot be used.
func assetID(c *wire.Row, field string, value any) string {
	text, err := json.Marshal(value)
	var id wire.TextID
	if err = cmp.Or(err, id.UnmarshalJSON(text)); err != nil {
		c.Add([]wire.Fault{{Field: "creative_components." + field, Kind: wire.AttributeFault, Why: err.Error()}})
	}
	return string(id)
}

func compareUses(a, b store.AssetUse) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
}
