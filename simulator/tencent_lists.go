package simulator

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// tencentAccountFields are those of advertiser/get. Of what the platform lists beside them (tencentAccountUnset) the
// accounts of this world have nothing, and an answer leaves out what is not set.
var (
	tencentAccountFields = map[string]write[*account]{
		"account_id":         func(w *jsonWriter, a *account) { w.number(a.id) },
		"corporation_name":   func(w *jsonWriter, a *account) { w.text(a.company()) },
		"mdm_id":             func(w *jsonWriter, a *account) { w.number(9_000_000 + int64(a.index/7)) },
		"mdm_name":           func(w *jsonWriter, a *account) { w.text(a.company()) },
		"daily_budget":       fixed[*account]("0"),
		"system_industry_id": fixed[*account]("21474836586"),
		"memo":               func(w *jsonWriter, a *account) { w.text(a.name()) },
		"system_status":      fixed[*account](`"CUSTOMER_STATUS_NORMAL"`),
		"agency_account_id":  fixed[*account]("0"),
		"operators":          fixed[*account]("[]"),
	}
	tencentAccountUnset = []string{
		"registration_type", "corporation_licence", "certification_image_id", "certification_image", "individual_qualification", "area_code",
		"customized_industry", "introduction_url", "corporate_brand_name", "reject_message", "is_adx", "business_alias", "contact_person",
		"contact_person_email", "contact_person_telephone", "contact_person_mobile", "websites",
	}
)

// accountPage reads the paging of a list of accounts, whose cursor is a number.
type accountPage struct {
	byCursor   bool
	page, size int
	cursor     int64
}

// accountPage reads the paging. Page and size are required where the page of the list says so.
func (t *tencent) accountPage(c *call, pageRequired bool, pagesMax int) (p accountPage, err *apiError) {
	mode, err := t.oneOf(c, tencentPageModeKey, tencentByPage, tencentByCursor)
	if err != nil {
		return p, err
	}
	if mode == "" {
		return p, failure(18001, tencentPageModeKey)
	}
	if pageRequired && c.query.Get("page_size") == "" {
		return p, failure(18001, "page_size")
	}
	p.byCursor = mode == tencentByCursor
	if pageRequired && !p.byCursor && c.query.Get("page") == "" {
		return p, failure(18001, "page")
	}
	if p.page, err = t.integer(c, "page", 1, pagesMax); err != nil {
		return p, err
	}
	if p.size, err = t.integer(c, "page_size", 10, 100); err != nil {
		return p, err
	}
	if text := c.query.Get("cursor"); text != "" {
		n, wrong := strconv.ParseInt(text, 10, 64)
		if wrong != nil {
			return p, failure(18002, "cursor")
		}
		p.cursor = n
	}
	return p, nil
}

// accountList answers with a page of the login's accounts.
func (t *tencent) accountList(c *call, list []account, p accountPage, item func(w *jsonWriter, a *account)) {
	var from, to, total int
	next := p.cursor
	if p.byCursor {
		// The cursor is the last account that was told.
		from, _ = slices.BinarySearchFunc(list, p.cursor+1, func(a account, id int64) int { return cmp.Compare(a.id, id) })
		to = min(from+p.size, len(list))
		switch {
		case to > from && c.skipsPage(from, len(list), p.cursor, list[from].id-1):
			next, to = list[from].id-1, from
		case to > from:
			next = list[to-1].id
		}
	} else {
		from, to, total = c.pageOf(p.page, p.size, len(list))
	}
	w := t.begin(c)
	w.openArray("list")
	for i := range list[from:to] {
		w.open('{')
		item(&w, &list[from+i])
		w.close('}')
	}
	w.close(']')
	if p.byCursor {
		w.openObject("cursor_page_info")
		w.numberField("page_size", int64(p.size))
		w.numberField("total_number", int64(len(list)))
		w.key("has_more")
		w.flag(to < len(list))
		w.numberField("cursor", next)
		w.close('}')
	} else {
		w.pageInfo(p.page, p.size, total)
	}
	t.end(c, &w)
}

func (t *tencent) accountsOf(c *call, l *login) []account {
	list := make([]account, 0, l.last-l.first)
	for i := l.first; i < l.last; i++ {
		list = append(list, c.sim.world.account(t.about, i))
	}
	return list
}

func (t *tencent) advertisers(c *call, l *login) *apiError {
	fields, err := t.fields(c, func(f string) bool { return tencentAccountFields[f] != nil || slices.Contains(tencentAccountUnset, f) })
	if err != nil {
		return err
	}
	if fields == nil {
		return failure(18001, "fields")
	}
	p, err := t.accountPage(c, true, 1000)
	if err != nil {
		return err
	}
	filters, err := t.filters(c, 1, map[string][]string{"corporation_name": {"EQUALS", "CONTAINS"}})
	if err != nil {
		return err
	}
	list, err := t.reached(c, l)
	if err != nil {
		return err
	}
	for _, f := range filters {
		list = slices.DeleteFunc(list, func(a account) bool { return !matches(f, a.company()) })
	}
	t.accountList(c, list, p, func(w *jsonWriter, a *account) {
		for _, f := range fields {
			if write := tencentAccountFields[f]; write != nil {
				w.key(f)
				write(w, a)
			}
		}
	})
	return nil
}

func (t *tencent) relations(c *call, l *login) *apiError {
	if tencentRoleOf(l) != tencentOrganisation {
		// The documents have no code for it. This is what a login is told that names an organisation which is not its
		// own.
		return failure(12203, "the login is of no organisation")
	}
	p, err := t.accountPage(c, false, 100)
	if err != nil {
		return err
	}
	if !p.byCursor && p.page*p.size > 1000 {
		return failure(18003, "page x page_size is at most 1000; use the cursor")
	}
	if _, err := t.oneOf(c, "advertiser_type", "DIRECT_ADVERTISER", "SUB_ADVERTISER"); err != nil {
		return err
	}
	list := t.accountsOf(c, l)
	if c.query.Get("account_id") != "" {
		a, err := t.account(c, l)
		if err != nil {
			return err
		}
		list = []account{a}
	}
	t.accountList(c, list, p, func(w *jsonWriter, a *account) {
		w.numberField("account_id", a.id)
		w.textField("corporation_name", a.company())
		w.key("is_bid")
		w.flag(true)
		w.key("is_mp")
		w.flag(false)
		w.openArray("comment_list")
		w.close(']')
	})
	return nil
}

// adgroupOrder are the fields of an ad group that this world has, in the order in which they are told when none are
// named. The page of adgroups/get has no account_id among them.
var adgroupOrder = []string{
	"adgroup_id", "adgroup_name", "configured_status", "system_status", "created_time", "last_modified_time",
	"is_deleted", "marketing_goal", "marketing_carrier_type", "marketing_target_type", "begin_date", "end_date", "time_series",
	"bid_amount", "bid_mode", "optimization_goal", "daily_budget", "site_set", "deep_conversion_spec", "targeting",
}

// adgroupUnset are the other fields of the page: they can be asked for, and an answer leaves out what is not set.
var adgroupUnset = []string{
	"targeting_translation", "marketing_sub_goal", "marketing_carrier_detail", "marketing_target_detail", "marketing_target_id",
	"first_day_begin_time", "automatic_site_enabled", "scene_spec", "user_action_sets", "conversion_id", "deep_conversion_behavior_bid",
	"deep_conversion_worth_rate", "deep_conversion_worth_advanced_rate", "deep_conversion_behavior_advanced_bid", "auto_acquisition_enabled",
	"auto_acquisition_budget", "smart_bid_type", "smart_cost_cap", "auto_derived_creative_enabled", "auto_derived_creative_preference",
	"search_expand_targeting_switch", "auto_derived_landing_page_switch", "data_model_version", "bid_scene", "marketing_target_ext",
	"deep_optimization_type", "flow_optimization_enabled", "marketing_target_attachment", "negative_word_cnt", "search_expansion_switch",
	"marketing_asset_id", "promoted_asset_type", "material_package_id", "marketing_asset_outer_spec", "poi_list", "marketing_scene",
	"exploration_strategy", "priority_site_set", "ecom_pkam_switch", "forward_link_assist", "conversion_name", "auto_acquisition_status",
	"cost_constraint_scene", "custom_cost_cap", "mpa_spec", "short_play_pay_type", "sell_strategy_id", "og_completion_type", "dca_spec",
	"aoi_optimization_strategy", "cost_guarantee_status", "cost_guarantee_money", "additional_product_spec", "enable_breakthrough_siteset",
	"live_recommend_strategy_enabled", "custom_cost_roi_cap", "enable_steady_exploration", "adx_realtime_type", "smart_targeting_status",
}

// tencentTarget is what all ads of this world are for.
const tencentTarget = "MARKETING_TARGET_TYPE_APP_ANDROID"

type adgroup struct{ *object }

var adgroupFields = map[string]write[adgroup]{
	"adgroup_id":   func(w *jsonWriter, x adgroup) { w.number(x.id) },
	"adgroup_name": func(w *jsonWriter, x adgroup) { w.adName(x.name) },
	"configured_status": func(w *jsonWriter, x adgroup) {
		if x.status == statusActive {
			w.text("AD_STATUS_NORMAL")
		} else {
			w.text("AD_STATUS_SUSPEND")
		}
	},
	"system_status": func(w *jsonWriter, x adgroup) {
		if x.status == statusActive && x.falls(trapUnknownWord) {
			w.text("ADGROUP_STATUS_TRIAL_RUN")
			return
		}
		w.text([...]string{"ADGROUP_STATUS_ACTIVE", "ADGROUP_STATUS_SUSPEND", "ADGROUP_STATUS_DELETED"}[x.status])
	},
	"created_time":           func(w *jsonWriter, x adgroup) { w.number(x.created) },
	"last_modified_time":     func(w *jsonWriter, x adgroup) { w.number(x.modified) },
	"is_deleted":             func(w *jsonWriter, x adgroup) { w.flag(x.status == statusDeleted) },
	"marketing_goal":         fixed[adgroup](`"MARKETING_GOAL_USER_GROWTH"`),
	"marketing_carrier_type": fixed[adgroup](`"MARKETING_CARRIER_TYPE_APP_ANDROID"`),
	"marketing_target_type":  fixed[adgroup](`"` + tencentTarget + `"`),
	"begin_date":             func(w *jsonWriter, x adgroup) { w.text(formatDay(dayOf(x.created))) },
	"end_date":               fixed[adgroup](`""`),
	"time_series":            fixed[adgroup](`"` + strings.Repeat("1", 7*48) + `"`),
	"bid_amount":             func(w *jsonWriter, x adgroup) { w.number(x.bid) },
	"bid_mode":               fixed[adgroup](`"BID_MODE_OCPM"`),
	"optimization_goal":      fixed[adgroup](`"OPTIMIZATIONGOAL_APP_ACTIVATE"`),
	"daily_budget":           func(w *jsonWriter, x adgroup) { w.number(x.budget) },
	"site_set": func(w *jsonWriter, x adgroup) {
		w.open('[')
		w.text(x.site())
		w.close(']')
	},
	"deep_conversion_spec": fixed[adgroup]("{}"),
	"targeting": func(w *jsonWriter, x adgroup) {
		to := x.aim.audience()
		w.open('{')
		w.openArray("age")
		w.open('{')
		w.numberField("min", to.from)
		w.numberField("max", to.to)
		w.close('}')
		w.close(']')
		if to.gender != "" {
			w.openArray("gender")
			w.text(to.gender)
			w.close(']')
		}
		w.openObject("geo_location")
		w.openArray("location_types")
		w.text("LIVE_IN")
		w.close(']')
		w.openArray("regions")
		for _, region := range to.regions {
			w.number(region)
		}
		w.close(']')
		w.close('}')
		w.close('}')
	},
}

func (t *tencent) adgroups(c *call, l *login) *apiError {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	fields, err := t.fields(c, func(f string) bool { return adgroupFields[f] != nil || slices.Contains(adgroupUnset, f) })
	if err != nil {
		return err
	}
	if fields == nil {
		fields = adgroupOrder
	}
	filters, err := t.listFilters(c, adgroupLister)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(c.view.objects(&a), func(o object) bool {
		x := tencentListed{id: o.id, name: o.name, status: o.status, created: o.created, modified: o.modified}
		return slices.ContainsFunc(filters, func(f listFilter) bool { return !f.fits(&x) })
	})
	asText := c.sim.traps.Holds(c, trapNumbersAsText)
	return tencentPage(t, c, 0, list, func(o *object) int64 { return o.id }, func(w *jsonWriter, o *object) {
		for _, f := range fields {
			if write := adgroupFields[f]; write != nil {
				w.key(f)
				w.value(asText && c.isNumber(f), func() { write(w, adgroup{o}) })
			}
		}
		c.told(w, &a, o.traits)
	})
}

// tencentListMax is how many objects can be paged through by number; beyond, the cursor is needed.
const tencentListMax = 10_000

// tencentPage answers with a page of a list of objects, by number or by cursor, which counts from a floor below all ids.
func tencentPage[T any](t *tencent, c *call, floor int64, list []T, id func(*T) int64, write func(w *jsonWriter, x *T)) *apiError {
	page, err := t.integer(c, "page", 1, 100)
	if err != nil {
		return err
	}
	size, err := t.integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	mode, err := t.oneOf(c, tencentPageModeKey, tencentByPage, tencentByCursor)
	if err != nil {
		return err
	}
	var from, to, total int
	var next int64
	if mode == tencentByCursor {
		last, err := t.readCursor(c)
		if err != nil {
			return err
		}
		from, _ = slices.BinarySearchFunc(list, last+1, func(x T, after int64) int { return cmp.Compare(id(&x)-floor, after) })
		if from == 0 && len(list) > tencentListMax {
			c.sim.switches.meet(trapBeyondPages)
		}
		to = min(from+size, len(list))
		switch {
		case to > from && c.skipsPage(from, len(list), last, id(&list[from])-floor-1):
			next, to = id(&list[from])-floor-1, from
		case to > from:
			next = id(&list[to-1]) - floor
		}
	} else {
		from, to, total = c.pageOf(page, size, len(list))
	}
	w := t.begin(c)
	w.openArray("list")
	for i := range list[from:to] {
		w.open('{')
		write(&w, &list[from+i])
		w.close('}')
	}
	w.close(']')
	if mode == tencentByCursor {
		cursor := ""
		if to < len(list) && next > 0 {
			cursor = strconv.FormatInt(next, 36) + cursorCheck(c)
		}
		w.openObject("cursor_page_info")
		w.numberField("page_size", int64(size))
		w.numberField("total_number", int64(len(list)))
		w.textField("next_cursor", cursor)
		w.textField("previous_cursor", "")
		w.close('}')
	} else {
		w.pageInfo(page, size, total)
	}
	t.end(c, &w)
	return nil
}

// A cursor is at most ten bytes: the last object told, in eight, and a check of the other parameters, which must stay the
// same along the way.
func (t *tencent) readCursor(c *call) (last int64, _ *apiError) {
	text := c.query.Get("cursor")
	if text == "" {
		return 0, nil
	}
	id, found := strings.CutSuffix(text, cursorCheck(c))
	last, err := strconv.ParseInt(id, 36, 64)
	if !found || err != nil {
		return 0, failure(18009, "cursor: it is of another query")
	}
	return last, nil
}

func cursorCheck(c *call) string {
	k := key(1)
	for _, name := range []string{"account_id", "filtering", "fields", "is_deleted", "page_size"} {
		for _, b := range []byte(c.query.Get(name)) {
			k = k.sub(uint64(b))
		}
		k = k.sub(1 << 20)
	}
	n := k.below(36 * 36)
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	return string([]byte{digits[n/36], digits[n%36]})
}
