package tencent

import (
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

const (
	imagesEndpoint = "images/get"
	videosEndpoint = "videos/get"
)

// beforeAll is a time of creation before that of every asset that has one: without a condition on it the platform
// lists the last half year. Times have ten digits.
const beforeAll int64 = 1_000_000_000

// The two queries that make up the library. Undated assets have no time of creation, or one in 1970: the condition
// that makes the platform list more than the last half year leaves them out.
const (
	dated   = "dated"
	undated = "undated"
)

var imageTable = rawtable.Table{Name: "tencent_image", Shape: rawtable.Objects, Columns: append(assetColumns(),
	rawtable.Column{Name: "status", Kind: rawtable.Text})}

var videoTable = rawtable.Table{Name: "tencent_video", Shape: rawtable.Objects, Columns: append(assetColumns(),
	rawtable.Column{Name: "system_status", Kind: rawtable.Text},
	rawtable.Column{Name: "image_duration_millisecond", Kind: rawtable.Int})}

func assetColumns() []rawtable.Column {
	return []rawtable.Column{
		{Name: "description", Kind: rawtable.Text},
		{Name: "width", Kind: rawtable.Int},
		{Name: "height", Kind: rawtable.Int},
		{Name: "file_size", Kind: rawtable.Int}, // bytes
		{Name: "signature", Kind: rawtable.Text},
		{Name: "created_time", Kind: rawtable.Instant},
		{Name: "last_modified_time", Kind: rawtable.Instant},
	}
}

// assetList is one kind of asset in an account's library. Addresses of previews are left out: they change with each
// call.
type assetList struct {
	endpoint string
	id       string // the field of the id
	fields   []string
	more     func(a *wire.Row) []any // the columns of this kind in addition to the common ones
}

var assetListFields = []string{"width", "height", "file_size", "type", "signature", "description", "created_time",
	"last_modified_time", "status"}

var (
	images = assetList{
		endpoint: imagesEndpoint, id: "image_id", fields: append([]string{"image_id", "source_type"}, assetListFields...),
		more: func(a *wire.Row) []any { return []any{wire.Text(a.Text("status"))} },
	}
	videos = assetList{
		endpoint: videosEndpoint, id: "video_id",
		fields: append([]string{"video_id", "system_status", "video_frames", "image_duration_millisecond"},
			assetListFields...),
		more: func(a *wire.Row) []any {
			return []any{wire.Text(a.Text("system_status")), a.Int("image_duration_millisecond").Column()}
		},
	}
)

func (l assetList) read(a *wire.Row) media.Row {
	description, modified := a.Text("description"), a.Unix("last_modified_time")
	return media.Row{
		Object: a.Key(l.id), Name: wire.Cut(description), Modified: modified,
		Raw: append([]any{
			wire.Text(description), a.Int("width").Column(), a.Int("height").Column(), a.Int("file_size").Column(),
			wire.Text(a.Exact("signature")),
			sqldb.At(a.Unix("created_time")), sqldb.At(modified),
		}, l.more(a)...),
	}
}
