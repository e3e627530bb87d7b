package bilibili

import (
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// assetID returns a file's id, which is a number.
func assetID(kind world.AssetKind, number int64, _ world.Key) string {
	return strconv.FormatInt([...]int64{40_000_000, 50_000_000_000}[kind]+number*2, 10)
}

// files returns the handler of the list of an account's images or videos. The guides name lists of material; the paths
// and fields are chosen.
func files(kind world.AssetKind) handler {
	return func(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
		writePage(readPage(p), by.account.Assets(kind, c.Now), func(w *platform.Writer, x *world.Asset) {
			c.CountFile(x)
			writeFile(c, w, x)
		})
		return nil
	}
}

func writeFile(c *platform.Call, w *platform.Writer, x *world.Asset) {
	w.Key(x.Kind.String() + "_id")
	w.Raw(x.ID)
	w.TextField("name", x.Name)
	w.TextField("md5", x.Signature)
	w.NumberField("width", x.Width)
	w.NumberField("height", x.Height)
	w.NumberField("size", x.Size)
	if x.Kind == world.AssetVideo && !c.LeavesOut(w, "duration", x) {
		w.NumberField("duration", x.Milliseconds)
	}
	w.TextField("ctime", c.Moment(x.Created))
}
