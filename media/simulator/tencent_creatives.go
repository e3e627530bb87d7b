package simulator

import "slices"

// creativeOrder are the fields of a dynamic creative, in the order in which they are told when none are named.
var creativeOrder = []string{
	"account_id", "dynamic_creative_id", "dynamic_creative_name", "adgroup_id", "creative_template_id", "delivery_mode",
	"dynamic_creative_type", "creative_components", "configured_status", "creative_set_approval_status", "impression_tracking_url",
	"click_tracking_url", "created_time", "last_modified_time", "is_deleted",
}

type dynamicCreative struct {
	account *account
	*listedCreative
}

var creativeFields = map[string]write[dynamicCreative]{
	"account_id":            func(w *jsonWriter, x dynamicCreative) { w.number(x.account.id) },
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

// writeComponents tells what the creative shows: a video with its cover, an image, or a list of images.
func (x dynamicCreative) writeComponents(w *jsonWriter) {
	assets := x.assets(x.account)
	w.open('{')
	w.openArray("title")
	w.open('{')
	w.openObject("value")
	w.textField("content", x.name)
	w.close('}')
	w.close('}')
	w.close(']')
	switch {
	case x.isVideo():
		w.openArray("video")
		w.open('{')
		w.openObject("value")
		w.key("video_id")
		w.raw(assets[0].id)
		w.textField("cover_id", assets[1].id)
		w.close('}')
		w.close('}')
		w.close(']')
	case len(assets) == 1:
		w.openArray("image")
		w.open('{')
		w.openObject("value")
		w.textField("image_id", assets[0].id)
		w.close('}')
		w.close('}')
		w.close(']')
	default:
		w.openArray("image_list")
		w.open('{')
		w.openObject("value")
		w.openArray("list")
		for _, use := range assets {
			w.open('{')
			w.textField("image_id", use.id)
			w.close('}')
		}
		w.close(']')
		w.close('}')
		w.close('}')
		w.close(']')
	}
	w.close('}')
}

// creativeLister has the conditions that a list of dynamic creatives takes.
var creativeLister = tencentLister{
	id: "dynamic_creative_id", name: "dynamic_creative_name", parent: "adgroup_id", filtersMax: 10,
	operators: map[string][]string{
		"dynamic_creative_id": {"EQUALS", "IN"}, "dynamic_creative_name": {"EQUALS", "CONTAINS"}, "created_time": tencentMoments,
		"last_modified_time": tencentMoments, "adgroup_id": {"EQUALS", "IN"}, "configured_status": {"EQUALS"}, "is_deleted": {"EQUALS"},
		"source": {"EQUALS"}, "component_id": {"EQUALS"}, "smart_delivery_template_dc_id": {"EQUALS"}, "data_model_version": {"EQUALS"},
	},
}

func (t *tencent) creatives(c *call, l *login) *apiError {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	fields, err := t.fields(c, func(f string) bool { return creativeFields[f] != nil })
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
			w.key(f)
			creativeFields[f](w, dynamicCreative{&a, &x})
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
