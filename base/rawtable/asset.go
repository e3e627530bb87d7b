package rawtable

// The kinds of assets, which are also the levels of their lists.
const (
	AssetImage = "image"
	AssetVideo = "video"
)

// AssetUse is an image or a video that a creative shows.
type AssetUse struct {
	Kind string // AssetImage or AssetVideo
	ID   string // the platform's
}
