package tencent

import (
	"encoding/json"

	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

const (
	imagesEndpoint = "images/get"
	videosEndpoint = "videos/get"
)

// beforeAll is a time of creation that all assets are younger than: without one the platform lists the last half year. Times
// have ten digits.
const beforeAll int64 = 1_000_000_000

var imageTable = store.RawTable{Name: "tencent_image", Shape: store.Objects, Columns: append(assetColumns(),
	store.RawColumn{Name: "status", Kind: store.Text})}

var videoTable = store.RawTable{Name: "tencent_video", Shape: store.Objects, Columns: append(assetColumns(),
	store.RawColumn{Name: "system_status", Kind: store.Text}, store.RawColumn{Name: "image_duration_millisecond", Kind: store.Int})}

func assetColumns() []store.RawColumn {
	return []store.RawColumn{
		{Name: "description", Kind: store.Text},
		{Name: "width", Kind: store.Int},
		{Name: "height", Kind: store.Int},
		{Name: "file_size", Kind: store.Int}, // bytes
		{Name: "signature", Kind: store.Text},
		{Name: "created_time", Kind: store.Instant},
		{Name: "last_modified_time", Kind: store.Instant},
	}
}

// assetList is a kind of an account's library. Addresses of previews are left out: they are other ones at each call.
type assetList struct {
	endpoint string
	id       string // the field of the id
	fields   []string
	more     func(a assetFile) []any // the columns that the kind has beside the common ones
}

var assetListFields = []string{"width", "height", "file_size", "type", "signature", "description", "created_time", "last_modified_time", "status"}

var (
	images = assetList{
		endpoint: imagesEndpoint, id: "image_id", fields: append([]string{"image_id", "source_type"}, assetListFields...),
		more: func(a assetFile) []any { return []any{wire.Text(a.Status)} },
	}
	videos = assetList{
		endpoint: videosEndpoint, id: "video_id",
		fields: append([]string{"video_id", "system_status", "video_frames", "image_duration_millisecond"}, assetListFields...),
		more:   func(a assetFile) []any { return []any{wire.Text(a.SystemStatus), a.Milliseconds.Column()} },
	}
)

type assetFile struct {
	ImageID          wire.ID  `json:"image_id"`
	VideoID          wire.ID  `json:"video_id"`
	Description      string   `json:"description"`
	Width            wire.Int `json:"width"`
	Height           wire.Int `json:"height"`
	FileSize         wire.Int `json:"file_size"`
	Signature        string   `json:"signature"`
	Status           string   `json:"status"`
	SystemStatus     string   `json:"system_status"`
	Milliseconds     wire.Int `json:"image_duration_millisecond"`
	CreatedTime      wire.Int `json:"created_time"`
	LastModifiedTime wire.Int `json:"last_modified_time"`
}

func (l assetList) read(raw json.RawMessage) (media.Row, error) {
	var a assetFile
	if err := json.Unmarshal(raw, &a); err != nil {
		return media.Row{}, err
	}
	id := a.ImageID
	if l.id == "video_id" {
		id = a.VideoID
	}
	if id == "" {
		return media.Row{}, errNoID
	}
	modified := a.LastModifiedTime.Unix()
	return media.Row{
		Object: string(id), Name: wire.Cut(a.Description), Modified: modified, JSON: raw,
		Raw: append([]any{
			wire.Text(a.Description), a.Width.Column(), a.Height.Column(), a.FileSize.Column(), wire.Text(a.Signature),
			store.At(a.CreatedTime.Unix()), store.At(modified),
		}, l.more(a)...),
	}, nil
}
