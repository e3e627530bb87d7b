package tencent

import (
	"slices"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// tencentAssetBack is how far back a list of assets reaches without a condition on the time of creation.
const tencentAssetBack = 183 * world.DayLength

var tencentImageOrder = []string{
	"image_id", "width", "height", "file_size", "type", "signature", "description", "preview_url", "source_type",
	"created_time",
	"last_modified_time", "status",
}

// tencentImageUnset and tencentVideoUnset are the other fields of the platform's pages: an answer omits unset fields.
var (
	tencentImageUnset = []string{
		"source_signature", "image_usage", "product_catalog_id", "product_outer_id", "source_reference_id",
		"owner_account_id",
		"sample_aspect_ratio", "similarity_status", "aigc_flag",
	}
	tencentVideoUnset = []string{
		"video_fps", "video_codec", "video_bit_rate", "audio_codec", "audio_bit_rate", "video_profile_name",
		"audio_sample_rate",
		"max_keyframe_interval", "min_keyframe_interval", "sample_aspect_ratio", "audio_profile_name", "scan_type",
		"audio_duration_millisecond",
		"source_type", "product_outer_id", "source_reference_id", "owner_account_id", "similarity_status", "aigc_flag",
		"cover_id",
	}
)

var tencentVideoOrder = []string{
	"video_id", "width", "height", "video_frames", "file_size", "type", "signature", "description", "system_status",
	"preview_url",
	"key_frame_image_url", "image_duration_millisecond", "created_time", "last_modified_time", "status",
}

var tencentAssetFields = map[string]platform.Write[*world.Asset]{
	"image_id":           func(w *platform.Writer, x *world.Asset) { w.Text(x.ID) },
	"video_id":           func(w *platform.Writer, x *world.Asset) { w.Raw(x.ID) },
	"width":              func(w *platform.Writer, x *world.Asset) { w.Number(x.Width) },
	"height":             func(w *platform.Writer, x *world.Asset) { w.Number(x.Height) },
	"file_size":          func(w *platform.Writer, x *world.Asset) { w.Number(x.Size) },
	"signature":          func(w *platform.Writer, x *world.Asset) { w.Text(x.Signature) },
	"description":        func(w *platform.Writer, x *world.Asset) { w.Text(x.Name) },
	"created_time":       func(w *platform.Writer, x *world.Asset) { w.Number(x.Created) },
	"last_modified_time": func(w *platform.Writer, x *world.Asset) { w.Number(x.Modified) },
	"preview_url":        platform.Fixed[*world.Asset](`""`),
	"status":             platform.Fixed[*world.Asset](`"ADSTATUS_NORMAL"`),
	"source_type":        platform.Fixed[*world.Asset](`"SOURCE_TYPE_LOCAL"`),
	// The enums ImageType and MediaType of the platform's SDK (TencentAd/marketing-api-go-sdk, pkg/model/v3): the
	// samples of the documents have older values.
	"type": func(w *platform.Writer, x *world.Asset) {
		w.Text([...]string{"IMAGE_TYPE_JPG", "MEDIA_TYPE_MP4"}[x.Kind])
	},
	"video_frames":               func(w *platform.Writer, x *world.Asset) { w.Number(x.Milliseconds * 25 / 1000) },
	"system_status":              platform.Fixed[*world.Asset](`"MEDIA_STATUS_VALID"`),
	"key_frame_image_url":        platform.Fixed[*world.Asset](`""`),
	"image_duration_millisecond": func(w *platform.Writer, x *world.Asset) { w.Number(x.Milliseconds) },
}

func (t *tencent) images(c *platform.Call, l *world.Login) *platform.Failure {
	return t.assets(c, l, world.AssetImage, tencentImageOrder, tencentImageUnset)
}
func (t *tencent) videos(c *platform.Call, l *world.Login) *platform.Failure {
	return t.assets(c, l, world.AssetVideo, tencentVideoOrder, tencentVideoUnset)
}

// assets lists one kind of the account's assets. Without a condition on the time of creation it lists the last half
// year.
func (t *tencent) assets(c *platform.Call, l *world.Login, kind world.AssetKind, order,
	unset []string) *platform.Failure {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	fields, err := readFields(c, func(f string) bool { return slices.Contains(order, f) || slices.Contains(unset, f) })
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
	page, err := integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(a.Assets(kind, c.Now), func(x world.Asset) bool {
		return slices.ContainsFunc(fits, func(fits func(x *world.Asset) bool) bool { return !fits(&x) })
	})
	from, to, total := c.PageOf(page, size, len(list))
	w := begin(c)
	w.OpenArray("list")
	for i := range list[from:to] {
		w.Open('{')
		c.CountFile(&list[from+i])
		for _, f := range fields {
			if write := tencentAssetFields[f]; write != nil && slices.Contains(order, f) && !c.LeavesOut(&w, f, &list[from+i]) {
				w.Key(f)
				write(&w, &list[from+i])
			}
		}
		w.Close('}')
	}
	w.Close(']')
	w.PageInfo(page, size, total)
	end(c, &w)
	return nil
}
