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

func readCreative(raw json.RawMessage) (media.Row, error) {
	var c struct {
		ID               wire.ID  `json:"dynamic_creative_id"`
		Name             string   `json:"dynamic_creative_name"`
		AdgroupID        wire.ID  `json:"adgroup_id"`
		ConfiguredStatus string   `json:"configured_status"`
		ApprovalStatus   string   `json:"creative_set_approval_status"`
		CreatedTime      wire.Int `json:"created_time"`
		LastModifiedTime wire.Int `json:"last_modified_time"`
		IsDeleted        bool     `json:"is_deleted"`
		// What a component holds differs by its kind, and grows.
		Components any `json:"creative_components"`
	}
	// Ids among the components keep all their digits.
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&c); err != nil {
		return media.Row{}, err
	}
	if c.ID == "" {
		return media.Row{}, errNoID
	}
	modified := c.LastModifiedTime.Unix()
	return media.Row{
		Object: string(c.ID), Name: wire.Cut(c.Name), Modified: modified, Deleted: c.IsDeleted,
		Raw: []any{
			wire.Text(c.Name), wire.Text(string(c.AdgroupID)), wire.Text(c.ConfiguredStatus), wire.Text(c.ApprovalStatus),
			store.At(c.CreatedTime.Unix()), store.At(modified),
		},
		JSON: raw, Assets: shown(c.Components),
	}, nil
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
func shown(components any) []store.AssetUse {
	if components == nil {
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
				id := assetID(v)
				switch kind, isAsset := assetFields[field]; {
				case !isAsset, id == "":
					walk(v)
				case id != "0":
					found[store.AssetUse{Kind: kind, ID: id}] = true
				}
			}
		}
	}
	walk(components)
	return append([]store.AssetUse{}, slices.SortedFunc(maps.Keys(found), compareUses)...)
}

// assetID returns an id that is a text or, as no document has it, a number; "" for anything else.
func assetID(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

func compareUses(a, b store.AssetUse) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
}
