package tencent

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// tencentAccountFields are the fields of advertiser/get. The accounts of this world have no values for the platform's
// other fields (tencentAccountUnset), and an answer omits unset fields.
var (
	tencentAccountFields = map[string]platform.Write[*world.Account]{
		"account_id":         func(w *platform.Writer, a *world.Account) { w.Number(a.ID) },
		"corporation_name":   func(w *platform.Writer, a *world.Account) { w.Text(a.Company()) },
		"mdm_id":             func(w *platform.Writer, a *world.Account) { w.Number(9_000_000 + int64(a.Index/7)) },
		"mdm_name":           func(w *platform.Writer, a *world.Account) { w.Text(a.Company()) },
		"daily_budget":       platform.Fixed[*world.Account]("0"),
		"system_industry_id": platform.Fixed[*world.Account]("21474836586"),
		"memo":               func(w *platform.Writer, a *world.Account) { w.Text(a.Name()) },
		"system_status":      platform.Fixed[*world.Account](`"CUSTOMER_STATUS_NORMAL"`),
		"agency_account_id":  platform.Fixed[*world.Account]("0"),
		"operators":          platform.Fixed[*world.Account]("[]"),
	}
	tencentAccountUnset = []string{
		"registration_type", "corporation_licence", "certification_image_id", "certification_image",
		"individual_qualification", "area_code",
		"customized_industry", "introduction_url", "corporate_brand_name", "reject_message", "is_adx", "business_alias",
		"contact_person",
		"contact_person_email", "contact_person_telephone", "contact_person_mobile", "websites",
	}
)

// accountPage is the paging of a list of accounts, whose cursor is a number.
type accountPage struct {
	byCursor   bool
	page, size int
	cursor     int64
}

// accountPage reads the paging. Page and size are required where the documents require them.
func (t *tencent) accountPage(c *platform.Call, pageRequired bool, pagesMax int) (p accountPage,
	err *platform.Failure) {
	mode, err := oneOf(c, tencentPageModeKey, tencentByPage, tencentByCursor)
	if err != nil {
		return p, err
	}
	if mode == "" {
		return p, platform.Failf(18001, tencentPageModeKey)
	}
	if pageRequired && c.Query.Get("page_size") == "" {
		return p, platform.Failf(18001, "page_size")
	}
	p.byCursor = mode == tencentByCursor
	if pageRequired && !p.byCursor && c.Query.Get("page") == "" {
		return p, platform.Failf(18001, "page")
	}
	if p.page, err = integer(c, "page", 1, pagesMax); err != nil {
		return p, err
	}
	if p.size, err = integer(c, "page_size", 10, 100); err != nil {
		return p, err
	}
	if text := c.Query.Get("cursor"); text != "" {
		n, wrong := strconv.ParseInt(text, 10, 64)
		if wrong != nil {
			return p, platform.Failf(18002, "cursor")
		}
		p.cursor = n
	}
	return p, nil
}

// accountList answers with a page of the login's accounts.
func (t *tencent) accountList(c *platform.Call, list []world.Account, p accountPage,
	item func(w *platform.Writer, a *world.Account)) {
	var from, to, total int
	next := p.cursor
	if p.byCursor {
		// The cursor is the last account that was listed.
		from, _ = slices.BinarySearchFunc(list, p.cursor+1,
			func(a world.Account, id int64) int { return cmp.Compare(a.ID, id) })
		to = min(from+p.size, len(list))
		switch {
		case to > from && c.SkipsPage(from, len(list), p.cursor, list[from].ID-1):
			next, to = list[from].ID-1, from
		case to > from:
			next = list[to-1].ID
		}
	} else {
		from, to, total = c.PageOf(p.page, p.size, len(list))
	}
	w := begin(c)
	w.OpenArray("list")
	for i := range list[from:to] {
		w.Open('{')
		item(&w, &list[from+i])
		w.Close('}')
	}
	w.Close(']')
	if p.byCursor {
		w.OpenObject("cursor_page_info")
		w.NumberField("page_size", int64(p.size))
		w.NumberField("total_number", int64(len(list)))
		w.Key("has_more")
		w.Flag(to < len(list))
		w.NumberField("cursor", next)
		w.Close('}')
	} else {
		w.PageInfo(p.page, p.size, total)
	}
	end(c, &w)
}

func (t *tencent) accountsOf(c *platform.Call, l *world.Login) []world.Account {
	list := make([]world.Account, 0, l.Last-l.First)
	for i := l.First; i < l.Last; i++ {
		list = append(list, c.Sim.World.Account(t.about, i))
	}
	return list
}

func (t *tencent) advertisers(c *platform.Call, l *world.Login) *platform.Failure {
	fields, err := readFields(c, func(f string) bool {
		return tencentAccountFields[f] != nil ||
			slices.Contains(tencentAccountUnset, f)
	})
	if err != nil {
		return err
	}
	if fields == nil {
		return platform.Failf(18001, "fields")
	}
	p, err := t.accountPage(c, true, 1000)
	if err != nil {
		return err
	}
	filters, err := readFilters(c, 1, map[string][]string{"corporation_name": {"EQUALS", "CONTAINS"}})
	if err != nil {
		return err
	}
	list, err := t.reached(c, l)
	if err != nil {
		return err
	}
	for _, f := range filters {
		list = slices.DeleteFunc(list, func(a world.Account) bool { return !matches(f, a.Company()) })
	}
	t.accountList(c, list, p, func(w *platform.Writer, a *world.Account) {
		for _, f := range fields {
			if write := tencentAccountFields[f]; write != nil {
				w.Key(f)
				write(w, a)
			}
		}
	})
	return nil
}

func (t *tencent) relations(c *platform.Call, l *world.Login) *platform.Failure {
	if tencentRoleOf(l) != tencentOrganisation {
		// The documents have no code for it. This code answers a login that names an organisation other than its own.
		return platform.Failf(12203, "the login is of no organisation")
	}
	p, err := t.accountPage(c, false, 100)
	if err != nil {
		return err
	}
	if !p.byCursor && p.page*p.size > 1000 {
		return platform.Failf(18003, "page x page_size is at most 1000; use the cursor")
	}
	if _, err := oneOf(c, "advertiser_type", "DIRECT_ADVERTISER", "SUB_ADVERTISER"); err != nil {
		return err
	}
	list := t.accountsOf(c, l)
	if c.Query.Get("account_id") != "" {
		a, err := t.account(c, l)
		if err != nil {
			return err
		}
		list = []world.Account{a}
	}
	t.accountList(c, list, p, func(w *platform.Writer, a *world.Account) {
		w.NumberField("account_id", a.ID)
		w.TextField("corporation_name", a.Company())
		w.Key("is_bid")
		w.Flag(true)
		w.Key("is_mp")
		w.Flag(false)
		w.OpenArray("comment_list")
		w.Close(']')
	})
	return nil
}

// adgroupOrder holds the fields of an ad group that this world has, in the order of an answer to a query that names
// none. The page of adgroups/get has no account_id.
var adgroupOrder = []string{
	"adgroup_id", "adgroup_name", "configured_status", "system_status", "created_time", "last_modified_time",
	"is_deleted", "marketing_goal", "marketing_carrier_type", "marketing_target_type", "begin_date", "end_date",
	"time_series",
	"bid_amount", "bid_mode", "optimization_goal", "daily_budget", "site_set", "deep_conversion_spec", "targeting",
}

// adgroupUnset holds the other fields of the page: they can be requested, and an answer omits unset fields.
var adgroupUnset = []string{
	"targeting_translation", "marketing_sub_goal", "marketing_carrier_detail", "marketing_target_detail",
	"marketing_target_id",
	"first_day_begin_time", "automatic_site_enabled", "scene_spec", "user_action_sets", "conversion_id",
	"deep_conversion_behavior_bid",
	"deep_conversion_worth_rate", "deep_conversion_worth_advanced_rate", "deep_conversion_behavior_advanced_bid",
	"auto_acquisition_enabled",
	"auto_acquisition_budget", "smart_bid_type", "smart_cost_cap", "auto_derived_creative_enabled",
	"auto_derived_creative_preference",
	"search_expand_targeting_switch", "auto_derived_landing_page_switch", "data_model_version", "bid_scene",
	"marketing_target_ext",
	"deep_optimization_type", "flow_optimization_enabled", "marketing_target_attachment", "negative_word_cnt",
	"search_expansion_switch",
	"marketing_asset_id", "promoted_asset_type", "material_package_id", "marketing_asset_outer_spec", "poi_list",
	"marketing_scene",
	"exploration_strategy", "priority_site_set", "ecom_pkam_switch", "forward_link_assist", "conversion_name",
	"auto_acquisition_status",
	"cost_constraint_scene", "custom_cost_cap", "mpa_spec", "short_play_pay_type", "sell_strategy_id",
	"og_completion_type", "dca_spec",
	"aoi_optimization_strategy", "cost_guarantee_status", "cost_guarantee_money", "additional_product_spec",
	"enable_breakthrough_siteset",
	"live_recommend_strategy_enabled", "custom_cost_roi_cap", "enable_steady_exploration", "adx_realtime_type",
	"smart_targeting_status",
}

// tencentTarget is the marketing target of all ads of this world.
const tencentTarget = "MARKETING_TARGET_TYPE_APP_ANDROID"

type adgroup struct{ *world.Object }

var adgroupFields = map[string]platform.Write[adgroup]{
	"adgroup_id":   func(w *platform.Writer, x adgroup) { w.Number(x.ID) },
	"adgroup_name": func(w *platform.Writer, x adgroup) { w.AdName(x.Name) },
	"configured_status": func(w *platform.Writer, x adgroup) {
		if x.Status == world.StatusActive {
			w.Text("AD_STATUS_NORMAL")
		} else {
			w.Text("AD_STATUS_SUSPEND")
		}
	},
	"system_status": func(w *platform.Writer, x adgroup) {
		if x.Status == world.StatusActive && x.Falls(trap.UnknownWord) {
			w.Text("ADGROUP_STATUS_TRIAL_RUN")
			return
		}
		w.Text([...]string{"ADGROUP_STATUS_ACTIVE", "ADGROUP_STATUS_SUSPEND", "ADGROUP_STATUS_DELETED"}[x.Status])
	},
	"created_time":           func(w *platform.Writer, x adgroup) { w.Number(x.Created) },
	"last_modified_time":     func(w *platform.Writer, x adgroup) { w.Number(x.Modified) },
	"is_deleted":             func(w *platform.Writer, x adgroup) { w.Flag(x.Status == world.StatusDeleted) },
	"marketing_goal":         platform.Fixed[adgroup](`"MARKETING_GOAL_USER_GROWTH"`),
	"marketing_carrier_type": platform.Fixed[adgroup](`"MARKETING_CARRIER_TYPE_APP_ANDROID"`),
	"marketing_target_type":  platform.Fixed[adgroup](`"` + tencentTarget + `"`),
	"begin_date":             func(w *platform.Writer, x adgroup) { w.Text(world.FormatDay(world.DayOf(x.Created))) },
	"end_date":               platform.Fixed[adgroup](`""`),
	"time_series":            platform.Fixed[adgroup](`"` + strings.Repeat("1", 7*48) + `"`),
	"bid_amount":             func(w *platform.Writer, x adgroup) { w.Number(x.Bid) },
	"bid_mode":               platform.Fixed[adgroup](`"BID_MODE_OCPM"`),
	"optimization_goal":      platform.Fixed[adgroup](`"OPTIMIZATIONGOAL_APP_ACTIVATE"`),
	"daily_budget":           func(w *platform.Writer, x adgroup) { w.Number(x.Budget) },
	"site_set": func(w *platform.Writer, x adgroup) {
		w.Open('[')
		w.Text(x.Site())
		w.Close(']')
	},
	"deep_conversion_spec": platform.Fixed[adgroup]("{}"),
	"targeting": func(w *platform.Writer, x adgroup) {
		to := x.Aim.Audience()
		w.Open('{')
		w.OpenArray("age")
		w.Open('{')
		w.NumberField("min", to.From)
		w.NumberField("max", to.To)
		w.Close('}')
		w.Close(']')
		if to.Gender != "" {
			w.OpenArray("gender")
			w.Text(to.Gender)
			w.Close(']')
		}
		w.OpenObject("geo_location")
		w.OpenArray("location_types")
		w.Text("LIVE_IN")
		w.Close(']')
		w.OpenArray("regions")
		for _, region := range to.Regions {
			w.Number(region)
		}
		w.Close(']')
		w.Close('}')
		w.Close('}')
	},
}

func (t *tencent) adgroups(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	fields, err := readFields(c, func(f string) bool {
		return adgroupFields[f] != nil ||
			slices.Contains(adgroupUnset, f)
	})
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
	list := slices.DeleteFunc(c.View.Objects(&a), func(o world.Object) bool {
		x := tencentListed{id: o.ID, name: o.Name, status: o.Status, created: o.Created, modified: o.Modified}
		return slices.ContainsFunc(filters, func(f listFilter) bool { return !f.fits(&x) })
	})
	asText := c.Sim.Traps.Holds(c, trap.NumbersAsText)
	return tencentPage(t, c, 0, list, func(o *world.Object) int64 { return o.ID },
		func(w *platform.Writer, o *world.Object) {
			for _, f := range fields {
				if write := adgroupFields[f]; write != nil {
					w.Key(f)
					w.Value(asText && c.IsNumber(f), func() { write(w, adgroup{o}) })
				}
			}
			c.CountTraits(w, &a, o.Traits)
		})
}

// tencentListMax is how many objects numbered pages reach; the others need the cursor.
const tencentListMax = 10_000

// tencentPage answers with a page of a list of objects, by number or by cursor. The cursor counts from a floor below
// all ids.
func tencentPage[T any](t *tencent, c *platform.Call, floor int64, list []T, id func(*T) int64,
	write func(w *platform.Writer, x *T)) *platform.Failure {
	page, err := integer(c, "page", 1, 100)
	if err != nil {
		return err
	}
	size, err := integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	mode, err := oneOf(c, tencentPageModeKey, tencentByPage, tencentByCursor)
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
		from, _ = slices.BinarySearchFunc(list, last+1,
			func(x T, after int64) int { return cmp.Compare(id(&x)-floor, after) })
		if from == 0 && len(list) > tencentListMax {
			c.Sim.Switches.Meet(trap.BeyondPages)
		}
		to = min(from+size, len(list))
		switch {
		case to > from && c.SkipsPage(from, len(list), last, id(&list[from])-floor-1):
			next, to = id(&list[from])-floor-1, from
		case to > from:
			next = id(&list[to-1]) - floor
		}
	} else {
		from, to, total = c.PageOf(page, size, len(list))
	}
	w := begin(c)
	w.OpenArray("list")
	for i := range list[from:to] {
		w.Open('{')
		write(&w, &list[from+i])
		w.Close('}')
	}
	w.Close(']')
	if mode == tencentByCursor {
		cursor := ""
		if to < len(list) && next > 0 {
			cursor = strconv.FormatInt(next, 36) + cursorCheck(c)
		}
		w.OpenObject("cursor_page_info")
		w.NumberField("page_size", int64(size))
		w.NumberField("total_number", int64(len(list)))
		w.TextField("next_cursor", cursor)
		w.TextField("previous_cursor", "")
		w.Close('}')
	} else {
		w.PageInfo(page, size, total)
	}
	end(c, &w)
	return nil
}

// A cursor has at most ten bytes: eight for the last listed object, and a checksum of the other parameters, which
// must not change between pages.
func (t *tencent) readCursor(c *platform.Call) (last int64, _ *platform.Failure) {
	text := c.Query.Get("cursor")
	if text == "" {
		return 0, nil
	}
	id, found := strings.CutSuffix(text, cursorCheck(c))
	last, err := strconv.ParseInt(id, 36, 64)
	if !found || err != nil {
		return 0, platform.Failf(18009, "cursor: it belongs to another query")
	}
	return last, nil
}

func cursorCheck(c *platform.Call) string {
	k := world.Key(1)
	for _, name := range []string{"account_id", "filtering", "fields", "is_deleted", "page_size"} {
		for _, b := range []byte(c.Query.Get(name)) {
			k = k.Sub(uint64(b))
		}
		k = k.Sub(1 << 20)
	}
	n := k.Below(36 * 36)
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	return string([]byte{digits[n/36], digits[n%36]})
}
