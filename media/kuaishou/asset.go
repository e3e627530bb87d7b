package kuaishou

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"adsync/media/wire"
)

// The greatest sizes of a page (documents 2639 and 2629).
const (
	videosPage = 200
	imagesPage = 500
)

var (
	// See document 2639. Addresses are left out: they change with each call.
	videos = objects{
		endpoint: "v1/file/ad/video/list", key: "photo_id", id: (*wire.Row).TextKey, named: "photo_name", size: videosPage,
		since: "update_start_date", until: "update_end_date", deleted: videoDeleted, modified: "upload_time",
		unlogged: []string{"url", "cover_url"},
		fields: wire.Columns{
			text("photo_name"), text("signature"), number("duration"), number("width"), number("height"),
			code("new_status"), code("source"), moment("create_time"), moment("upload_time"),
		},
	}
	// See document 2629, whose sample alone has a name.
	images = objects{
		endpoint: "v1/file/ad/image/list", key: "image_token", id: imageKey, named: "name", size: imagesPage,
		modified: "create_time", unlogged: []string{"url"},
		fields: wire.Columns{
			text("image_token"), id("pic_id"), text("signature"), number("width"), number("height"),
			number("size"), text("format"), code("pic_type"), millis("create_time"),
		},
	}
)

// videoDeleted reports whether a video is deleted: its new_status is 0 or 14.
func videoDeleted(r *wire.Row) bool {
	status := r.Int("new_status")
	return status.Set && (status.Value == 0 || status.Value == 14)
}

// imageID returns the id of an image: its token; "" if there is none. Tokens may be longer than ids: the id of such a
// token is its SHA-256.
func imageID(r *wire.Row, field string) string {
	token := r.Exact(field)
	if token == "" {
		return ""
	}
	var id wire.TextID
	if text, err := json.Marshal(token); err == nil && id.UnmarshalJSON(text) == nil {
		return string(id)
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func imageKey(r *wire.Row, field string) string {
	id := imageID(r, field)
	if id == "" {
		r.Lose(field, errors.New("is not set: a row has no id"))
	}
	return id
}
