package oceanengine

import (
	"bytes"
	"encoding/json"
	"errors"
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
}

func readMaterials(raw json.RawMessage) (rows []media.Row, promotion string, err error) {
	var p struct {
		PromotionID wire.ID `json:"promotion_id"`
		StatusFirst string  `json:"status_first"`
		ModifyTime  string  `json:"promotion_modify_time"`
		Materials   struct {
			Videos []json.RawMessage `json:"video_material_list"`
			Images []json.RawMessage `json:"image_material_list"`
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
	seen := map[string]bool{} // nothing forbids that a promotion holds a material twice
	for i, list := range [][]json.RawMessage{p.Materials.Videos, p.Materials.Images} {
		for _, raw := range list {
			row, err := readMaterial(p.PromotionID, [...]string{"video", "image"}[i], raw)
			if err != nil {
				return nil, "", err
			}
			if seen[row.Object] {
				continue
			}
			seen[row.Object] = true
			row.Modified, row.Deleted = modified, p.StatusFirst == statusDeleted
			rows = append(rows, row)
		}
	}
	return rows, string(p.PromotionID), nil
}

func readMaterial(promotion wire.ID, kind string, raw json.RawMessage) (media.Row, error) {
	var m struct {
		MaterialID wire.ID           `json:"material_id"`
		Status     string            `json:"material_status"`
		VideoID    wire.TextID       `json:"video_id"`
		CoverID    wire.TextID       `json:"video_cover_id"`
		Images     []json.RawMessage `json:"images"`
	}
	var whole map[string]any
	fields := json.NewDecoder(bytes.NewReader(raw))
	fields.UseNumber()
	if err := errors.Join(json.Unmarshal(raw, &m), fields.Decode(&whole)); err != nil {
		return media.Row{}, err
	}
	if m.MaterialID == "" {
		return media.Row{}, errNoID
	}
	// The platform's row, with what it says by where it stands.
	whole["promotion_id"], whole["material_kind"] = string(promotion), kind
	text, err := json.Marshal(whole)
	if err != nil {
		return media.Row{}, err
	}
	assets := []store.AssetUse{}
	add := func(kind string, id wire.TextID) {
		if use := (store.AssetUse{Kind: kind, ID: string(id)}); id != "" && !slices.Contains(assets, use) {
			assets = append(assets, use)
		}
	}
	add(store.AssetVideo, m.VideoID)
	add(store.AssetImage, m.CoverID)
	for _, raw := range m.Images {
		id, err := imageID(raw)
		if err != nil {
			return media.Row{}, err
		}
		add(store.AssetImage, id)
	}
	return media.Row{
		Assets: assets,
		Object: creativeID(promotion, m.MaterialID),
		Raw:    []any{wire.Text(string(promotion)), wire.Text(string(m.MaterialID)), kind, wire.Text(m.Status)},
		JSON:   text,
	}, nil
}

// imageID reads an image of a group, which is an id or an object that has one.
func imageID(raw json.RawMessage) (wire.TextID, error) {
	var id wire.TextID
	if json.Unmarshal(raw, &id) == nil {
		return id, nil
	}
	var image struct {
		ID wire.TextID `json:"image_id"`
	}
	err := json.Unmarshal(raw, &image)
	return image.ID, err
}
