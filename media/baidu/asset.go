package baidu

import (
	"context"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

// filesPage is how many images or videos a page holds. The greatest size is not documented.
const filesPage = 100

var fileColumns = wire.Columns{text("name"), number("width"), number("height"), number("size"), text("signature")}

// files is a list of images or videos. Its pages have no total: an empty one is the end.
type files struct {
	endpoint, key string
	columns       wire.Columns
	fields        []string
}

// The lists of client libraries; the platform's pages on them were not read.
var (
	images = files{
		endpoint: feedPath + "ImageService/getImage", key: "imageId",
		columns: append(slices.Clip(fileColumns), moment("create_time")),
		fields:  []string{"desc", "width", "height", "size", "signature", "date"},
	}
	videos = files{
		endpoint: feedPath + "VideoFeedService/getVideoFeed", key: "videoid",
		columns: append(slices.Clip(fileColumns), millis("create_time"),
			number("duration_seconds")),
		fields: []string{"videoName", "width", "height", "capacity", "videoMd5", "addTime", "duration"},
	}
)

func (f files) list(level string) media.List {
	return media.List{
		Name: level, Level: level, NoSince: true, Page: f.page, Unlogged: []string{"url", "thumbnail", "modTime"},
		Table: rawtable.Table{Name: Name + "_" + level, Shape: rawtable.Objects, Columns: f.columns.Table()},
	}
}

func (f files) page(ctx context.Context, api media.API, _ media.ListQuery, page string) (media.Page, error) {
	number, err := media.PageNumber(page, 1)
	if err != nil {
		return media.Page{}, err
	}
	payload, err := ask(ctx, api, f.endpoint, map[string]any{"page": number, "pageSize": filesPage})
	if err != nil {
		return media.Page{}, err
	}
	rows, lost, err := rowsOf(f.endpoint, payload)
	if err != nil {
		return media.Page{}, err
	}
	out := media.Page{Proof: media.ByRepeat, Rows: lost}
	for _, raw := range rows {
		out.Rows = append(out.Rows, media.OpenRow(raw, func(r *wire.Row) media.Row {
			return media.Row{Object: r.TextKey(f.key), Name: wire.Cut(r.Text(f.fields[0])),
				Raw: readColumns(r, f.columns, f.fields)}
		}))
	}
	if len(rows) > 0 {
		out.Next = strconv.Itoa(number + 1)
	}
	return out, nil
}

// shownAssets reads the material of a feed creative, which is JSON in a text. Its fields depend on the style. An image
// is named by its address; that the last part of the address is the image's id is not documented.
func shownAssets(r *wire.Row) (uses []rawtable.AssetUse, more bool) {
	content := r.Text("material")
	if content == "" {
		return nil, false
	}
	material := wire.Open(json.RawMessage(content))
	if id := material.TextID("videoId"); id != "" {
		uses = append(uses, rawtable.AssetUse{Kind: rawtable.AssetVideo, ID: string(id)})
	}
	if address, err := url.Parse(material.Text("poster")); err == nil && address.Path != "" {
		name := path.Base(address.Path)
		uses = append(uses, rawtable.AssetUse{Kind: rawtable.AssetImage, ID: strings.TrimSuffix(name, path.Ext(name))})
	}
	r.Add(material.Faults())
	return uses, len(material.Faults()) > 0
}
