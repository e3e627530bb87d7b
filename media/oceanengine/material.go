package oceanengine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

// The platform has no creatives of their own in generation v3.0: a promotion has lists of materials, and reports are by
// promotion and material. A material may be in many promotions. So what the tables call a creative is a material in a
// promotion, and its id is "<promotion_id>:<material_id>": figures add up to the promotion's, and a material's over all
// promotions are those of the ids that end in it.
//
// Of the lists only videos and images are read: titles and links have figures of the same impressions again.
func creativeID(promotion, material wire.ID) string {
	return string(promotion) + ":" + string(material)
}

var materialTable = store.RawTable{Name: "oceanengine_promotion_material", Shape: store.Objects, Columns: []store.RawColumn{
	{Name: "promotion_id", Kind: store.Text}, // a text, as ids are in the other tables
	{Name: "material_id", Kind: store.Text},
	{Name: "material_kind", Kind: store.Text}, // video or image
	{Name: "material_status", Kind: store.Text},
}}

// materials reads the promotions' materials. A promotion's list shows what it holds now: what was taken out of it is
// deleted when a full pull no longer finds it. Whether its time of modification moves with its materials is not told, so that
// a pull of changes may miss what the nightly full one finds.
var materials = promotionList{
	fields: []string{"promotion_id", "status_first", "promotion_modify_time", "promotion_materials"},
	rows:   readMaterials,
	finish: nameMaterials,
}

// readMaterials reads the videos, and the images of each item: an item of image_material_list is some images of one kind, and what is
// told of a material, its id among it, stands with each image (document 1741028841006095).
func readMaterials(raw json.RawMessage) (rows []media.Row, promotion string, err error) {
	var p struct {
		PromotionID wire.ID `json:"promotion_id"`
		StatusFirst string  `json:"status_first"`
		ModifyTime  string  `json:"promotion_modify_time"`
		Materials   struct {
			Videos []json.RawMessage `json:"video_material_list"`
			Images []struct {
				ImageMode string            `json:"image_mode"`
				Images    []json.RawMessage `json:"images"`
			} `json:"image_material_list"`
		} `json:"promotion_materials"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, "", err
	}
	if p.PromotionID == "" {
		return nil, "", errNoID
	}
	modified, err := readTime(p.ModifyTime)
	if err != nil {
		return nil, "", err
	}
	add := func(kind, mode string, raw json.RawMessage) error {
		row, err := readMaterial(p.PromotionID, kind, mode, raw)
		row.Modified, row.Deleted = modified, p.StatusFirst == statusDeleted
		rows = append(rows, row)
		return err
	}
	for _, raw := range p.Materials.Videos {
		if err := add(store.AssetVideo, "", raw); err != nil {
			return nil, "", err
		}
	}
	for _, item := range p.Materials.Images {
		for _, raw := range item.Images {
			if err := add(store.AssetImage, item.ImageMode, raw); err != nil {
				return nil, "", err
			}
		}
	}
	return rows, string(p.PromotionID), nil
}

// readMaterial reads a video, or an image of an item of a mode. Its object is "" if the platform does not say its id: of videos it is
// absent or 0 at times.
func readMaterial(promotion wire.ID, kind, mode string, raw json.RawMessage) (media.Row, error) {
	var m struct {
		MaterialID wire.ID     `json:"material_id"`
		Status     string      `json:"material_status"`
		VideoID    wire.TextID `json:"video_id"`
		CoverID    wire.TextID `json:"video_cover_id"`
		ImageID    wire.TextID `json:"image_id"`
	}
	var whole map[string]any
	fields := json.NewDecoder(bytes.NewReader(raw))
	fields.UseNumber()
	if err := errors.Join(json.Unmarshal(raw, &m), fields.Decode(&whole)); err != nil {
		return media.Row{}, err
	}
	// The platform's row, with what it says by where it stands.
	whole["promotion_id"], whole["material_kind"] = string(promotion), kind
	if mode != "" {
		whole["image_mode"] = mode
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return media.Row{}, err
	}
	row := media.Row{
		Assets: []store.AssetUse{},
		Raw:    []any{wire.Text(string(promotion)), wire.Text(string(m.MaterialID)), kind, wire.Text(m.Status)},
		JSON:   text,
	}
	for _, use := range []store.AssetUse{
		{Kind: store.AssetVideo, ID: string(m.VideoID)}, {Kind: store.AssetImage, ID: string(m.CoverID)}, {Kind: store.AssetImage, ID: string(m.ImageID)},
	} {
		if use.ID != "" {
			row.Assets = append(row.Assets, use)
		}
	}
	if m.MaterialID != "" {
		row.Object = creativeID(promotion, m.MaterialID)
	}
	return row, nil
}

// nameMaterials finds the ids of the materials that the list does not say, and leaves each material of a promotion on the page once:
// nothing forbids that a promotion holds a material twice.
func nameMaterials(ctx context.Context, api media.API, page *media.Page) error {
	for _, l := range []fileList{videos, images} {
		var files []string
		for _, row := range page.Rows {
			if row.Object == "" && row.Raw[materialKind] == l.kind() && len(row.Assets) > 0 {
				files = append(files, row.Assets[0].ID)
			}
		}
		known, err := l.materialsOf(ctx, api, files)
		if err != nil {
			return err
		}
		for i := range page.Rows {
			row := &page.Rows[i]
			if row.Object != "" || row.Raw[materialKind] != l.kind() || len(row.Assets) == 0 {
				continue
			}
			if id := known[row.Assets[0].ID]; id != "" {
				row.Object, row.Raw[materialID] = fmt.Sprintf("%s:%s", row.Raw[materialPromotion], id), string(id)
			}
		}
	}
	seen := map[string]bool{}
	var unnamed bool
	page.Rows = slices.DeleteFunc(page.Rows, func(row media.Row) bool {
		again := seen[row.Object]
		seen[row.Object], unnamed = true, unnamed || row.Object == ""
		return again
	})
	if unnamed {
		return media.Broken(promotionsEndpoint, errNoID)
	}
	return nil
}

// The places of some of materialTable's columns.
const (
	materialPromotion = iota
	materialID
	materialKind
)
