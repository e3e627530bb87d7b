package oceanengine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

var oceanInfoOrder = []string{
	"id", "name", "role", "status", "company", "first_industry_name", "second_industry_name", "create_time", "reason",
}

var oceanInfoFields = map[string]platform.Write[*world.Account]{
	"id":                   func(w *platform.Writer, a *world.Account) { w.Number(a.ID) },
	"name":                 func(w *platform.Writer, a *world.Account) { w.Text(a.Name()) },
	"role":                 platform.Fixed[*world.Account](`"ROLE_ADVERTISER"`),
	"status":               platform.Fixed[*world.Account](`"STATUS_ENABLE"`),
	"company":              func(w *platform.Writer, a *world.Account) { w.Text(a.Company()) },
	"first_industry_name":  platform.Fixed[*world.Account](`"游戏"`),
	"second_industry_name": platform.Fixed[*world.Account](`"手机游戏"`),
	"create_time": func(w *platform.Writer, a *world.Account) {
		w.Text(oceanMoment(world.FirstMoment.Unix() - a.Key.Sub(8).Below(900*world.DayLength)))
	},
	"reason": platform.Fixed[*world.Account](`""`),
}

func oceanMoment(moment int64) string { return time.Unix(moment, 0).In(world.Zone).Format(oceanTime) }

// advertiserInfo returns the details of up to 100 accounts; a forbidden one fails the whole call.
func (o *oceanEngine) advertiserInfo(c *platform.Call, l *world.Login) *platform.Failure {
	var ids []int64
	found, err := decode(c, "advertiser_ids", &ids)
	if err != nil {
		return err
	}
	if !found || len(ids) < 1 || len(ids) > 100 {
		return platform.Failf(40000, "advertiser_ids has 1 to 100 ids")
	}
	fields, err := readFields(c, oceanInfoOrder)
	if err != nil {
		return err
	}
	list := make([]world.Account, len(ids))
	for i, id := range ids {
		a, ok := c.Sim.World.Lookup(o.about, id)
		if !ok || !l.Reaches(a.Index) || c.Sim.World.Closed(&a) != "" {
			if len(ids) > 1 {
				c.Sim.Switches.Meet(trap.ForbiddenID)
			}
			return platform.Failf(40002, "advertiser_id %d", id)
		}
		list[i] = a
	}
	if len(ids) > 1 && c.Sim.Traps.Springs(c, trap.ForbiddenID) {
		return platform.Failf(40002, "advertiser_id %d", ids[len(ids)-1])
	}
	w := o.begin(c)
	w.Open('[')
	for i := range list {
		w.Open('{')
		for _, f := range fields {
			w.Key(f)
			oceanInfoFields[f](&w, &list[i])
		}
		w.Close('}')
	}
	w.Close(']')
	o.end(c, &w)
	return nil
}

// oceanWindow is a condition on a time of creation or modification: a day, or both ends of up to 30 days.
type oceanWindow struct{ from, to int64 } // Unix seconds, both included; zero is no condition

func (x oceanWindow) holds(moment int64) bool {
	return x.to == 0 || (x.from <= moment && moment <= x.to)
}

func oceanSpan(start, end string) (x oceanWindow, _ *platform.Failure) {
	if start == "" && end == "" {
		return x, nil
	}
	from, err := time.ParseInLocation(oceanTime, start, world.Zone)
	if err != nil {
		return x,
			platform.Failf(40000,
				"filtering: a start and an end of the modification are given together, like 2026-11-15 00:00:00")
	}
	to, err := time.ParseInLocation(oceanTime, end, world.Zone)
	if err != nil {
		return x,
			platform.Failf(40000,
				"filtering: a start and an end of the modification are given together, like 2026-11-15 23:59:59")
	}
	if to.Before(from) || to.Sub(from) > 30*24*time.Hour {
		return x, platform.Failf(40000, "filtering: the modification's span is up to 30 days")
	}
	return oceanWindow{from.Unix(), to.Unix()}, nil
}

func oceanDay(text string) (x oceanWindow, _ *platform.Failure) {
	if text == "" {
		return x, nil
	}
	day, err := world.ParseDay(text)
	if err != nil {
		return x, platform.Failf(40000, "filtering: %v", err)
	}
	return oceanWindow{world.DayStart(day), world.DayStart(day+1) - 1}, nil
}

// oceanWindows reads the conditions on times that lists share.
func oceanWindows(start, end, modified, created string) (byModified [2]oceanWindow, byCreated oceanWindow,
	err *platform.Failure) {
	if byModified[0], err = oceanSpan(start, end); err != nil {
		return byModified, byCreated, err
	}
	if byModified[1], err = oceanDay(modified); err != nil {
		return byModified, byCreated, err
	}
	byCreated, err = oceanDay(created)
	return byModified, byCreated, err
}

// promotionConditions are the conditions of a list of promotions.
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

var promotionStatuses = map[string][]world.Status{
	"":                            {world.StatusActive, world.StatusPaused},
	"PROMOTION_STATUS_NOT_DELETE": {world.StatusActive, world.StatusPaused},
	"PROMOTION_STATUS_ALL":        {world.StatusActive, world.StatusPaused, world.StatusDeleted},
	"PROMOTION_STATUS_ENABLE":     {world.StatusActive},
	"PROMOTION_STATUS_DISABLE":    {world.StatusPaused},
	"PROMOTION_STATUS_DELETED":    {world.StatusDeleted},
	"PROMOTION_STATUS_FROZEN":     {},
	"PROMOTION_STATUS_DONE":       {},
}

func (f *promotionConditions) filter(list []world.Object) ([]world.Object, *platform.Failure) {
	statuses, ok := promotionStatuses[f.StatusFirst]
	if !ok {
		return nil, platform.Failf(40000, "filtering: status_first %q", f.StatusFirst)
	}
	if f.IDs != nil && (len(f.IDs) < 1 || len(f.IDs) > 20) {
		return nil, platform.Failf(40000, "filtering: 1 to 20 ids")
	}
	modified, created, err := oceanWindows(f.ModifyStart, f.ModifyEnd, f.ModifyTime, f.CreateTime)
	if err != nil {
		return nil, err
	}
	// No promotion of this world has these.
	if (f.StatusSecond != "" && f.StatusSecond != "DISABLED") || f.LearningPhase != nil || f.RejectReason != "" {
		return nil, nil
	}
	for _, x := range [][2]string{
		{f.DeliveryMode, "MANUAL"}, {f.HasCarry, "FALSE"}, {f.BlueFlow, "OFF"}, {f.StarDelivery, "NOT_STAR_DELIVERY"},
		{f.StarAuto, "OFF"},
	} {
		if x[0] != "" && x[0] != x[1] {
			return nil, nil
		}
	}
	if f.StatusSecond != "" {
		statuses = []world.Status{world.StatusPaused}
	}
	return slices.DeleteFunc(list, func(x world.Object) bool {
		return !slices.Contains(statuses, x.Status) || (f.IDs != nil && !slices.Contains(f.IDs, x.ID)) ||
			!strings.Contains(x.Name, f.Name) || (f.ProjectID != 0 && x.Project != f.ProjectID) ||
			!modified[0].holds(x.Modified) || !modified[1].holds(x.Modified) || !created.holds(x.Created)
	}), nil
}

var promotionOrder = []string{
	"promotion_id", "promotion_name", "project_id", "advertiser_id", "promotion_create_time", "promotion_modify_time",
	"status_first", "status_second", "opt_status", "learning_phase", "budget", "budget_mode", "bid", "cpa_bid",
	"deep_cpabid",
	"roi_goal", "schedule_time", "promotion_materials", "native_setting", "source",
}

// oceanPromotionUnset are fields of the documents that no promotion of this world has (document 1741028841006095).
var oceanPromotionUnset = []string{
	"if_newcustomerdelivery", "aigc_dynamic_creative_switch", "status", "star_task_id", "star_task_version",
	"star_auto_material_addition_switch",
	"star_auto_delivery_switch", "has_carry_material", "blue_flow_package", "blue_flow_suggestion",
	"promotion_related_product", "is_comment_disable",
	"ad_download_status", "materials_type", "first_roi_goal", "union_bid_ratio", "union_bid", "union_cpa_bid",
	"union_deep_cpa_bid",
	"union_roi_goal", "shop_multi_roi_goals", "7d_retention", "creative_auto_generate_switch", "config_id", "brand_info",
}

type promotion struct {
	account *world.Account
	now     int64
	*world.Object
}

var promotionFields = map[string]platform.Write[promotion]{
	"promotion_id":          func(w *platform.Writer, x promotion) { w.Number(x.ID) },
	"promotion_name":        func(w *platform.Writer, x promotion) { w.AdName(x.Name) },
	"project_id":            func(w *platform.Writer, x promotion) { w.Number(x.Project) },
	"advertiser_id":         func(w *platform.Writer, x promotion) { w.Number(x.account.ID) },
	"promotion_create_time": func(w *platform.Writer, x promotion) { w.Text(oceanMoment(x.Created)) },
	"promotion_modify_time": func(w *platform.Writer, x promotion) { w.Text(oceanMoment(x.Modified)) },
	"status_first": func(w *platform.Writer, x promotion) {
		w.Text([...]string{"PROMOTION_STATUS_ENABLE", "PROMOTION_STATUS_DISABLE", "PROMOTION_STATUS_DELETED"}[x.Status])
	},
	"status_second": func(w *platform.Writer, x promotion) {
		w.Open('[')
		if x.Status == world.StatusPaused {
			w.Text("DISABLED")
		}
		w.Close(']')
	},
	"opt_status": func(w *platform.Writer, x promotion) {
		switch {
		case x.Status == world.StatusActive && x.Falls(trap.UnknownWord):
			w.Text("ENABLE_BY_TRIAL_RUN")
		case x.Status == world.StatusActive:
			w.Text("ENABLE")
		default:
			w.Text("DISABLE")
		}
	},
	"learning_phase":      platform.Fixed[promotion](`"DEFAULT"`),
	"budget":              func(w *platform.Writer, x promotion) { w.Hundredths(x.Budget) },
	"budget_mode":         func(w *platform.Writer, x promotion) { w.Text(oceanBudgetMode(x.Budget)) },
	"bid":                 platform.Fixed[promotion]("0"),
	"cpa_bid":             func(w *platform.Writer, x promotion) { w.Hundredths(x.Bid) },
	"deep_cpabid":         platform.Fixed[promotion]("0"),
	"roi_goal":            platform.Fixed[promotion]("0"),
	"schedule_time":       platform.Fixed[promotion](`""`),
	"promotion_materials": func(w *platform.Writer, x promotion) { x.writeMaterials(w) },
	"native_setting":      platform.Fixed[promotion]("{}"),
	"source":              platform.Fixed[promotion](`""`),
}

func oceanBudgetMode(fen int64) string {
	if fen == 0 {
		return "BUDGET_MODE_INFINITE"
	}
	return "BUDGET_MODE_DAY"
}

// oceanListMax is how many rows numbered pages reach; the others need the cursor.
const oceanListMax = 10_000

func (o *oceanEngine) promotions(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := o.advertiser(c, l)
	if err != nil {
		return err
	}
	fields, err := readFields(c, promotionOrder, oceanPromotionUnset...)
	if err != nil {
		return err
	}
	var conditions promotionConditions
	if _, err := decode(c, "filtering", &conditions); err != nil {
		return err
	}
	page, err := integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := integer(c, "page_size", 10, 20)
	if err != nil {
		return err
	}
	count, err := integer(c, "count", 10, 20)
	if err != nil {
		return err
	}
	list, err := conditions.filter(c.View.Objects(&a))
	if err != nil {
		return err
	}
	p, err := promotionPageOf(c, list, conditions.IDs != nil, page, size, count)
	if err != nil {
		return err
	}
	o.tellPromotions(c, &a, list, p, fields, page, size, count)
	return nil
}

func (o *oceanEngine) tellPromotions(c *platform.Call, a *world.Account, list []world.Object, p promotionPage,
	fields []string, page, size, count int) {
	asText := c.Sim.Traps.Holds(c, trap.NumbersAsText)
	w := o.begin(c)
	w.Open('{')
	w.OpenArray("list")
	for i := range list[p.from:p.to] {
		x := promotion{a, c.Now, &list[p.from+i]}
		w.Open('{')
		for _, f := range fields {
			w.Key(f)
			w.Value(asText && c.IsNumber(f), func() { promotionFields[f](&w, x) })
		}
		c.CountTraits(&w, a, x.Traits)
		w.Close('}')
	}
	w.Close(']')
	if p.byCursor {
		w.OpenObject("cursor_info")
		w.Key("has_more")
		w.Flag(p.to < len(list))
		w.NumberField("count", int64(count))
		w.NumberField("cursor", p.next)
		w.Close('}')
	} else {
		w.PageInfo(page, size, p.total)
	}
	w.Close('}')
	o.end(c, &w)
}

// promotionPage is the paging of a list of promotions, by number or by cursor.
type promotionPage struct {
	from, to int
	total    int   // for a page by number
	next     int64 // the cursor of the page after one by cursor
	byCursor bool
}

func promotionPageOf(c *platform.Call, list []world.Object, byIDs bool, page, size, count int) (p promotionPage,
	_ *platform.Failure) {
	p.byCursor = c.Query.Get("cursor") != "" || c.Query.Get("count") != ""
	switch {
	case p.byCursor && byIDs:
		return p, platform.Failf(40000, "the cursor does not go with filtering.ids")
	case p.byCursor:
		// The cursor is the last listed promotion. Clients must not rely on that.
		var last int64
		if _, err := decode(c, "cursor", &last); err != nil {
			return p, err
		}
		p.from, _ = slices.BinarySearchFunc(list, last+1, func(x world.Object, id int64) int { return cmp.Compare(x.ID, id) })
		p.to = min(p.from+count, len(list))
		switch {
		case p.to > p.from && c.SkipsPage(p.from, len(list), last, list[p.from].ID-1):
			p.next, p.to = list[p.from].ID-1, p.from
		case p.to > p.from:
			p.next = list[p.to-1].ID
		default:
			p.next = last
		}
	case page*size > oceanListMax:
		return p, platform.Failf(40000, "pages reach up to %d rows; use the cursor", oceanListMax)
	default:
		p.from, p.to, p.total = c.PageOf(page, size, len(list))
	}
	return p, nil
}
