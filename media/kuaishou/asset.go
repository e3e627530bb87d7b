package kuaishou

import "adsync/media/wire"

// The greatest sizes of a page (documents 2639 and 2629).
const (
	videosPage = 200
	imagesPage = 500
)

var (
	// See document 2639. Addresses are left out: they change with each call.
	videos = objects{
		endpoint: "v1/file/ad/video/list", key: "photo_id", textKey: true, named: "photo_name", size: videosPage,
		since: "update_start_date", until: "update_end_date", deleted: videoDeleted, modified: "upload_time",
		unlogged: []string{"url", "cover_url"},
		fields: []column{
			{"photo_name", text}, {"signature", text}, {"duration", number}, {"width", number}, {"height", number},
			{"new_status", id}, {"source", id}, {"create_time", moment}, {"upload_time", moment},
		},
	}
	// See document 2629. Images have no names.
	images = objects{
		endpoint: "v1/file/ad/image/list", key: "image_token", textKey: true, size: imagesPage, modified: "create_time",
		unlogged: []string{"url"},
		fields: []column{
			{"pic_id", id}, {"signature", text}, {"width", number}, {"height", number}, {"size", number}, {"format", id},
			{"pic_type", id}, {"create_time", millis},
		},
	}
)

// videoDeleted reports whether a video is deleted: its new_status is 0 or 14.
func videoDeleted(r *wire.Row) bool {
	status := r.Int("new_status")
	return status.Set && (status.Value == 0 || status.Value == 14)
}
