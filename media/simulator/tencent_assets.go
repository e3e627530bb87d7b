package simulator

import (
	"cmp"
	"slices"
	"strconv"
)

// tencentAssetBack is how far back a list of assets reaches that is not asked for a time of creation.
const tencentAssetBack = 183 * dayLength

var tencentImageOrder = []string{
	"image_id", "width", "height", "file_size", "type", "signature", "description", "preview_url", "source_type", "created_time",
	"last_modified_time", "status",
}

var tencentVideoOrder = []string{
	"video_id", "width", "height", "video_frames", "file_size", "type", "signature", "description", "system_status", "preview_url",
	"key_frame_image_url", "image_duration_millisecond", "created_time", "last_modified_time", "status",
}

var tencentAssetFields = map[string]write[*asset]{
	"image_id":           func(w *jsonWriter, x *asset) { w.text(x.id) },
	"video_id":           func(w *jsonWriter, x *asset) { w.raw(x.id) },
	"width":              func(w *jsonWriter, x *asset) { w.number(x.width) },
	"height":             func(w *jsonWriter, x *asset) { w.number(x.height) },
	"file_size":          func(w *jsonWriter, x *asset) { w.number(x.size) },
	"signature":          func(w *jsonWriter, x *asset) { w.text(x.signature) },
	"description":        func(w *jsonWriter, x *asset) { w.text(x.name) },
	"created_time":       func(w *jsonWriter, x *asset) { w.number(x.created) },
	"last_modified_time": func(w *jsonWriter, x *asset) { w.number(x.created) },
	"preview_url":        fixed[*asset](`""`),
	"status":             fixed[*asset](`"ADSTATUS_NORMAL"`),
	"source_type":        fixed[*asset](`"SOURCE_TYPE_LOCAL"`),
	"type": func(w *jsonWriter, x *asset) {
		w.text([...]string{"IMAGE_TYPE_JPG", "VIDEO_TYPE_MP4"}[x.kind])
	},
	"video_frames":               func(w *jsonWriter, x *asset) { w.number(x.milliseconds * 25 / 1000) },
	"system_status":              fixed[*asset](`"MEDIA_STATUS_VALID"`),
	"key_frame_image_url":        fixed[*asset](`""`),
	"image_duration_millisecond": func(w *jsonWriter, x *asset) { w.number(x.milliseconds) },
}

func (t *tencent) images(c *call, l *login) *apiError {
	return t.assets(c, l, assetImage, tencentImageOrder)
}
func (t *tencent) videos(c *call, l *login) *apiError {
	return t.assets(c, l, assetVideo, tencentVideoOrder)
}

// assets lists a kind of the account's library. Without a condition on the time of creation, the last half year.
func (t *tencent) assets(c *call, l *login, kind assetKind, order []string) *apiError {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	fields, err := t.fields(c, func(f string) bool { return slices.Contains(order, f) })
	if err != nil {
		return err
	}
	if fields == nil {
		fields = order
	}
	idField := kind.String() + "_id"
	filters, err := t.filters(c, 4, map[string][]string{idField: {"EQUALS", "IN"}, "created_time": tencentMoments, "last_modified_time": tencentMoments})
	if err != nil {
		return err
	}
	oldest := c.now - tencentAssetBack
	var fits []func(x *asset) bool
	for _, f := range filters {
		if f.Field == idField {
			fits = append(fits, func(x *asset) bool { return slices.Contains(f.Values, x.id) })
			continue
		}
		moment, wrong := strconv.ParseInt(f.Values[0], 10, 64)
		if wrong != nil || len(f.Values[0]) != 10 {
			return failure(18002, "filtering: %s is ten digits of seconds", f.Field)
		}
		if f.Field == "created_time" {
			oldest = 0
		}
		fits = append(fits, func(x *asset) bool { return compares(f.Operator, cmp.Compare(x.created, moment)) })
	}
	page, err := t.integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := t.integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(a.assets(kind, c.now), func(x asset) bool {
		return x.created < oldest || slices.ContainsFunc(fits, func(fits func(x *asset) bool) bool { return !fits(&x) })
	})
	from, to, total := c.pageOf(page, size, len(list))
	w := t.begin(c)
	w.openArray("list")
	for i := range list[from:to] {
		w.open('{')
		for _, f := range fields {
			if !c.leavesOut(&w, f, &list[from+i]) {
				w.key(f)
				tencentAssetFields[f](&w, &list[from+i])
			}
		}
		w.close('}')
	}
	w.close(']')
	w.pageInfo(page, size, total)
	t.end(c, &w)
	return nil
}
