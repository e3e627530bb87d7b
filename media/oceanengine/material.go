package oceanengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

// Generation v3.0 of the platform has no creatives: a promotion has lists of materials, and reports are by promotion
// and material. A material may be in many promotions. So a creative in the tables is a material in a promotion, and
// its id is "<promotion_id>:<material_id>". Its figures add up to the promotion's, and a material's figures over all
// promotions are those of the ids that end in the material's id. Only the lists of videos and images are read: titles
// and links repeat the figures of the same impressions.
func creativeID(promotion string, material wire.ID) string {
	return promotion + ":" + string(material)
}

var materialTable = rawtable.Table{Name: "oceanengine_promotion_material", Shape: rawtable.Objects,
	Columns: []rawtable.Column{
		{Name: "promotion_id", Kind: rawtable.Text}, // a text, like ids in the other tables
		{Name: "material_id", Kind: rawtable.Text},
		{Name: "material_kind", Kind: rawtable.Text}, // video or image
		{Name: "material_status", Kind: rawtable.Text},
	}}

// materials reads the promotions' materials. A promotion's list has its current materials: a removed material is
// marked deleted when a full pull no longer finds it. The platform does not document whether a promotion's time of
// modification changes with its materials. So a pull of changes may miss what the nightly full pull finds.
var materials = promotionList{
	fields: []string{"promotion_id", "status_first", "promotion_modify_time", "promotion_materials"},
	add:    readMaterials,
	finish: nameMaterials,
}

// readMaterials reads the videos, and the images of each item: an item of image_material_list is some images of one
// kind, and the fields of a material, such as its id, are in each image (document 1741028841006095).
func readMaterials(page *media.Page, raw json.RawMessage) {
	p := wire.Open(raw)
	promotion := p.Key("promotion_id")
	page.Counted = append(page.Counted, promotion)
	modified, deleted := p.Time("promotion_modify_time", readTime), p.Text("status_first") == statusDeleted
	unreadable := false
	within := func(of *wire.Row, field string) []json.RawMessage {
		before := len(of.Faults())
		rows := of.List(field)
		unreadable = unreadable || len(of.Faults()) > before
		return rows
	}
	before := len(p.Faults())
	lists := p.In("promotion_materials")
	unreadable = len(p.Faults()) > before
	held := []heldMaterials{{kind: rawtable.AssetVideo, rows: within(lists, "video_material_list")}}
	for _, raw := range within(lists, "image_material_list") {
		item := wire.Open(raw)
		unreadable = unreadable || item.Lost()
		held = append(held, heldMaterials{kind: rawtable.AssetImage, mode: item.Text("image_mode"),
			rows: within(item, "images")})
		p.Add(item.Faults())
	}
	if unreadable {
		// Unreadable materials must not be treated as deleted.
		p.Lose("promotion_materials", errors.New("cannot be read"))
	}
	page.Faults = append(page.Faults, p.Faults()...)
	if p.Lost() {
		return
	}
	for _, h := range held {
		for _, raw := range h.rows {
			row := media.OpenRow(raw, func(m *wire.Row) media.Row { return readMaterial(m, promotion, h.kind, h.mode) })
			row.Modified, row.Deleted = modified, deleted
			page.Rows = append(page.Rows, row)
		}
	}
}

// heldMaterials holds a promotion's materials of one kind and, for images, one mode.
type heldMaterials struct {
	kind, mode string
	rows       []json.RawMessage
}

// readMaterial reads a video, or an image of an item of a mode. Its object is "" without an id: a video's id is
// sometimes absent or 0.
func readMaterial(m *wire.Row, promotion, kind, mode string) media.Row {
	material := m.ID("material_id")
	row := media.Row{
		Assets: []rawtable.AssetUse{},
		Raw:    []any{wire.Text(promotion), wire.Text(string(material)), kind, wire.Text(m.Text("material_status"))},
		JSON:   placed(m, map[string]string{"promotion_id": promotion, "material_kind": kind, "image_mode": mode}),
	}
	before := len(m.Faults())
	for _, use := range []rawtable.AssetUse{
		{Kind: rawtable.AssetVideo, ID: string(m.TextID("video_id"))},
		{Kind: rawtable.AssetImage, ID: string(m.TextID("video_cover_id"))},
		{Kind: rawtable.AssetImage, ID: string(m.TextID("image_id"))},
	} {
		if use.ID != "" {
			row.Assets = append(row.Assets, use)
		}
	}
	row.MoreAssets = len(m.Faults()) > before
	if material != "" {
		row.Object = creativeID(promotion, material)
	}
	return row
}

// placed returns the platform's row with fields added for its place in the answer.
func placed(m *wire.Row, where map[string]string) json.RawMessage {
	whole := maps.Clone(m.Fields())
	if whole == nil {
		return nil
	}
	for field, text := range where {
		if text != "" {
			whole[field] = json.RawMessage(asJSON(text))
		}
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return nil // The row has been read already.
	}
	return text
}

// nameMaterials looks up the ids that are missing in the list, and removes repeated materials from the page: a
// promotion may have a material twice.
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
	page.Rows = slices.DeleteFunc(page.Rows, func(row media.Row) bool {
		again := row.Object != "" && seen[row.Object]
		seen[row.Object] = true
		return again
	})
	for i := range page.Rows {
		if row := &page.Rows[i]; row.Object == "" && !row.Lost {
			row.Lost = true
			row.Faults = append(row.Faults, wire.Fault{Field: "material_id", Kind: wire.KeyFault,
				Why: "is not set, and the library does not know the file"})
		}
	}
	return nil
}

// The indexes of some of materialTable's columns.
const (
	materialPromotion = iota
	materialID
	materialKind
)
