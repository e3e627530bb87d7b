package tiktok

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// How many files a condition of the library names.
const (
	fileIDsMax        = 100
	videoMaterialsMax = 20
	imageMaterialsMax = 1000
)

// material returns a file's number in the library (material_id).
func material(kind world.AssetKind, number int64) int64 {
	return [...]int64{7_200_000_000_000_000_000, 7_300_000_000_000_000_000}[kind] + number*1_000_003
}

// assetID returns the video_id or image_id of a file, which is a text.
func assetID(kind world.AssetKind, number int64, key world.Key) string {
	format := [...]string{"ad-site-i18n-sg/%06x%016x", "v10033g5%06x%016x"}[kind]
	return fmt.Sprintf(format, number, uint64(key.Sub(20)))
}

// writeFileTime writes the time of a file, whose form differs from that of objects. A file without one has none.
func writeFileTime(w *platform.Writer, at int64) {
	if at == 0 {
		w.Text("")
		return
	}
	w.Text(time.Unix(at, 0).UTC().Format(time.RFC3339))
}

var fileFields = []platform.Field[*world.Asset]{
	field("material_id", func(w *platform.Writer, x *world.Asset) { w.Text(strconv.FormatInt(x.Material, 10)) }),
	field("file_name", func(w *platform.Writer, x *world.Asset) { w.Text(x.Name) }),
	field("signature", func(w *platform.Writer, x *world.Asset) { w.Text(x.Signature) }),
	field("width", func(w *platform.Writer, x *world.Asset) { w.Number(x.Width) }),
	field("height", func(w *platform.Writer, x *world.Asset) { w.Number(x.Height) }),
	field("size", func(w *platform.Writer, x *world.Asset) { w.Number(x.Size) }),
	fixed[*world.Asset]("displayable", "true"),
	field("create_time", func(w *platform.Writer, x *world.Asset) { writeFileTime(w, x.Created) }),
	field("modify_time", func(w *platform.Writer, x *world.Asset) { writeFileTime(w, x.Modified) }),
}

// videoFields has the length in seconds.
var videoFields = append([]platform.Field[*world.Asset]{
	field("video_id", func(w *platform.Writer, x *world.Asset) { w.Text(x.ID) }),
	field("duration", func(w *platform.Writer, x *world.Asset) { w.Float(float64(x.Milliseconds) / 1000) }),
	fixed[*world.Asset]("format", `"mp4"`), fixed[*world.Asset]("video_cover_url", `""`),
}, fileFields...)

var imageFields = append([]platform.Field[*world.Asset]{
	field("image_id", func(w *platform.Writer, x *world.Asset) { w.Text(x.ID) }),
	fixed[*world.Asset]("format", `"jpeg"`), fixed[*world.Asset]("image_url", `""`),
}, fileFields...)

// videos answers file/video/ad/search.
func (t *tiktok) videos(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	return t.files(c, a, p, world.AssetVideo, "video_ids", videoMaterialsMax, videoFields)
}

// images answers file/image/ad/search.
func (t *tiktok) images(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	return t.files(c, a, p, world.AssetImage, "image_ids", imageMaterialsMax, imageFields)
}

// files lists an account's files, the newest first.
func (t *tiktok) files(c *platform.Call, a *world.Account, p *platform.Params, kind world.AssetKind, ids string,
	materialsMax int, fields []platform.Field[*world.Asset]) *platform.Failure {
	given, ok := p.Object("filtering")
	if !ok && c.Query.Get("filtering") != "" {
		return wrong("filtering: Not a valid object.")
	}
	f := &platform.Params{Call: &platform.Call{Query: given}, Code: p.Code}
	own, materials := f.Texts(ids, fileIDsMax), f.Texts("material_ids", materialsMax)
	width, height, name := f.Optional("width"), f.Optional("height"), given.Get("video_name")
	if f.Failure != nil {
		return f.Failure
	}
	list := slices.DeleteFunc(a.Assets(kind, c.Now), func(x world.Asset) bool {
		return len(own) > 0 && !slices.Contains(own, x.ID) || width != 0 && width != x.Width ||
			height != 0 && height != x.Height || !strings.Contains(x.Name, name) ||
			len(materials) > 0 && !slices.Contains(materials, strconv.FormatInt(x.Material, 10))
	})
	slices.Reverse(list)
	writePage(t, p, filesUsual, list, func(w *platform.Writer, x *world.Asset) {
		platform.WriteFile(c, w, fields, x, x)
	})
	return nil
}
