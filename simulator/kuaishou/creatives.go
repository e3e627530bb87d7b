package kuaishou

import (
	"slices"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// statusesByDeletion are the values of a status that selects by deletion only.
var statusesByDeletion = map[int64][]world.Status{-2: all, 40: deleted}

var (
	creativeLister = lister{
		id: "creative_id", ids: "creative_ids", idsMax: 100, name: "creative_name",
		parents: []string{"campaign_id", "unit_id"}, statuses: statusesByDeletion,
	}
	packageLister = lister{ids: "unit_ids", idsMax: 100, name: "package_name", statuses: statusesByDeletion}
)

type creative struct {
	c       *platform.Call
	account *world.Account
	*world.ListedCreative
}

func (x creative) video() world.Asset { return x.Assets(x.account)[0] }
func (x creative) cover() world.Asset { return x.Assets(x.account)[1] }

// viewStatus is the computed status of a creative (document 2583).
func viewStatus(s world.Status) int64 { return [...]int64{52, 46, 40}[s] }

// materialType is 1 for a vertical video and 2 for a horizontal one.
func materialType(video *world.Asset) int64 {
	if video.Width > video.Height {
		return 2
	}
	return 1
}

var creativeFields = []platform.Field[creative]{
	field("creative_id", func(w *platform.Writer, x creative) { w.Number(x.ID) }),
	field("creative_name", func(w *platform.Writer, x creative) { w.Text(x.Name) }),
	field("unit_id", func(w *platform.Writer, x creative) { w.Number(x.Ad.ID) }),
	field("campaign_id", func(w *platform.Writer, x creative) { w.Number(x.Ad.Project) }),
	field("creative_material_type", func(w *platform.Writer, x creative) { v := x.video(); w.Number(materialType(&v)) }),
	field("photo_id", func(w *platform.Writer, x creative) { w.Text(x.video().ID) }),
	field("photo_md5", func(w *platform.Writer, x creative) { w.Text(x.video().Signature) }),
	fixed[creative]("cover_url", `""`),
	field("image_token", func(w *platform.Writer, x creative) { w.Text(x.cover().ID) }),
	field("display_info", func(w *platform.Writer, x creative) {
		w.Open('{')
		w.TextField("action_bar_text", "立即下载")
		w.TextField("description", x.Name)
		w.Close('}')
	}),
	fixed[creative]("click_track_url", `""`), fixed[creative]("impression_url", `""`),
	field("put_status", func(w *platform.Writer, x creative) { w.Number(putStatus(x.Status)) }),
	field("status", func(w *platform.Writer, x creative) { w.Number(viewStatus(x.Status)) }),
	fixed[creative]("review_detail", `""`),
	field("create_time", func(w *platform.Writer, x creative) { w.Text(x.c.Moment(x.Created)) }),
	field("update_time", func(w *platform.Writer, x creative) { w.Text(x.c.Moment(x.Modified)) }),
}

// creatives lists the custom creatives. The page marks campaign_id as required, and its own sample has none.
func (k *kuaishou) creatives(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	fits, at := listOf(p, creativeLister)
	list := slices.DeleteFunc(a.Creatives(c.Now), func(x world.ListedCreative) bool {
		return x.Ad.Packed || !fits(&listed{id: x.ID, campaign: x.Ad.Project, unit: x.Ad.ID, name: x.Name, status: x.Status,
			created: x.Created, modified: x.Modified})
	})
	asText := c.Sim.Traps.Holds(c, trapNumbers)
	writePage(k, c, at, list, func(w *platform.Writer, x *world.ListedCreative) {
		platform.WriteFields(c, w, creativeFields, creative{c, a, x}, asText)
	})
	return nil
}

// pack is the package of program creatives of a unit: one at most. Its creatives have ids that the platform gives.
type pack struct {
	c        *platform.Call
	account  *world.Account
	ad       *world.Ad
	name     string
	status   world.Status
	modified int64
	shown    []world.ListedCreative // without deleted ones
}

// packagesOf lists the account's packages in order of their unit. A package is deleted with its unit.
func packagesOf(c *platform.Call, a *world.Account) (list []pack) {
	for _, x := range a.Creatives(c.Now) {
		if !x.Ad.Packed {
			continue
		}
		if len(list) == 0 || list[len(list)-1].ad.ID != x.Ad.ID {
			p := pack{c: c, account: a, ad: x.Ad, name: x.Name, modified: x.Modified}
			if x.Ad.Deleted <= c.Now {
				p.status = world.StatusDeleted
			}
			list = append(list, p)
		}
		if p := &list[len(list)-1]; !x.IsUnlisted() {
			p.shown = append(p.shown, x)
		}
	}
	return list
}

// writeTexts writes a list of a text of each creative, without repetitions.
func (x *pack) writeTexts(w *platform.Writer, of func(o creative) string) {
	var seen []string
	w.Open('[')
	for i := range x.shown {
		if text := of(creative{x.c, x.account, &x.shown[i]}); text != "" && !slices.Contains(seen, text) {
			seen = append(seen, text)
			w.Text(text)
		}
	}
	w.Close(']')
}

// photosOf returns the function that returns the video of a creative, if it has a type.
func photosOf(kind int64) func(o creative) string {
	return func(o creative) string {
		if video := o.video(); materialType(&video) == kind {
			return video.ID
		}
		return ""
	}
}

// packageFields are fields of document 2583.
var packageFields = []platform.Field[*pack]{
	field("unit_id", func(w *platform.Writer, x *pack) { w.Number(x.ad.ID) }),
	field("package_name", func(w *platform.Writer, x *pack) { w.Text(x.name) }),
	field("creatives", func(w *platform.Writer, x *pack) {
		w.Open('[')
		for i := range x.shown {
			w.Open('{')
			w.NumberField("unit_id", x.ad.ID)
			w.NumberField("creative_id", x.shown[i].ID)
			w.Close('}')
		}
		w.Close(']')
	}),
	field("vertical_photo_ids", func(w *platform.Writer, x *pack) { x.writeTexts(w, photosOf(1)) }),
	field("horizontal_photo_ids", func(w *platform.Writer, x *pack) { x.writeTexts(w, photosOf(2)) }),
	field("cover_image_tokens", func(w *platform.Writer, x *pack) {
		x.writeTexts(w, func(o creative) string { return o.cover().ID })
	}),
	fixed[*pack]("captions", `["立即下载"]`), fixed[*pack]("action_bar", `"立即下载"`), fixed[*pack]("click_url", `""`),
	field("put_status", func(w *platform.Writer, x *pack) { w.Number(putStatus(x.status)) }),
	field("view_status", func(w *platform.Writer, x *pack) { w.Number(viewStatus(x.status)) }),
	field("create_time", func(w *platform.Writer, x *pack) { w.Text(x.c.Moment(x.ad.Created)) }),
	field("update_time", func(w *platform.Writer, x *pack) { w.Text(x.c.Moment(x.modified)) }),
}

func (k *kuaishou) packages(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	fits, at := listOf(p, packageLister)
	list := slices.DeleteFunc(packagesOf(c, a), func(x pack) bool {
		return !fits(&listed{id: x.ad.ID, unit: x.ad.ID, name: x.name, status: x.status, created: x.ad.Created,
			modified: x.modified})
	})
	writePage(k, c, at, list, func(w *platform.Writer, x *pack) { platform.WriteFields(c, w, packageFields, x, false) })
	return nil
}
