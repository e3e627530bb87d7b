package bilibili

import (
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

type creative struct {
	c       *platform.Call
	account *world.Account
	*world.ListedCreative
}

// creativeFields has chosen fields, except for the ids.
var creativeFields = []platform.Field[creative]{
	platform.NewField("creative_id", func(w *platform.Writer, x creative) { w.Number(x.ID) }),
	platform.NewField("creative_name", func(w *platform.Writer, x creative) { w.Text(x.Name) }),
	platform.NewField("unit_id", func(w *platform.Writer, x creative) { w.Number(x.Ad.ID) }),
	platform.NewField("campaign_id", func(w *platform.Writer, x creative) { w.Number(x.Ad.Project) }),
	platform.NewField("status", func(w *platform.Writer, x creative) { w.Number(statusOf(x.c, x.Status)) }),
	platform.NewField("video_id", func(w *platform.Writer, x creative) { writeIDs(w, x, world.AssetVideo) }),
	platform.NewField("image_ids", func(w *platform.Writer, x creative) { writeIDs(w, x, world.AssetImage) }),
	platform.NewField("ctime", func(w *platform.Writer, x creative) { w.Text(x.c.Moment(x.Created)) }),
	platform.NewField("mtime", func(w *platform.Writer, x creative) { w.Text(x.c.Moment(x.Modified)) }),
}

// writeIDs writes the creative's video, which is null for a group of images, or the list of its images, of which the
// cover of a video is one.
func writeIDs(w *platform.Writer, x creative, kind world.AssetKind) {
	if kind == world.AssetVideo && !x.IsVideo() {
		w.Raw("null")
		return
	}
	if kind == world.AssetImage {
		w.Open('[')
	}
	for _, file := range x.Assets(x.account) {
		if file.Kind == kind {
			w.Raw(file.ID)
		}
	}
	if kind == world.AssetImage {
		w.Close(']')
	}
}

func creatives(c *platform.Call, a *world.Account) (list []object) {
	for _, x := range a.Creatives(c.Now) {
		list = append(list, newObject(c, x.ID, x.Status, creativeFields, creative{c, a, &x}))
	}
	return list
}
