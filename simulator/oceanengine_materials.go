package simulator

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// oceanMaterialStatuses are the words for a material's status (document 1741028841006095).
var oceanMaterialStatuses = [...]string{"MATERIAL_STATUS_OK", "MATERIAL_STATUS_DISABLE", "MATERIAL_STATUS_DELETE"}

// The kinds of materials, which the documents call image_mode (document 1741028841006095). Titles are a kind in reports alone.
const (
	oceanModeVideo         = "CREATIVE_IMAGE_MODE_VIDEO"
	oceanModeVideoVertical = "CREATIVE_IMAGE_MODE_VIDEO_VERTICAL"
	oceanModeSmall         = "CREATIVE_IMAGE_MODE_SMALL"
	oceanModeLarge         = "CREATIVE_IMAGE_MODE_LARGE"
	oceanModeLargeVertical = "CREATIVE_IMAGE_MODE_LARGE_VERTICAL"
	oceanModeTitle         = "MATERIAL_IMAGE_MODE_TITLE"
)

// oceanMode is the kind of a file of a shape.
func oceanMode(kind assetKind, shape [2]int64) string {
	isWide, isSquare := shape[0] > shape[1], shape[0] == shape[1]
	switch {
	case kind == assetVideo && isWide:
		return oceanModeVideo
	case kind == assetVideo:
		return oceanModeVideoVertical
	case isWide:
		return oceanModeLarge
	case isSquare:
		return oceanModeSmall
	}
	return oceanModeLargeVertical
}

// oceanTitle is the title of an ad as a material: it is shown with each of the ad's videos and images.
func oceanTitle(x *ad) *creative {
	return &creative{ad: x, material: 7_030_000_000_000_000_000 + x.number*1_000_003, mode: oceanModeTitle, isTitle: true}
}

// oceanTitles are the rows of the ads' titles: all figures of an ad are its title's too.
func oceanTitles(rows []row) []row {
	titles := grouping{day: true, hour: true, ad: true}.apply(rows, levelCreative)
	for i := range titles {
		titles[i].creative = oceanTitle(titles[i].ad)
		titles[i].object = titles[i].creative.material
	}
	return titles
}

// writeMaterials tells what the promotion shows. A material that was taken out of it is not told any more. Images of one kind stand
// together in an item, and what is told of a material stands with each image (document 1741028841006095).
func (x promotion) writeMaterials(w *jsonWriter) {
	var videos, images []listedCreative
	x.eachCreative(x.account, x.now, func(c creative) {
		o := c.at(x.now)
		switch {
		case o.isUnlisted():
		case o.isVideo():
			videos = append(videos, o)
		default:
			images = append(images, o)
		}
	})
	w.open('{')
	w.openArray("video_material_list")
	for i := range videos {
		o := &videos[i]
		assets := o.assets(x.account)
		w.open('{')
		w.textField("image_mode", o.mode)
		w.textField("video_id", assets[0].id)
		w.textField("video_cover_id", assets[1].id)
		x.writeVideoMaterial(w, o.material)
		writeMaterialState(w, o)
		w.close('}')
	}
	w.close(']')
	w.openArray("image_material_list")
	for _, mode := range []string{oceanModeSmall, oceanModeLarge, oceanModeLargeVertical} {
		x.writeImages(w, mode, images)
	}
	w.close(']')
	w.openArray("title_material_list")
	w.open('{')
	w.numberField("material_id", oceanTitle(&x.ad).material)
	w.textField("title", x.name)
	w.openArray("word_list")
	w.close(']')
	w.close('}')
	w.close(']')
	w.close('}')
}

// writeImages writes the item of the images of a kind, if there are any.
func (x promotion) writeImages(w *jsonWriter, mode string, images []listedCreative) {
	isOther := func(o listedCreative) bool { return o.mode != mode }
	if !slices.ContainsFunc(images, func(o listedCreative) bool { return !isOther(o) }) {
		return
	}
	w.open('{')
	w.textField("image_mode", mode)
	w.openArray("images")
	for _, o := range slices.DeleteFunc(slices.Clone(images), isOther) {
		w.open('{')
		w.textField("image_id", o.assets(x.account)[0].id)
		writeMaterial(w, &o)
		w.close('}')
	}
	w.close(']')
	w.close('}')
}

// writeMaterial writes what is told of a material wherever it stands.
func writeMaterial(w *jsonWriter, c *listedCreative) {
	w.numberField("material_id", c.material)
	writeMaterialState(w, c)
}

func writeMaterialState(w *jsonWriter, c *listedCreative) {
	w.textField("material_opt_status", [...]string{"ENABLE", "DISABLE", "DISABLE"}[c.status])
	w.textField("material_status", oceanMaterialStatuses[c.status])
}

func oceanAssetID(kind assetKind, number int64, k key) string {
	if kind == assetVideo {
		return "v02033g10000" + strconv.FormatInt(number, 36) + "x" + strconv.FormatUint(uint64(k.sub(20))>>24, 36)
	}
	return fmt.Sprintf("web.business.image/%x%010x", number, uint64(k.sub(20))>>24)
}

func oceanMaterial(kind assetKind, number int64) int64 {
	return [...]int64{7_010_000_000_000_000_000, 7_020_000_000_000_000_000}[kind] + number*1_000_003
}

var oceanImageOrder = []string{"id", "material_id", "size", "width", "height", "url", "format", "signature", "create_time", "filename", "aigc"}

var oceanVideoOrder = []string{
	"id", "material_id", "size", "width", "height", "url", "poster_url", "format", "signature", "duration", "bit_rate", "source",
	"create_time", "filename", "labels", "video_cover_id",
}

// oceanSource is where files came from: they were uploaded by hand.
const oceanSource = "AD_SITE"

// oceanNoURL stands where an address would: accounts of this world belong to others than the app's developer.
const oceanNoURL = `"素材所属主体与开发者主体不一致无法获取URL"`

var oceanAssetFields = map[string]write[*asset]{
	"id":          func(w *jsonWriter, x *asset) { w.text(x.id) },
	"material_id": func(w *jsonWriter, x *asset) { w.number(x.material) },
	"size":        func(w *jsonWriter, x *asset) { w.number(x.size) },
	"width":       func(w *jsonWriter, x *asset) { w.number(x.width) },
	"height":      func(w *jsonWriter, x *asset) { w.number(x.height) },
	"url":         fixed[*asset](oceanNoURL),
	"poster_url":  fixed[*asset](oceanNoURL),
	"format":      func(w *jsonWriter, x *asset) { w.text([...]string{"jpeg", "mp4"}[x.kind]) },
	"signature":   func(w *jsonWriter, x *asset) { w.text(x.signature) },
	"create_time": func(w *jsonWriter, x *asset) { w.text(oceanMoment(x.created)) },
	"filename":    func(w *jsonWriter, x *asset) { w.text(x.name) },
	"aigc":        fixed[*asset]("false"),
	"duration": func(w *jsonWriter, x *asset) {
		w.sep()
		w.b = appendRounded(w.b, float64(x.milliseconds)/1000)
	},
	"bit_rate":       func(w *jsonWriter, x *asset) { w.number(x.size * 8000 / x.milliseconds) },
	"source":         fixed[*asset](`"` + oceanSource + `"`),
	"labels":         fixed[*asset]("[]"),
	"video_cover_id": fixed[*asset](`""`),
}

// oceanAssetConditions are what a list of images or videos can be filtered by.
type oceanAssetConditions struct {
	ImageIDs    []string `json:"image_ids"`
	VideoIDs    []string `json:"video_ids"`
	MaterialIDs []int64  `json:"material_ids"`
	Signatures  []string `json:"signatures"`
	Start       string   `json:"start_time"`
	End         string   `json:"end_time"`
	Width       int64    `json:"width"`
	Height      int64    `json:"height"`
	// What these name no file of this world has, but for its source.
	Ratio   []float64 `json:"ratio"`
	Labels  []string  `json:"labels"`
	Source  []string  `json:"source"`
	Authors []string  `json:"star_author_ids"`
}

func (f *oceanAssetConditions) filter(kind assetKind, list []asset) ([]asset, *apiError) {
	ids, others := f.ImageIDs, f.VideoIDs
	if kind == assetVideo {
		ids, others = others, ids
	}
	if others != nil {
		return nil, failure(40000, "filtering: these ids are not of a %s", kind)
	}
	given := 0
	for _, n := range []int{len(ids), len(f.MaterialIDs), len(f.Signatures)} {
		if n > 0 {
			given++
		}
		if n > 100 {
			return nil, failure(40000, "filtering: up to 100 ids")
		}
	}
	if given > 1 {
		return nil, failure(40000, "filtering: one kind of ids at a time")
	}
	from, err := oceanDay(f.Start)
	if err != nil {
		return nil, err
	}
	to, err := oceanDay(f.End)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(x asset) bool {
		return (len(ids) > 0 && !slices.Contains(ids, x.id)) || (len(f.MaterialIDs) > 0 && !slices.Contains(f.MaterialIDs, x.material)) ||
			(len(f.Signatures) > 0 && !slices.Contains(f.Signatures, x.signature)) ||
			x.created < from.from || (to.to != 0 && x.created > to.to) ||
			(f.Width != 0 && x.width != f.Width) || (f.Height != 0 && x.height != f.Height) || len(f.Labels)+len(f.Authors) > 0 ||
			(len(f.Ratio) > 0 && !slices.ContainsFunc(f.Ratio, func(r float64) bool { return math.Abs(float64(x.width)/float64(x.height)-r) <= 0.05 })) ||
			(len(f.Source) > 0 && !slices.Contains(f.Source, oceanSource))
	}), nil
}

func (o *oceanEngine) images(c *call, l *login) *apiError {
	return o.assets(c, l, assetImage, oceanImageOrder)
}
func (o *oceanEngine) videos(c *call, l *login) *apiError {
	return o.assets(c, l, assetVideo, oceanVideoOrder)
}

// assets lists a kind of the account's library. Which pages it gives out is not documented beyond the usual size of 20.
func (o *oceanEngine) assets(c *call, l *login, kind assetKind, fields []string) *apiError {
	a, err := o.advertiser(c, l)
	if err != nil {
		return err
	}
	var conditions oceanAssetConditions
	if _, err := o.decode(c, "filtering", &conditions); err != nil {
		return err
	}
	page, err := o.integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := o.integer(c, "page_size", 20, 100)
	if err != nil {
		return err
	}
	if page*size > oceanListMax {
		return failure(40000, "pages reach up to %d rows", oceanListMax)
	}
	list, err := conditions.filter(kind, a.assets(kind, c.now))
	if err != nil {
		return err
	}
	from, to, total := c.pageOf(page, size, len(list))
	w := o.begin(c)
	w.open('{')
	w.openArray("list")
	for i := range list[from:to] {
		w.open('{')
		c.toldFile(&list[from+i])
		for _, f := range fields {
			if !c.leavesOut(&w, f, &list[from+i]) {
				w.key(f)
				oceanAssetFields[f](&w, &list[from+i])
			}
		}
		w.close('}')
	}
	w.close(']')
	w.pageInfo(page, size, total)
	w.close('}')
	o.end(c, &w)
	return nil
}

// writeVideoMaterial writes the material of a promotion's video, which the platform does not tell of some: it is 0 or absent
// (document 1741028841006095). The library tells it.
func (x promotion) writeVideoMaterial(w *jsonWriter, material int64) {
	how := key(material).sub(95).below(6)
	if how > 1 || !x.traps.isOn(trapNullValue) {
		w.numberField("material_id", material)
		return
	}
	x.traps.meet(trapNullValue)
	if how == 0 {
		w.numberField("material_id", 0)
	}
}
