package oceanengine

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// oceanMaterialStatuses holds the names of a material's status (document 1741028841006095).
var oceanMaterialStatuses = [...]string{"MATERIAL_STATUS_OK", "MATERIAL_STATUS_DISABLE", "MATERIAL_STATUS_DELETE"}

// The kinds of materials, which the documents call image_mode (document 1741028841006095). Titles are a kind only in
// reports.
const (
	oceanModeVideo         = "CREATIVE_IMAGE_MODE_VIDEO"
	oceanModeVideoVertical = "CREATIVE_IMAGE_MODE_VIDEO_VERTICAL"
	oceanModeSmall         = "CREATIVE_IMAGE_MODE_SMALL"
	oceanModeLarge         = "CREATIVE_IMAGE_MODE_LARGE"
	oceanModeLargeVertical = "CREATIVE_IMAGE_MODE_LARGE_VERTICAL"
	oceanModeTitle         = "MATERIAL_IMAGE_MODE_TITLE"
)

// oceanMode returns the kind of a file of a shape.
func oceanMode(kind world.AssetKind, shape [2]int64) string {
	isWide, isSquare := shape[0] > shape[1], shape[0] == shape[1]
	switch {
	case kind == world.AssetVideo && isWide:
		return oceanModeVideo
	case kind == world.AssetVideo:
		return oceanModeVideoVertical
	case isWide:
		return oceanModeLarge
	case isSquare:
		return oceanModeSmall
	}
	return oceanModeLargeVertical
}

// oceanTitle returns the title of an ad as a material: it is shown with each of the ad's videos and images.
func oceanTitle(x *world.Ad) *world.Creative {
	return &world.Creative{Ad: x, Material: 7_030_000_000_000_000_000 + x.Number*1_000_003, Mode: oceanModeTitle,
		IsTitle: true}
}

// oceanTitles returns the rows of the ads' titles: a title has all figures of its ad.
func oceanTitles(rows []world.Row) []world.Row {
	titles := platform.Grouping{Day: true, Hour: true, Ad: true}.Apply(rows, world.LevelCreative)
	for i := range titles {
		titles[i].Creative = oceanTitle(titles[i].Ad)
		titles[i].Object = titles[i].Creative.Material
	}
	return titles
}

// writeMaterials writes the materials that the promotion shows, without removed ones. Images of one kind are in one
// item, and the fields of a material are in each image (document 1741028841006095).
func (x promotion) writeMaterials(w *platform.Writer) {
	var videos, images []world.ListedCreative
	x.EachCreative(x.account, x.now, func(c world.Creative) {
		o := c.At(x.now)
		switch {
		case o.IsUnlisted():
		case o.IsVideo():
			videos = append(videos, o)
		default:
			images = append(images, o)
		}
	})
	w.Open('{')
	w.OpenArray("video_material_list")
	for i := range videos {
		o := &videos[i]
		assets := o.Assets(x.account)
		w.Open('{')
		w.TextField("image_mode", o.Mode)
		w.TextField("video_id", assets[0].ID)
		w.TextField("video_cover_id", assets[1].ID)
		x.writeVideoMaterial(w, o.Material)
		writeMaterialState(w, o)
		w.Close('}')
	}
	w.Close(']')
	w.OpenArray("image_material_list")
	for _, mode := range []string{oceanModeSmall, oceanModeLarge, oceanModeLargeVertical} {
		x.writeImages(w, mode, images)
	}
	w.Close(']')
	w.OpenArray("title_material_list")
	w.Open('{')
	w.NumberField("material_id", oceanTitle(&x.Ad).Material)
	w.TextField("title", x.Name)
	w.OpenArray("word_list")
	w.Close(']')
	w.Close('}')
	w.Close(']')
	w.Close('}')
}

// writeImages writes the item of the images of a kind, if there are any.
func (x promotion) writeImages(w *platform.Writer, mode string, images []world.ListedCreative) {
	isOther := func(o world.ListedCreative) bool { return o.Mode != mode }
	if !slices.ContainsFunc(images, func(o world.ListedCreative) bool { return !isOther(o) }) {
		return
	}
	w.Open('{')
	w.TextField("image_mode", mode)
	w.OpenArray("images")
	for _, o := range slices.DeleteFunc(slices.Clone(images), isOther) {
		w.Open('{')
		w.TextField("image_id", o.Assets(x.account)[0].ID)
		writeMaterial(w, &o)
		w.Close('}')
	}
	w.Close(']')
	w.Close('}')
}

// writeMaterial writes the fields of a material that do not depend on its place.
func writeMaterial(w *platform.Writer, c *world.ListedCreative) {
	w.NumberField("material_id", c.Material)
	writeMaterialState(w, c)
}

func writeMaterialState(w *platform.Writer, c *world.ListedCreative) {
	w.TextField("material_opt_status", [...]string{"ENABLE", "DISABLE", "DISABLE"}[c.Status])
	w.TextField("material_status", oceanMaterialStatuses[c.Status])
}

func oceanAssetID(kind world.AssetKind, number int64, k world.Key) string {
	if kind == world.AssetVideo {
		return "v02033g10000" + strconv.FormatInt(number, 36) + "x" + strconv.FormatUint(uint64(k.Sub(20))>>24, 36)
	}
	return fmt.Sprintf("web.business.image/%x%010x", number, uint64(k.Sub(20))>>24)
}

func oceanMaterial(kind world.AssetKind, number int64) int64 {
	return [...]int64{7_010_000_000_000_000_000, 7_020_000_000_000_000_000}[kind] + number*1_000_003
}

var oceanImageOrder = []string{"id", "material_id", "size", "width", "height", "url", "format", "signature",
	"create_time", "filename", "aigc"}

var oceanVideoOrder = []string{
	"id", "material_id", "size", "width", "height", "url", "poster_url", "format", "signature", "duration", "bit_rate",
	"source",
	"create_time", "filename", "labels", "video_cover_id",
}

// oceanSource is the source of all files: uploads by hand.
const oceanSource = "AD_SITE"

// oceanNoURL replaces addresses: accounts of this world do not belong to the app's developer.
const oceanNoURL = `"素材所属主体与开发者主体不一致无法获取URL"`

var oceanAssetFields = map[string]platform.Write[*world.Asset]{
	"id":          func(w *platform.Writer, x *world.Asset) { w.Text(x.ID) },
	"material_id": func(w *platform.Writer, x *world.Asset) { w.Number(x.Material) },
	"size":        func(w *platform.Writer, x *world.Asset) { w.Number(x.Size) },
	"width":       func(w *platform.Writer, x *world.Asset) { w.Number(x.Width) },
	"height":      func(w *platform.Writer, x *world.Asset) { w.Number(x.Height) },
	"url":         platform.Fixed[*world.Asset](oceanNoURL),
	"poster_url":  platform.Fixed[*world.Asset](oceanNoURL),
	"format":      func(w *platform.Writer, x *world.Asset) { w.Text([...]string{"jpeg", "mp4"}[x.Kind]) },
	"signature":   func(w *platform.Writer, x *world.Asset) { w.Text(x.Signature) },
	"create_time": func(w *platform.Writer, x *world.Asset) { w.Text(oceanMoment(x.Created)) },
	"filename":    func(w *platform.Writer, x *world.Asset) { w.Text(x.Name) },
	"aigc":        platform.Fixed[*world.Asset]("false"),
	"duration": func(w *platform.Writer, x *world.Asset) {
		w.Sep()
		w.Bytes = platform.AppendRounded(w.Bytes, float64(x.Milliseconds)/1000)
	},
	"bit_rate":       func(w *platform.Writer, x *world.Asset) { w.Number(x.Size * 8000 / x.Milliseconds) },
	"source":         platform.Fixed[*world.Asset](`"` + oceanSource + `"`),
	"labels":         platform.Fixed[*world.Asset]("[]"),
	"video_cover_id": platform.Fixed[*world.Asset](`""`),
}

// oceanAssetConditions are the conditions of a list of images or videos.
type oceanAssetConditions struct {
	ImageIDs    []string `json:"image_ids"`
	VideoIDs    []string `json:"video_ids"`
	MaterialIDs []int64  `json:"material_ids"`
	Signatures  []string `json:"signatures"`
	Start       string   `json:"start_time"`
	End         string   `json:"end_time"`
	Width       int64    `json:"width"`
	Height      int64    `json:"height"`
	// No file of this world has these, except for its source.
	Ratio   []float64 `json:"ratio"`
	Labels  []string  `json:"labels"`
	Source  []string  `json:"source"`
	Authors []string  `json:"star_author_ids"`
}

func (f *oceanAssetConditions) filter(kind world.AssetKind, list []world.Asset) ([]world.Asset, *platform.Failure) {
	ids, others := f.ImageIDs, f.VideoIDs
	if kind == world.AssetVideo {
		ids, others = others, ids
	}
	if others != nil {
		return nil, platform.Failf(40000, "filtering: these ids do not belong to a %s", kind)
	}
	given := 0
	for _, n := range []int{len(ids), len(f.MaterialIDs), len(f.Signatures)} {
		if n > 0 {
			given++
		}
		if n > 100 {
			return nil, platform.Failf(40000, "filtering: up to 100 ids")
		}
	}
	if given > 1 {
		return nil, platform.Failf(40000, "filtering: one kind of ids at a time")
	}
	from, err := oceanDay(f.Start)
	if err != nil {
		return nil, err
	}
	to, err := oceanDay(f.End)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(x world.Asset) bool {
		return (len(ids) > 0 && !slices.Contains(ids, x.ID)) ||
			(len(f.MaterialIDs) > 0 && !slices.Contains(f.MaterialIDs, x.Material)) ||
			(len(f.Signatures) > 0 && !slices.Contains(f.Signatures, x.Signature)) ||
			x.Created < from.from || (to.to != 0 && x.Created > to.to) ||
			(f.Width != 0 && x.Width != f.Width) || (f.Height != 0 && x.Height != f.Height) || len(f.Labels)+
			len(f.Authors) > 0 ||
			(len(f.Ratio) > 0 && !slices.ContainsFunc(f.Ratio,
				func(r float64) bool { return math.Abs(float64(x.Width)/float64(x.Height)-r) <= 0.05 })) ||
			(len(f.Source) > 0 && !slices.Contains(f.Source, oceanSource))
	}), nil
}

func (o *oceanEngine) images(c *platform.Call, l *world.Login) *platform.Failure {
	return o.assets(c, l, world.AssetImage, oceanImageOrder)
}
func (o *oceanEngine) videos(c *platform.Call, l *world.Login) *platform.Failure {
	return o.assets(c, l, world.AssetVideo, oceanVideoOrder)
}

// assets lists one kind of the account's assets. The documents give no limits for pages, only the usual size of 20.
func (o *oceanEngine) assets(c *platform.Call, l *world.Login, kind world.AssetKind,
	fields []string) *platform.Failure {
	a, err := o.advertiser(c, l)
	if err != nil {
		return err
	}
	var conditions oceanAssetConditions
	if _, err := decode(c, "filtering", &conditions); err != nil {
		return err
	}
	page, err := integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := integer(c, "page_size", 20, 100)
	if err != nil {
		return err
	}
	if page*size > oceanListMax {
		return platform.Failf(40000, "pages reach up to %d rows", oceanListMax)
	}
	list, err := conditions.filter(kind, a.Assets(kind, c.Now))
	if err != nil {
		return err
	}
	from, to, total := c.PageOf(page, size, len(list))
	w := o.begin(c)
	w.Open('{')
	w.OpenArray("list")
	for i := range list[from:to] {
		w.Open('{')
		c.CountFile(&list[from+i])
		for _, f := range fields {
			if !c.LeavesOut(&w, f, &list[from+i]) {
				w.Key(f)
				oceanAssetFields[f](&w, &list[from+i])
			}
		}
		w.Close('}')
	}
	w.Close(']')
	w.PageInfo(page, size, total)
	w.Close('}')
	o.end(c, &w)
	return nil
}

// writeVideoMaterial writes the material id of a promotion's video. For some videos it is 0 or absent (document
// 1741028841006095); the library has it.
func (x promotion) writeVideoMaterial(w *platform.Writer, material int64) {
	how := world.Key(material).Sub(95).Below(6)
	if how > 1 || !x.Traps.IsOn(trap.NullValue) {
		w.NumberField("material_id", material)
		return
	}
	x.Traps.Meet(trap.NullValue)
	if how == 0 {
		w.NumberField("material_id", 0)
	}
}
