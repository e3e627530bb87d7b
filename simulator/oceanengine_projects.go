package simulator

import (
	"slices"
	"strings"
)

// projectConditions are what a list of projects can be filtered by.
type projectConditions struct {
	IDs              []int64 `json:"ids"`
	Name             string  `json:"name"`
	DeliveryMode     string  `json:"delivery_mode"`
	DeliveryType     string  `json:"delivery_type"`
	LandingType      string  `json:"landing_type"`
	AppPromotionType string  `json:"app_promotion_type"`
	MarketingGoal    string  `json:"marketing_goal"`
	AdType           string  `json:"ad_type"`
	StatusFirst      string  `json:"status_first"`
	StatusSecond     string  `json:"status_second"`
	CreateTime       string  `json:"project_create_time"`
	ModifyTime       string  `json:"project_modify_time"`
	ModifyStart      string  `json:"project_modify_start_time"`
	ModifyEnd        string  `json:"project_modify_end_time"`
	Status           string  `json:"status"`
	Pricing          string  `json:"pricing"`
	InventoryType    string  `json:"inventory_type"`
	Platform         string  `json:"platform"`
	BudgetGroup      int64   `json:"budget_group_id"`
	BlueFlow         string  `json:"blue_flow_package_setting"`
	StarDelivery     string  `json:"star_delivery_type"`
	StarAuto         string  `json:"star_auto_delivery_switch"`
}

var projectStatuses = map[string][]status{
	"":                       {statusActive, statusPaused},
	"PROJECT_STATUS_ENABLE":  {statusActive},
	"PROJECT_STATUS_DISABLE": {statusPaused},
	"PROJECT_STATUS_DELETE":  {statusDeleted},
	"PROJECT_STATUS_DONE":    {},
}

func (f *projectConditions) filter(list []project) ([]project, *apiError) {
	statuses, ok := projectStatuses[f.StatusFirst]
	if !ok {
		return nil, failure(40000, "filtering: status_first %q", f.StatusFirst)
	}
	if f.IDs != nil && (len(f.IDs) < 1 || len(f.IDs) > 100) {
		return nil, failure(40000, "filtering: 1 to 100 ids")
	}
	modified, created, err := oceanWindows(f.ModifyStart, f.ModifyEnd, f.ModifyTime, f.CreateTime)
	if err != nil {
		return nil, err
	}
	// All projects of this world are alike in these.
	for _, x := range [][2]string{
		{f.DeliveryMode, "MANUAL"}, {f.DeliveryType, "NORMAL"}, {f.LandingType, "APP"}, {f.AppPromotionType, "DOWNLOAD"},
		{f.MarketingGoal, "VIDEO_AND_IMAGE"}, {f.AdType, "ALL"}, {f.Pricing, "PRICING_OCPM"}, {f.Platform, "ANDROID"},
		{f.InventoryType, ""}, {f.BlueFlow, "OFF"}, {f.StarDelivery, "NOT_STAR_DELIVERY"}, {f.StarAuto, "OFF"},
	} {
		if x[0] != "" && x[0] != x[1] {
			return nil, nil
		}
	}
	if f.BudgetGroup != 0 || (f.StatusSecond != "" && f.StatusSecond != "PROJECT_STATUS_STOP") {
		return nil, nil
	}
	if f.StatusSecond != "" {
		statuses = []status{statusPaused}
	}
	return slices.DeleteFunc(list, func(x project) bool {
		return !slices.Contains(statuses, x.status) || (f.IDs != nil && !slices.Contains(f.IDs, x.id)) ||
			!strings.Contains(x.name, f.Name) ||
			!modified[0].holds(x.modified) || !modified[1].holds(x.modified) || !created.holds(x.created)
	}), nil
}

var projectOrder = []string{
	"project_id", "advertiser_id", "name", "landing_type", "app_promotion_type", "marketing_goal", "ad_type", "delivery_mode",
	"delivery_type", "opt_status", "status_first", "status_second", "project_create_time", "project_modify_time",
	"delivery_setting", "audience",
}

// oceanProjectUnset are fields of the documents that no project of this world has (document 1740937147595776).
var oceanProjectUnset = []string{
	"status", "aigc_dynamic_creative_switch", "star_task_id", "star_auto_material_addition_switch", "star_auto_delivery_switch", "pricing",
	"package_name", "app_name", "feed_delivery_search", "search_bid_ratio", "audience_extend", "keywords", "blue_flow_package", "related_product",
	"dpa_categories", "dpa_product_target", "dpa_adtype", "delivery_product", "delivery_medium", "multi_delivery_medium", "download_url",
	"download_type", "download_mode", "launch_type", "promotion_type", "open_url", "ulink_url", "subscribe_url", "asset_type", "multi_asset_type",
	"micro_promotion_type", "quick_app_id", "micro_app_instance_id", "optimize_goal", "landing_page_stay_time", "delivery_range",
	"search_continue_delivery", "track_url_setting", "open_url_type", "open_url_field", "open_url_params", "budget_group_id",
	"if_newcustomerdelivery", "rta_id",
}

// oceanAges is how the platform calls ages, by the first year of them.
var oceanAges = map[int64]string{18: "AGE_BETWEEN_18_23", 24: "AGE_BETWEEN_24_30", 31: "AGE_BETWEEN_31_40", 41: "AGE_BETWEEN_41_49"}

// oceanGenders is how it calls whom an ad is shown to.
var oceanGenders = map[string]string{"MALE": "GENDER_MALE", "FEMALE": "GENDER_FEMALE", "": "NONE"}

type listedProject struct {
	advertiser int64
	*project
}

var projectFields = map[string]write[listedProject]{
	"project_id":         func(w *jsonWriter, x listedProject) { w.number(x.id) },
	"advertiser_id":      func(w *jsonWriter, x listedProject) { w.number(x.advertiser) },
	"name":               func(w *jsonWriter, x listedProject) { w.text(x.name) },
	"landing_type":       fixed[listedProject](`"APP"`),
	"app_promotion_type": fixed[listedProject](`"DOWNLOAD"`),
	"marketing_goal":     fixed[listedProject](`"VIDEO_AND_IMAGE"`),
	"ad_type":            fixed[listedProject](`"ALL"`),
	"delivery_mode":      fixed[listedProject](`"MANUAL"`),
	"delivery_type":      fixed[listedProject](`"NORMAL"`),
	"opt_status": func(w *jsonWriter, x listedProject) {
		w.text([...]string{"ENABLE", "DISABLE", "DISABLE"}[x.status])
	},
	"status_first": func(w *jsonWriter, x listedProject) {
		w.text([...]string{"PROJECT_STATUS_ENABLE", "PROJECT_STATUS_DISABLE", "PROJECT_STATUS_DELETE"}[x.status])
	},
	"status_second": func(w *jsonWriter, x listedProject) {
		w.open('[')
		if x.status == statusPaused {
			w.text("PROJECT_STATUS_STOP")
		}
		w.close(']')
	},
	"project_create_time": func(w *jsonWriter, x listedProject) { w.text(oceanMoment(x.created)) },
	"project_modify_time": func(w *jsonWriter, x listedProject) { w.text(oceanMoment(x.modified)) },
	"delivery_setting": func(w *jsonWriter, x listedProject) {
		w.open('{')
		w.textField("budget_mode", oceanBudgetMode(x.budget))
		w.key("budget")
		w.hundredths(x.budget)
		w.close('}')
	},
	"audience": func(w *jsonWriter, x listedProject) {
		to := x.aim.audience()
		w.open('{')
		w.textField("gender", oceanGenders[to.gender])
		w.openArray("age")
		w.text(oceanAges[to.from])
		w.close(']')
		w.textField("district", "CITY")
		w.openArray("city")
		for _, region := range to.regions {
			w.number(region / 10_000)
		}
		w.close(']')
		w.close('}')
	},
}

func (o *oceanEngine) projects(c *call, l *login) *apiError {
	a, err := o.advertiser(c, l)
	if err != nil {
		return err
	}
	fields, err := o.fields(c, projectOrder, oceanProjectUnset...)
	if err != nil {
		return err
	}
	var conditions projectConditions
	if _, err := o.decode(c, "filtering", &conditions); err != nil {
		return err
	}
	page, err := o.integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := o.integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	list, err := conditions.filter(a.projects(c.now))
	if err != nil {
		return err
	}
	from, to, total := c.pageOf(page, size, len(list))
	w := o.begin(c)
	w.open('{')
	w.openArray("list")
	for i := range list[from:to] {
		x := listedProject{a.id, &list[from+i]}
		w.open('{')
		for _, f := range fields {
			w.key(f)
			projectFields[f](&w, x)
		}
		w.close('}')
	}
	w.close(']')
	w.pageInfo(page, size, total)
	w.close('}')
	o.end(c, &w)
	return nil
}
