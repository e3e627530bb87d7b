package tencent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
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

// assetFields are those that name an asset, wherever in a creative's components they stand. A video's cover is an image.
var assetFields = map[string]string{"image_id": store.AssetImage, "cover_id": store.AssetImage, "video_id": store.AssetVideo}

// shown finds the images and videos among a creative's components; nil when it was not told of any component.
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
			for field, v := range value {
				kind, isAsset := assetFields[field]
				if !isAsset {
					walk(v)
					continue
				}
				id := fmt.Sprint(v) // a text or a json.Number
				if id != "" && id != "0" && v != nil {
					found[store.AssetUse{Kind: kind, ID: id}] = true
				}
			}
		}
	}
	walk(components)
	return append([]store.AssetUse{}, slices.SortedFunc(maps.Keys(found), compareUses)...)
}

func compareUses(a, b store.AssetUse) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
}
