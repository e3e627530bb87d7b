package simulator

import "slices"

// tencentAssetBack is how far back a list of assets reaches that is not asked for a time of creation.
const tencentAssetBack = 183 * dayLength

var tencentImageOrder = []string{
	"image_id", "width", "height", "file_size", "type", "signature", "description", "preview_url", "source_type", "created_time",
	"last_modified_time", "status",
}

// tencentImageUnset and tencentVideoUnset are the other fields of the platform's pages: an answer leaves out what is
// not set.
var (
	tencentImageUnset = []string{
		"source_signature", "image_usage", "product_catalog_id", "product_outer_id", "source_reference_id", "owner_account_id",
		"sample_aspect_ratio", "similarity_status", "aigc_flag",
	}
	tencentVideoUnset = []string{
		"video_fps", "video_codec", "video_bit_rate", "audio_codec", "audio_bit_rate", "video_profile_name", "audio_sample_rate",
		"max_keyframe_interval", "min_keyframe_interval", "sample_aspect_ratio", "audio_profile_name", "scan_type", "audio_duration_millisecond",
		"source_type", "product_outer_id", "source_reference_id", "owner_account_id", "similarity_status", "aigc_flag", "cover_id",
	}
)

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
	"last_modified_time": func(w *jsonWriter, x *asset) { w.number(x.modified) },
	"preview_url":        fixed[*asset](`""`),
	"status":             fixed[*asset](`"ADSTATUS_NORMAL"`),
	"source_type":        fixed[*asset](`"SOURCE_TYPE_LOCAL"`),
	// The enums ImageType and MediaType of the platform's SDK (TencentAd/marketing-api-go-sdk, pkg/model/v3): the
	// samples of the documents have older words.
	"type": func(w *jsonWriter, x *asset) {
		w.text([...]string{"IMAGE_TYPE_JPG", "MEDIA_TYPE_MP4"}[x.kind])
	},
	"video_frames":               func(w *jsonWriter, x *asset) { w.number(x.milliseconds * 25 / 1000) },
	"system_status":              fixed[*asset](`"MEDIA_STATUS_VALID"`),
	"key_frame_image_url":        fixed[*asset](`""`),
	"image_duration_millisecond": func(w *jsonWriter, x *asset) { w.number(x.milliseconds) },
}

func (t *tencent) images(c *call, l *login) *apiError {
	return t.assets(c, l, assetImage, tencentImageOrder, tencentImageUnset)
}
func (t *tencent) videos(c *call, l *login) *apiError {
	return t.assets(c, l, assetVideo, tencentVideoOrder, tencentVideoUnset)
}

// assets lists a kind of the account's library. Without a condition on the time of creation, the last half year.
func (t *tencent) assets(c *call, l *login, kind assetKind, order, unset []string) *apiError {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	fields, err := t.fields(c, func(f string) bool { return slices.Contains(order, f) || slices.Contains(unset, f) })
	if err != nil {
		return err
	}
	if fields == nil {
		fields = order
	}
	fits, err := t.assetFilters(c, kind)
	if err != nil {
		return err
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
		return slices.ContainsFunc(fits, func(fits func(x *asset) bool) bool { return !fits(&x) })
	})
	from, to, total := c.pageOf(page, size, len(list))
	w := t.begin(c)
	w.openArray("list")
	for i := range list[from:to] {
		w.open('{')
		c.toldFile(&list[from+i])
		for _, f := range fields {
			if write := tencentAssetFields[f]; write != nil && slices.Contains(order, f) && !c.leavesOut(&w, f, &list[from+i]) {
				w.key(f)
				write(&w, &list[from+i])
			}
		}
		w.close('}')
	}
	w.close(']')
	w.pageInfo(page, size, total)
	t.end(c, &w)
	return nil
}
