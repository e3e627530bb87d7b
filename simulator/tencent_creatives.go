package simulator

import "slices"

// creativeOrder are the fields of a dynamic creative that this world has, in the order in which they are told when none
// are named. The page of dynamic_creatives/get has no account_id among them.
var creativeOrder = []string{
	"dynamic_creative_id", "dynamic_creative_name", "adgroup_id", "creative_template_id", "delivery_mode",
	"dynamic_creative_type", "creative_components", "configured_status", "creative_set_approval_status", "impression_tracking_url",
	"click_tracking_url", "created_time", "last_modified_time", "is_deleted",
}

// creativeUnset are the other fields of the page: they can be asked for, and an answer leaves out what is not set.
var creativeUnset = []string{
	"program_creative_info", "page_track_url", "marketing_asset_verification", "source", "asset_inconsistent_status",
	"source_dynamic_creative_id", "creative_insight", "duplicate_component_id_list",
}

type dynamicCreative struct {
	account *account
	*listedCreative
}

var creativeFields = map[string]write[dynamicCreative]{
	"dynamic_creative_id":   func(w *jsonWriter, x dynamicCreative) { w.number(x.id) },
	"dynamic_creative_name": func(w *jsonWriter, x dynamicCreative) { w.text(x.name) },
	"adgroup_id":            func(w *jsonWriter, x dynamicCreative) { w.number(x.ad.id) },
	"creative_template_id":  fixed[dynamicCreative]("1708"),
	"delivery_mode":         fixed[dynamicCreative](`"DELIVERY_MODE_COMPONENT"`),
	"dynamic_creative_type": fixed[dynamicCreative](`"DYNAMIC_CREATIVE_TYPE_PROGRAM"`),
	"creative_components":   func(w *jsonWriter, x dynamicCreative) { x.writeComponents(w) },
	"configured_status": func(w *jsonWriter, x dynamicCreative) {
		if x.status == statusActive {
			w.text("AD_STATUS_NORMAL")
		} else {
			w.text("AD_STATUS_SUSPEND")
		}
	},
	"creative_set_approval_status": fixed[dynamicCreative](`"CREATIVE_SET_APPROVAL_STATUS_NORMAL"`),
	"impression_tracking_url":      fixed[dynamicCreative](`""`),
	"click_tracking_url":           fixed[dynamicCreative](`""`),
	"created_time":                 func(w *jsonWriter, x dynamicCreative) { w.number(x.created) },
	"last_modified_time":           func(w *jsonWriter, x dynamicCreative) { w.number(x.modified) },
	"is_deleted":                   func(w *jsonWriter, x dynamicCreative) { w.flag(x.status == statusDeleted) },
}

// componentsMax bounds the components of a creative: its id and theirs are of one number.
const componentsMax = 10

// component is a component of a creative, with an id of its own. Those that the advertiser has taken out stay, as
// deleted ones.
func (x dynamicCreative) component(w *jsonWriter, n int64, isDeleted bool, value func()) {
	w.open('{')
	w.numberField("component_id", x.id*componentsMax+n)
	w.openObject("value")
	value()
	w.close('}')
	w.key("is_deleted")
	w.flag(isDeleted)
	w.close('}')
}

// writeComponents tells what the creative shows: a video with its cover, an image, or a list of images. A creative that
// was given others still tells what it showed before. Ids of images and videos are texts here, while videos/get has
// numbers: the struct VideoComponent of the platform's SDK (TencentAd/marketing-api-go-sdk, pkg/model/v3) cannot read a
// number.
func (x dynamicCreative) writeComponents(w *jsonWriter) {
	w.open('{')
	w.openArray("title")
	x.component(w, 0, false, func() { w.textField("content", x.name) })
	w.close(']')
	now := x.assets(x.account)
	kind := [...]string{"image", "image_list"}[min(len(now)-1, 1)]
	if x.isVideo() {
		kind = "video"
	}
	w.openArray(kind)
	x.component(w, 1, false, func() { x.writeShown(w, now) })
	if x.swaps > 0 {
		x.component(w, 2, true, func() { x.writeShown(w, x.assetsOf(x.account, x.swaps-1)) })
	}
	w.close(']')
	w.close('}')
}

func (x dynamicCreative) writeShown(w *jsonWriter, assets []asset) {
	switch {
	case x.isVideo():
		w.textField("video_id", assets[0].id)
		w.textField("cover_id", assets[1].id)
	case len(assets) == 1:
		w.textField("image_id", assets[0].id)
	default:
		w.openArray("list")
		for _, use := range assets {
			w.open('{')
			w.textField("image_id", use.id)
			w.close('}')
		}
		w.close(']')
	}
}

// creativeLister has the conditions that a list of dynamic creatives takes, from the tables of the page of
// dynamic_creatives/get, which names no operators for the last two.
var creativeLister = tencentLister{
	id: "dynamic_creative_id", name: "dynamic_creative_name", parent: "adgroup_id", filtersMax: 10,
	operators: map[string][]string{
		"dynamic_creative_id": {"EQUALS", "IN"}, "dynamic_creative_name": {"EQUALS"}, "created_time": tencentMoments,
		"last_modified_time": tencentMoments, "adgroup_id": {"EQUALS", "IN"}, "configured_status": {"EQUALS"}, "is_deleted": {"EQUALS"},
		"adgroup.campaign_type": {"EQUALS"}, "source": {"EQUALS", "IN"}, "component_id": {"EQUALS"}, "smart_delivery_template_dc_id": {"EQUALS"},
		"data_model_version": {"EQUALS"},
	},
}

func (t *tencent) creatives(c *call, l *login) *apiError {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	fields, err := t.fields(c, func(f string) bool { return creativeFields[f] != nil || slices.Contains(creativeUnset, f) })
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
	list := creativesThatFit(&a, c.now, filters)
	return tencentPage(t, c, a.creativeFloor(), list, func(o *creative) int64 { return o.id }, func(w *jsonWriter, o *creative) {
		x := o.at(c.now)
		for _, f := range fields {
			if write := creativeFields[f]; write != nil {
				w.key(f)
				write(w, dynamicCreative{&a, &x})
			}
		}
	})
}

// creativesThatFit lists creatives in the order of their ids. An account may have 50,000 and a page shows 100: the state of
// one is made only where a condition is about it, and for the page.
func creativesThatFit(a *account, now int64, filters []listFilter) (list []creative) {
	a.ads(now, true, func(x ad) {
		x.eachCreative(a, now, func(c creative) {
			listed := tencentListed{id: c.id, parent: x.id, created: c.created, state: func(l *tencentListed) {
				o := c.at(now)
				l.name, l.status, l.modified = o.name, o.status, o.modified
			}}
			if c.deleted <= now {
				listed.status = statusDeleted
			}
			if !slices.ContainsFunc(filters, func(f listFilter) bool { return !f.fits(&listed) }) {
				list = append(list, c)
			}
		})
	})
	return list
}
