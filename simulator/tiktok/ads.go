package tiktok

import (
	"slices"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

type ad struct {
	c       *platform.Call
	account *world.Account
	*world.ListedCreative
}

// format is the format of an ad, by its files.
func (x ad) format() string {
	switch {
	case x.IsVideo():
		return "SINGLE_VIDEO"
	case len(x.Assets(x.account)) == 1:
		return "SINGLE_IMAGE"
	}
	return "CAROUSEL_ADS"
}

// adFields has the cover of a video among the images. Ads of Smart+ campaigns may have no time of modification.
var adFields = []platform.Field[ad]{
	field("ad_id", func(w *platform.Writer, x ad) { writeID(w, x.ID) }),
	field("ad_name", func(w *platform.Writer, x ad) { w.Text(x.Name) }),
	field("adgroup_id", func(w *platform.Writer, x ad) { writeID(w, x.Ad.ID) }),
	field("campaign_id", func(w *platform.Writer, x ad) { writeID(w, x.Ad.Project) }),
	field("advertiser_id", func(w *platform.Writer, x ad) { writeID(w, x.account.ID) }),
	field("ad_text", func(w *platform.Writer, x ad) { w.Text(x.Name) }),
	field("ad_format", func(w *platform.Writer, x ad) { w.Text(x.format()) }),
	field("video_id", func(w *platform.Writer, x ad) {
		if !x.IsVideo() {
			w.Raw("null")
			return
		}
		w.Text(x.Assets(x.account)[0].ID)
	}),
	field("image_ids", func(w *platform.Writer, x ad) {
		w.Open('[')
		for _, file := range x.Assets(x.account) {
			if file.Kind == world.AssetImage {
				w.Text(file.ID)
			}
		}
		w.Close(']')
	}),
	fixed[ad]("landing_page_url", `""`),
	field("operation_status", func(w *platform.Writer, x ad) { w.Text(operationStatus(x.Status)) }),
	field("secondary_status", func(w *platform.Writer, x ad) { w.Text(adKind.secondary(x.Status)) }),
	field("create_time", func(w *platform.Writer, x ad) { writeTime(w, x.Created) }),
	field("modify_time", func(w *platform.Writer, x ad) {
		if isSmart(x.Ad.Project) && x.c.Assumed(smartAdsTimed) == 0 {
			w.Raw("null")
			return
		}
		writeTime(w, x.Modified)
	}),
}

func (t *tiktok) ads(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	fits, fields := conditions(p, adKind), chosen(p, adFields)
	list := slices.DeleteFunc(a.Creatives(c.Now), func(x world.ListedCreative) bool {
		return !fits(&listed{campaign: x.Ad.Project, adGroup: x.Ad.ID, ad: x.ID, status: x.Status, created: x.Created})
	})
	writePage(t, p, pageUsual, list, func(w *platform.Writer, x *world.ListedCreative) {
		platform.WriteFields(c, w, fields, ad{c, a, x}, false)
	})
	return nil
}
