package kuaishou

import (
	"fmt"
	"slices"
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

const (
	videoSizeMax  = 200
	imageSizeMax  = 500
	cursorSizeMax = 1000
	fileIDsMax    = 100
)

// material returns a file's number: the photo_id of a video, the pic_id of an image.
func material(kind world.AssetKind, number int64) int64 {
	return [...]int64{5_100_000_000_000_000_000, 5_200_000_000_000_000_000}[kind] + number*1_000_003
}

// assetID returns a file's id: the photo_id of a video as text, the image_token of an image.
func assetID(kind world.AssetKind, number int64, key world.Key) string {
	if kind == world.AssetVideo {
		return strconv.FormatInt(material(kind, number), 10)
	}
	return fmt.Sprintf("market%016x%016x.jpg", number, uint64(key.Sub(20)))
}

// file is an image or a video of a call.
type file struct {
	c *platform.Call
	*world.Asset
}

var videoFields = []platform.Field[file]{
	field("photo_id", func(w *platform.Writer, x file) { w.Text(x.ID) }),
	field("photo_name", func(w *platform.Writer, x file) { w.Text(x.Name) }),
	field("signature", func(w *platform.Writer, x file) { w.Text(x.Signature) }),
	fixed[file]("url", `""`), fixed[file]("cover_url", `""`),
	field("duration", func(w *platform.Writer, x file) { w.Number(x.Milliseconds) }),
	field("width", func(w *platform.Writer, x file) { w.Number(x.Width) }),
	field("height", func(w *platform.Writer, x file) { w.Number(x.Height) }),
	fixed[file]("new_status", "1"), fixed[file]("source", "0"),
	field("create_time", func(w *platform.Writer, x file) { w.Text(x.c.Moment(x.Created)) }),
	field("upload_time", func(w *platform.Writer, x file) { w.Text(x.c.Moment(x.Created)) }),
	fixed[file]("photo_tag", "[]"), fixed[file]("outer_loop_native", "0"),
}

// imageFields has the time of creation in milliseconds.
var imageFields = []platform.Field[file]{
	field("image_token", func(w *platform.Writer, x file) { w.Text(x.ID) }),
	field("pic_id", func(w *platform.Writer, x file) { w.Text(strconv.FormatInt(x.Material, 10)) }),
	fixed[file]("url", `""`),
	field("width", func(w *platform.Writer, x file) { w.Number(x.Width) }),
	field("height", func(w *platform.Writer, x file) { w.Number(x.Height) }),
	field("size", func(w *platform.Writer, x file) { w.Number(x.Size) }),
	fixed[file]("format", `"jpg"`),
	field("signature", func(w *platform.Writer, x file) { w.Text(x.Signature) }),
	field("pic_type", func(w *platform.Writer, x file) { w.Number(picType(x.Asset)) }),
	field("create_time", func(w *platform.Writer, x file) { w.Number(x.Created * 1000) }),
}

// picTypes are the documents' types of images.
var picTypes = []int64{0, 5, 6, 12, 16}

// picType returns the type of an image, by its shape.
func picType(x *world.Asset) int64 {
	if x.Width > x.Height {
		return 5
	}
	return 6
}

// writeFile writes a file's fields.
func writeFile(c *platform.Call, w *platform.Writer, fields []platform.Field[file], x *world.Asset) {
	platform.WriteFile(c, w, fields, file{c, x}, x)
}

// chosen reads a condition on ids and returns whether a file fits it.
func chosen(p *platform.Params, name string) (fits func(id string) bool) {
	ids := p.Texts(name, fileIDsMax)
	return func(id string) bool { return len(ids) == 0 || slices.Contains(ids, id) }
}

func (k *kuaishou) videos(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	has := chosen(p, "photo_ids")
	made, changed := p.Days("start_date", "end_date"), p.Days("update_start_date", "update_end_date")
	isNative := p.OneOf("outer_loop_native", 0, 1)
	is := func(name, value string) bool { return c.Query.Get(name) == "" || c.Query.Get(name) == value }
	list := slices.DeleteFunc(a.Assets(world.AssetVideo, c.Now), func(x world.Asset) bool {
		return !has(x.ID) || !made.Holds(x.Created) || !changed.Holds(x.Modified) || !is("signature", x.Signature) ||
			!is("photo_name", x.Name) || isNative == 1 || c.Query.Get("photo_user_id") != ""
	})
	writePage(k, c, readPage(p, videoSizeMax), list, func(w *platform.Writer, x *world.Asset) {
		writeFile(c, w, videoFields, x)
	})
	return nil
}

// videosByID answers v1/file/ad/video/get, whose data is an array.
func (k *kuaishou) videosByID(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	ids := p.Texts("photo_ids", fileIDsMax)
	if len(ids) == 0 {
		return wrong(c, "photo_ids is missing")
	}
	w := begin(c)
	w.Open('[')
	for _, x := range a.Assets(world.AssetVideo, c.Now) {
		if slices.Contains(ids, x.ID) {
			w.Open('{')
			writeFile(c, &w, videoFields, &x)
			w.Close('}')
		}
	}
	w.Close(']')
	k.end(c, &w)
	return nil
}

// videosByCursor lists videos after a cursor, which is the largest that was seen; 0 is the first.
func (k *kuaishou) videosByCursor(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	after, size := p.Whole("cursor"), p.Integer("limit", 200, cursorSizeMax)
	list := a.Assets(world.AssetVideo, c.Now)
	from := int(min(max(after, 0), int64(len(list))))
	w := begin(c)
	w.Open('{')
	w.OpenArray("details")
	for i := from; i < min(from+size, len(list)); i++ {
		w.Open('{')
		writeFile(c, &w, videoFields, &list[i])
		w.NumberField("cursor", int64(i+1))
		w.Close('}')
	}
	w.Close(']')
	w.Close('}')
	k.end(c, &w)
	return nil
}

func (k *kuaishou) images(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	has, made := chosen(p, "image_tokens"), p.Days("start_date", "end_date")
	types := p.NumbersOf("pic_types", picTypes...)
	at := paging{p.Integer("page", 0, 999_999), p.Integer("page_size", 0, imageSizeMax), p}
	token, signature := c.Query.Get("image_token"), c.Query.Get("signature")
	list := slices.DeleteFunc(a.Assets(world.AssetImage, c.Now), func(x world.Asset) bool {
		return !has(x.ID) || !made.Holds(x.Created) || token != "" && token != x.ID ||
			signature != "" && signature != x.Signature || len(types) > 0 && !slices.Contains(types, picType(&x))
	})
	writePage(k, c, at, list, func(w *platform.Writer, x *world.Asset) { writeFile(c, w, imageFields, x) })
	return nil
}

// image answers v1/file/ad/image/get with one image.
func (k *kuaishou) image(c *platform.Call, a *world.Account, _ *platform.Params) *platform.Failure {
	list := a.Assets(world.AssetImage, c.Now)
	at := slices.IndexFunc(list, func(x world.Asset) bool { return x.ID == c.Query.Get("image_token") })
	if at < 0 {
		return wrong(c, "image_token %q is unknown", c.Query.Get("image_token"))
	}
	w := begin(c)
	w.Open('{')
	writeFile(c, &w, imageFields, &list[at])
	w.Close('}')
	k.end(c, &w)
	return nil
}
