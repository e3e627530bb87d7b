package baidu

import (
	"fmt"
	"slices"
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// Images and videos come in pages without a total: an empty page ends the list (the client's ImageService and
// VideoFeedService).

const videoIDsMax = 1000

// assetID returns a file's id: a number for a video.
func assetID(kind world.AssetKind, number int64, key world.Key) string {
	if kind == world.AssetVideo {
		return strconv.FormatInt(7_000_000_000+number, 10)
	}
	return fmt.Sprintf("%08x%016x", number, uint64(key.Sub(20)))
}

func imageURL(x *world.Asset) string { return "https://feed-image.baidu.com/" + x.ID + ".jpg" }

// file is an image or a video of a call.
type file struct {
	c *platform.Call
	*world.Asset
}

func milliseconds(at int64) string { return strconv.FormatInt(at*1000, 10) }

// videoFields has lengths in seconds, and times in milliseconds as texts.
var videoFields = []platform.Field[file]{
	platform.NewField("videoid", func(w *platform.Writer, x file) { w.Raw(x.ID) }),
	platform.Constant[file]("url", `""`), platform.Constant[file]("source", "2"),
	platform.NewField("videoName", func(w *platform.Writer, x file) { w.Text(x.Name) }),
	platform.NewField("capacity", func(w *platform.Writer, x file) { w.Number(x.Size) }),
	platform.Constant[file]("format", `"mp4"`),
	platform.NewField("width", func(w *platform.Writer, x file) { w.Number(x.Width) }),
	platform.NewField("height", func(w *platform.Writer, x file) { w.Number(x.Height) }),
	platform.NewField("duration", func(w *platform.Writer, x file) { w.Number((x.Milliseconds + 500) / 1000) }),
	platform.NewField("addTime", func(w *platform.Writer, x file) { w.Text(milliseconds(x.Created)) }),
	platform.NewField("modTime", func(w *platform.Writer, x file) { w.Text(milliseconds(x.Modified)) }),
	platform.Constant[file]("thumbnail", `""`), platform.Constant[file]("deliverStatus", "0"),
	platform.Constant[file]("istranscode", "0"),
	platform.NewField("videoMd5", func(w *platform.Writer, x file) { w.Text(x.Signature) }),
}

var imageFields = []platform.Field[file]{
	platform.NewField("imageId", func(w *platform.Writer, x file) { w.Text(x.ID) }),
	platform.NewField("url", func(w *platform.Writer, x file) { w.Text(imageURL(x.Asset)) }),
	platform.NewField("width", func(w *platform.Writer, x file) { w.Number(x.Width) }),
	platform.NewField("height", func(w *platform.Writer, x file) { w.Number(x.Height) }),
	platform.NewField("size", func(w *platform.Writer, x file) { w.Number(x.Size) }),
	platform.Constant[file]("format", `"jpg"`),
	platform.NewField("date", func(w *platform.Writer, x file) { w.Text(x.c.Moment(x.Created)) }),
	platform.NewField("desc", func(w *platform.Writer, x file) { w.Text(x.Name) }),
	platform.NewField("signature", func(w *platform.Writer, x file) { w.Text(x.Signature) }),
	platform.Constant[file]("source", "2"), platform.Constant[file]("isCollected", "0"),
}

func (b *baidu) videos(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
	ids := p.Texts("ids", videoIDsMax)
	list := slices.DeleteFunc(by.account.Assets(world.AssetVideo, c.Now), func(x world.Asset) bool {
		return len(ids) > 0 && !slices.Contains(ids, x.ID)
	})
	b.writeFiles(c, p, videoFields, list)
	return nil
}

func (b *baidu) images(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
	b.writeFiles(c, p, imageFields, by.account.Assets(world.AssetImage, c.Now))
	return nil
}

// writeFiles answers with a page of files, whose number and size are required.
func (b *baidu) writeFiles(c *platform.Call, p *platform.Params, fields []platform.Field[file], list []world.Asset) {
	page, size := p.Integer("page", 0, 999_999), p.Integer("pageSize", 0, int(c.Assumed(pageMax)))
	if p.Failure != nil {
		return
	}
	from, to := c.PageWithoutTotal(page, size, len(list))
	w := b.begin(c, statusGood)
	w.Open('[')
	for i := range list[from:to] {
		x := &list[from+i]
		w.Open('{')
		platform.WriteFile(c, &w, fields, file{c, x}, x)
		w.Close('}')
	}
	w.Close(']')
	b.end(c, &w)
}
