package tencent

import (
	"slices"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// creativeOrder holds the fields of a dynamic creative that this world has, in the order of an answer to a query that
// names none. The page of dynamic_creatives/get has no account_id.
var creativeOrder = []string{
	"dynamic_creative_id", "dynamic_creative_name", "adgroup_id", "creative_template_id", "delivery_mode",
	"dynamic_creative_type", "creative_components", "configured_status", "creative_set_approval_status",
	"impression_tracking_url",
	"click_tracking_url", "created_time", "last_modified_time", "is_deleted",
}

// creativeUnset holds the other fields of the page: they can be requested, and an answer omits unset fields.
var creativeUnset = []string{
	"program_creative_info", "page_track_url", "marketing_asset_verification", "source", "asset_inconsistent_status",
	"source_dynamic_creative_id", "creative_insight", "duplicate_component_id_list",
}

type dynamicCreative struct {
	account *world.Account
	*world.ListedCreative
}

var creativeFields = map[string]platform.Write[dynamicCreative]{
	"dynamic_creative_id":   func(w *platform.Writer, x dynamicCreative) { w.Number(x.ID) },
	"dynamic_creative_name": func(w *platform.Writer, x dynamicCreative) { w.Text(x.Name) },
	"adgroup_id":            func(w *platform.Writer, x dynamicCreative) { w.Number(x.Ad.ID) },
	"creative_template_id":  platform.Fixed[dynamicCreative]("1708"),
	"delivery_mode":         platform.Fixed[dynamicCreative](`"DELIVERY_MODE_COMPONENT"`),
	"dynamic_creative_type": platform.Fixed[dynamicCreative](`"DYNAMIC_CREATIVE_TYPE_PROGRAM"`),
	"creative_components":   func(w *platform.Writer, x dynamicCreative) { x.writeComponents(w) },
	"configured_status": func(w *platform.Writer, x dynamicCreative) {
		if x.Status == world.StatusActive {
			w.Text("AD_STATUS_NORMAL")
		} else {
			w.Text("AD_STATUS_SUSPEND")
		}
	},
	"creative_set_approval_status": platform.Fixed[dynamicCreative](`"CREATIVE_SET_APPROVAL_STATUS_NORMAL"`),
	"impression_tracking_url":      platform.Fixed[dynamicCreative](`""`),
	"click_tracking_url":           platform.Fixed[dynamicCreative](`""`),
	"created_time":                 func(w *platform.Writer, x dynamicCreative) { w.Number(x.Created) },
	"last_modified_time":           func(w *platform.Writer, x dynamicCreative) { w.Number(x.Modified) },
	"is_deleted": func(w *platform.Writer,
		x dynamicCreative) {
		w.Flag(x.Status == world.StatusDeleted)
	},
}

// componentsMax bounds the components of a creative: their ids are computed from the creative's id.
const componentsMax = 10

// component writes a component of a creative, with its own id. A component that the advertiser has removed stays,
// marked as deleted.
func (x dynamicCreative) component(w *platform.Writer, n int64, isDeleted bool, value func()) {
	w.Open('{')
	w.NumberField("component_id", x.ID*componentsMax+n)
	w.OpenObject("value")
	value()
	w.Close('}')
	w.Key("is_deleted")
	w.Flag(isDeleted)
	w.Close('}')
}

// writeComponents writes what the creative shows: a video with its cover, an image, or a list of images. After a
// change it still has the earlier ones. Ids of images and videos are texts here, while videos/get has numbers: the
// struct VideoComponent of the platform's SDK (TencentAd/marketing-api-go-sdk, pkg/model/v3) cannot read a number.
func (x dynamicCreative) writeComponents(w *platform.Writer) {
	w.Open('{')
	w.OpenArray("title")
	x.component(w, 0, false, func() { w.TextField("content", x.Name) })
	w.Close(']')
	now := x.Assets(x.account)
	kind := [...]string{"image", "image_list"}[min(len(now)-1, 1)]
	if x.IsVideo() {
		kind = "video"
	}
	w.OpenArray(kind)
	x.component(w, 1, false, func() { x.writeShown(w, now) })
	if x.Swaps > 0 {
		x.component(w, 2, true, func() { x.writeShown(w, x.AssetsOf(x.account, x.Swaps-1)) })
	}
	w.Close(']')
	w.Close('}')
}

func (x dynamicCreative) writeShown(w *platform.Writer, assets []world.Asset) {
	switch {
	case x.IsVideo():
		w.TextField("video_id", assets[0].ID)
		w.TextField("cover_id", assets[1].ID)
	case len(assets) == 1:
		w.TextField("image_id", assets[0].ID)
	default:
		w.OpenArray("list")
		for _, use := range assets {
			w.Open('{')
			w.TextField("image_id", use.ID)
			w.Close('}')
		}
		w.Close(']')
	}
}

// creativeLister has the conditions of a list of dynamic creatives, from the tables of the page of
// dynamic_creatives/get, which has no operators for the last two.
var creativeLister = tencentLister{
	id: "dynamic_creative_id", name: "dynamic_creative_name", parent: "adgroup_id", filtersMax: 10,
	operators: map[string][]string{
		"dynamic_creative_id": {"EQUALS", "IN"}, "dynamic_creative_name": {"EQUALS"}, "created_time": tencentMoments,
		"last_modified_time": tencentMoments, "adgroup_id": {"EQUALS", "IN"}, "configured_status": {"EQUALS"},
		"is_deleted":            {"EQUALS"},
		"adgroup.campaign_type": {"EQUALS"}, "source": {"EQUALS", "IN"}, "component_id": {"EQUALS"},
		"smart_delivery_template_dc_id": {"EQUALS"},
		"data_model_version":            {"EQUALS"},
	},
}

func (t *tencent) creatives(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	fields, err := readFields(c, func(f string) bool {
		return creativeFields[f] != nil ||
			slices.Contains(creativeUnset, f)
	})
	if err != nil {
		return err
	}
	if fields == nil {
		fields = creativeOrder
	}
	filters, err := t.listFilters(c, creativeLister)
	if err != nil {
		return err
	}
	list := creativesThatFit(&a, c.Now, filters)
	return tencentPage(t, c, a.CreativeFloor(), list, func(o *world.Creative) int64 { return o.ID },
		func(w *platform.Writer, o *world.Creative) {
			x := o.At(c.Now)
			for _, f := range fields {
				if write := creativeFields[f]; write != nil {
					w.Key(f)
					write(w, dynamicCreative{&a, &x})
				}
			}
		})
}

// creativesThatFit lists creatives in order of id. An account may have 50,000 and a page shows 100: a creative's
// state is computed only for conditions on it, and for the page.
func creativesThatFit(a *world.Account, now int64, filters []listFilter) (list []world.Creative) {
	a.Ads(now, true, func(x world.Ad) {
		x.EachCreative(a, now, func(c world.Creative) {
			listed := tencentListed{id: c.ID, parent: x.ID, created: c.Created, state: func(l *tencentListed) {
				o := c.At(now)
				l.name, l.status, l.modified = o.Name, o.Status, o.Modified
			}}
			if c.Deleted <= now {
				listed.status = world.StatusDeleted
			}
			if !slices.ContainsFunc(filters, func(f listFilter) bool { return !f.fits(&listed) }) {
				list = append(list, c)
			}
		})
	})
	return list
}
