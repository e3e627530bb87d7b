package simulator

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

var oceanInfoOrder = []string{
	"id", "name", "role", "status", "company", "first_industry_name", "second_industry_name", "create_time", "reason",
}

var oceanInfoFields = map[string]write[*account]{
	"id":                   func(w *jsonWriter, a *account) { w.number(a.id) },
	"name":                 func(w *jsonWriter, a *account) { w.text(a.name()) },
	"role":                 fixed[*account](`"ROLE_ADVERTISER"`),
	"status":               fixed[*account](`"STATUS_ENABLE"`),
	"company":              func(w *jsonWriter, a *account) { w.text(a.company()) },
	"first_industry_name":  fixed[*account](`"游戏"`),
	"second_industry_name": fixed[*account](`"手机游戏"`),
	"create_time": func(w *jsonWriter, a *account) {
		w.text(oceanMoment(firstMoment.Unix() - a.key.sub(8).below(900*dayLength)))
	},
	"reason": fixed[*account](`""`),
}

func oceanMoment(moment int64) string { return time.Unix(moment, 0).In(zone).Format(oceanTime) }

// advertiserInfo tells about up to 100 accounts; one that is forbidden fails the whole call.
func (o *oceanEngine) advertiserInfo(c *call, l *login) *apiError {
	var ids []int64
	found, err := o.decode(c, "advertiser_ids", &ids)
	if err != nil {
		return err
	}
	if !found || len(ids) < 1 || len(ids) > 100 {
		return failure(40000, "advertiser_ids has 1 to 100 ids")
	}
	fields, err := o.fields(c, oceanInfoOrder)
	if err != nil {
		return err
	}
	list := make([]account, len(ids))
	for i, id := range ids {
		a, ok := c.sim.world.lookup(o.about, id)
		if !ok || !l.reaches(a.index) || c.sim.world.closed(&a) != "" {
			if len(ids) > 1 {
				c.sim.switches.meet(trapForbiddenID)
			}
			return failure(40002, "advertiser_id %d", id)
		}
		list[i] = a
	}
	if len(ids) > 1 && c.sim.traps.Springs(c, trapForbiddenID) {
		return failure(40002, "advertiser_id %d", ids[len(ids)-1])
	}
	w := o.begin(c)
	w.open('[')
	for i := range list {
		w.open('{')
		for _, f := range fields {
			w.key(f)
			oceanInfoFields[f](&w, &list[i])
		}
		w.close('}')
	}
	w.close(']')
	o.end(c, &w)
	return nil
}

// oceanWindow is a condition on when something was made or modified: a day, or both ends of up to 30 days.
type oceanWindow struct{ from, to int64 } // Unix seconds, both included; zero is no condition

func (x oceanWindow) holds(moment int64) bool {
	return x.to == 0 || (x.from <= moment && moment <= x.to)
}

func oceanSpan(start, end string) (x oceanWindow, _ *apiError) {
	if start == "" && end == "" {
		return x, nil
	}
	from, err := time.ParseInLocation(oceanTime, start, zone)
	if err != nil {
		return x, failure(40000, "filtering: a start and an end of the modification are given together, like 2026-11-15 00:00:00")
	}
	to, err := time.ParseInLocation(oceanTime, end, zone)
	if err != nil {
		return x, failure(40000, "filtering: a start and an end of the modification are given together, like 2026-11-15 23:59:59")
	}
	if to.Before(from) || to.Sub(from) > 30*24*time.Hour {
		return x, failure(40000, "filtering: the modification's span is up to 30 days")
	}
	return oceanWindow{from.Unix(), to.Unix()}, nil
}

func oceanDay(text string) (x oceanWindow, _ *apiError) {
	if text == "" {
		return x, nil
	}
	day, err := parseDay(text)
	if err != nil {
		return x, failure(40000, "filtering: %v", err)
	}
	return oceanWindow{dayStart(day), dayStart(day+1) - 1}, nil
}

// oceanWindows reads the conditions on times that lists share.
func oceanWindows(start, end, modified, created string) (byModified [2]oceanWindow, byCreated oceanWindow, err *apiError) {
	if byModified[0], err = oceanSpan(start, end); err != nil {
		return byModified, byCreated, err
	}
	if byModified[1], err = oceanDay(modified); err != nil {
		return byModified, byCreated, err
	}
	byCreated, err = oceanDay(created)
	return byModified, byCreated, err
}

// promotionConditions are what a list of promotions can be filtered by.
type promotionConditions struct {
	IDs           []int64  `json:"ids"`
	Name          string   `json:"name"`
	ProjectID     int64    `json:"project_id"`
	DeliveryMode  string   `json:"delivery_mode"`
	StatusFirst   string   `json:"status_first"`
	StatusSecond  string   `json:"status_second"`
	LearningPhase []string `json:"learning_phase"`
	RejectReason  string   `json:"reject_reason_type"`
	CreateTime    string   `json:"promotion_create_time"`
	ModifyTime    string   `json:"promotion_modify_time"`
	ModifyStart   string   `json:"promotion_modify_start_time"`
	ModifyEnd     string   `json:"promotion_modify_end_time"`
	Status        string   `json:"status"`
	HasCarry      string   `json:"has_carry_material"`
	BlueFlow      string   `json:"blue_flow_package_setting"`
	StarDelivery  string   `json:"star_delivery_type"`
	StarAuto      string   `json:"star_auto_delivery_switch"`
}

var promotionStatuses = map[string][]status{
	"":                            {statusActive, statusPaused},
	"PROMOTION_STATUS_NOT_DELETE": {statusActive, statusPaused},
	"PROMOTION_STATUS_ALL":        {statusActive, statusPaused, statusDeleted},
	"PROMOTION_STATUS_ENABLE":     {statusActive},
	"PROMOTION_STATUS_DISABLE":    {statusPaused},
	"PROMOTION_STATUS_DELETED":    {statusDeleted},
	"PROMOTION_STATUS_FROZEN":     {},
	"PROMOTION_STATUS_DONE":       {},
}

func (f *promotionConditions) filter(list []object) ([]object, *apiError) {
	statuses, ok := promotionStatuses[f.StatusFirst]
	if !ok {
		return nil, failure(40000, "filtering: status_first %q", f.StatusFirst)
	}
	if f.IDs != nil && (len(f.IDs) < 1 || len(f.IDs) > 20) {
		return nil, failure(40000, "filtering: 1 to 20 ids")
	}
	modified, created, err := oceanWindows(f.ModifyStart, f.ModifyEnd, f.ModifyTime, f.CreateTime)
	if err != nil {
		return nil, err
	}
	// What these name, no promotion of this world has.
	if (f.StatusSecond != "" && f.StatusSecond != "DISABLED") || f.LearningPhase != nil || f.RejectReason != "" {
		return nil, nil
	}
	for _, x := range [][2]string{
		{f.DeliveryMode, "MANUAL"}, {f.HasCarry, "FALSE"}, {f.BlueFlow, "OFF"}, {f.StarDelivery, "NOT_STAR_DELIVERY"}, {f.StarAuto, "OFF"},
	} {
		if x[0] != "" && x[0] != x[1] {
			return nil, nil
		}
	}
	if f.StatusSecond != "" {
		statuses = []status{statusPaused}
	}
	return slices.DeleteFunc(list, func(x object) bool {
		return !slices.Contains(statuses, x.status) || (f.IDs != nil && !slices.Contains(f.IDs, x.id)) ||
			!strings.Contains(x.name, f.Name) || (f.ProjectID != 0 && x.project != f.ProjectID) ||
			!modified[0].holds(x.modified) || !modified[1].holds(x.modified) || !created.holds(x.created)
	}), nil
}

var promotionOrder = []string{
	"promotion_id", "promotion_name", "project_id", "advertiser_id", "promotion_create_time", "promotion_modify_time",
	"status_first", "status_second", "opt_status", "learning_phase", "budget", "budget_mode", "bid", "cpa_bid", "deep_cpabid",
	"roi_goal", "schedule_time", "promotion_materials", "native_setting", "source",
}

// oceanPromotionUnset are fields of the documents that no promotion of this world has (document 1741028841006095).
var oceanPromotionUnset = []string{
	"if_newcustomerdelivery", "aigc_dynamic_creative_switch", "status", "star_task_id", "star_task_version", "star_auto_material_addition_switch",
	"star_auto_delivery_switch", "has_carry_material", "blue_flow_package", "blue_flow_suggestion", "promotion_related_product", "is_comment_disable",
	"ad_download_status", "materials_type", "first_roi_goal", "union_bid_ratio", "union_bid", "union_cpa_bid", "union_deep_cpa_bid",
	"union_roi_goal", "shop_multi_roi_goals", "7d_retention", "creative_auto_generate_switch", "config_id", "brand_info",
}

type promotion struct {
	account *account
	now     int64
	*object
}

var promotionFields = map[string]write[promotion]{
	"promotion_id":          func(w *jsonWriter, x promotion) { w.number(x.id) },
	"promotion_name":        func(w *jsonWriter, x promotion) { w.adName(x.name) },
	"project_id":            func(w *jsonWriter, x promotion) { w.number(x.project) },
	"advertiser_id":         func(w *jsonWriter, x promotion) { w.number(x.account.id) },
	"promotion_create_time": func(w *jsonWriter, x promotion) { w.text(oceanMoment(x.created)) },
	"promotion_modify_time": func(w *jsonWriter, x promotion) { w.text(oceanMoment(x.modified)) },
	"status_first": func(w *jsonWriter, x promotion) {
		w.text([...]string{"PROMOTION_STATUS_ENABLE", "PROMOTION_STATUS_DISABLE", "PROMOTION_STATUS_DELETED"}[x.status])
	},
	"status_second": func(w *jsonWriter, x promotion) {
		w.open('[')
		if x.status == statusPaused {
			w.text("DISABLED")
		}
		w.close(']')
	},
	"opt_status": func(w *jsonWriter, x promotion) {
		switch {
		case x.status == statusActive && x.falls(trapUnknownWord):
			w.text("ENABLE_BY_TRIAL_RUN")
		case x.status == statusActive:
			w.text("ENABLE")
		default:
			w.text("DISABLE")
		}
	},
	"learning_phase":      fixed[promotion](`"DEFAULT"`),
	"budget":              func(w *jsonWriter, x promotion) { w.hundredths(x.budget) },
	"budget_mode":         func(w *jsonWriter, x promotion) { w.text(oceanBudgetMode(x.budget)) },
	"bid":                 fixed[promotion]("0"),
	"cpa_bid":             func(w *jsonWriter, x promotion) { w.hundredths(x.bid) },
	"deep_cpabid":         fixed[promotion]("0"),
	"roi_goal":            fixed[promotion]("0"),
	"schedule_time":       fixed[promotion](`""`),
	"promotion_materials": func(w *jsonWriter, x promotion) { x.writeMaterials(w) },
	"native_setting":      fixed[promotion]("{}"),
	"source":              fixed[promotion](`""`),
}

func oceanBudgetMode(fen int64) string {
	if fen == 0 {
		return "BUDGET_MODE_INFINITE"
	}
	return "BUDGET_MODE_DAY"
}

// oceanListMax is how many rows can be paged through by number; beyond, the cursor is needed.
const oceanListMax = 10_000

func (o *oceanEngine) promotions(c *call, l *login) *apiError {
	a, err := o.advertiser(c, l)
	if err != nil {
		return err
	}
	fields, err := o.fields(c, promotionOrder, oceanPromotionUnset...)
	if err != nil {
		return err
	}
	var conditions promotionConditions
	if _, err := o.decode(c, "filtering", &conditions); err != nil {
		return err
	}
	page, err := o.integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := o.integer(c, "page_size", 10, 20)
	if err != nil {
		return err
	}
	count, err := o.integer(c, "count", 10, 20)
	if err != nil {
		return err
	}
	list, err := conditions.filter(c.view.objects(&a))
	if err != nil {
		return err
	}
	byCursor := c.query.Get("cursor") != "" || c.query.Get("count") != ""
	var from, to, total int
	next := int64(0)
	switch {
	case byCursor && conditions.IDs != nil:
		return failure(40000, "the cursor does not go with filtering.ids")
	case byCursor:
		// The cursor is the last promotion that was told, which clients must not rely on.
		var last int64
		if _, err := o.decode(c, "cursor", &last); err != nil {
			return err
		}
		from, _ = slices.BinarySearchFunc(list, last+1, func(x object, id int64) int { return cmp.Compare(x.id, id) })
		to = min(from+count, len(list))
		switch {
		case to > from && c.skipsPage(from, len(list), last, list[from].id-1):
			next, to = list[from].id-1, from
		case to > from:
			next = list[to-1].id
		default:
			next = last
		}
	case page*size > oceanListMax:
		return failure(40000, "pages reach up to %d rows; use the cursor", oceanListMax)
	default:
		from, to, total = c.pageOf(page, size, len(list))
	}
	asText := c.sim.traps.Holds(c, trapNumbersAsText)
	w := o.begin(c)
	w.open('{')
	w.openArray("list")
	for i := range list[from:to] {
		x := promotion{&a, c.now, &list[from+i]}
		w.open('{')
		for _, f := range fields {
			w.key(f)
			w.value(asText && c.isNumber(f), func() { promotionFields[f](&w, x) })
		}
		c.told(&w, &a, x.traits)
		w.close('}')
	}
	w.close(']')
	if byCursor {
		w.openObject("cursor_info")
		w.key("has_more")
		w.flag(to < len(list))
		w.numberField("count", int64(count))
		w.numberField("cursor", next)
		w.close('}')
	} else {
		w.pageInfo(page, size, total)
	}
	w.close('}')
	o.end(c, &w)
	return nil
}
