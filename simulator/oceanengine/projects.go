package oceanengine

import (
	"slices"
	"strings"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// projectConditions are the conditions of a list of projects.
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

var projectStatuses = map[string][]world.Status{
	"":                       {world.StatusActive, world.StatusPaused},
	"PROJECT_STATUS_ENABLE":  {world.StatusActive},
	"PROJECT_STATUS_DISABLE": {world.StatusPaused},
	"PROJECT_STATUS_DELETE":  {world.StatusDeleted},
	"PROJECT_STATUS_DONE":    {},
}

func (f *projectConditions) filter(list []world.Project) ([]world.Project, *platform.Failure) {
	statuses, ok := projectStatuses[f.StatusFirst]
	if !ok {
		return nil, platform.Failf(40000, "filtering: status_first %q", f.StatusFirst)
	}
	if f.IDs != nil && (len(f.IDs) < 1 || len(f.IDs) > 100) {
		return nil, platform.Failf(40000, "filtering: 1 to 100 ids")
	}
	modified, created, err := oceanWindows(f.ModifyStart, f.ModifyEnd, f.ModifyTime, f.CreateTime)
	if err != nil {
		return nil, err
	}
	// All projects of this world are equal in these.
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
		statuses = []world.Status{world.StatusPaused}
	}
	return slices.DeleteFunc(list, func(x world.Project) bool {
		return !slices.Contains(statuses, x.Status) || (f.IDs != nil && !slices.Contains(f.IDs, x.ID)) ||
			!strings.Contains(x.Name, f.Name) ||
			!modified[0].holds(x.Modified) || !modified[1].holds(x.Modified) || !created.holds(x.Created)
	}), nil
}

var projectOrder = []string{
	"project_id", "advertiser_id", "name", "landing_type", "app_promotion_type", "marketing_goal", "ad_type",
	"delivery_mode",
	"delivery_type", "opt_status", "status_first", "status_second", "project_create_time", "project_modify_time",
	"delivery_setting", "audience",
}

// oceanProjectUnset are fields of the documents that no project of this world has (document 1740937147595776).
var oceanProjectUnset = []string{
	"status", "aigc_dynamic_creative_switch", "star_task_id", "star_auto_material_addition_switch",
	"star_auto_delivery_switch", "pricing",
	"package_name", "app_name", "feed_delivery_search", "search_bid_ratio", "audience_extend", "keywords",
	"blue_flow_package", "related_product",
	"dpa_categories", "dpa_product_target", "dpa_adtype", "delivery_product", "delivery_medium", "multi_delivery_medium",
	"download_url",
	"download_type", "download_mode", "launch_type", "promotion_type", "open_url", "ulink_url", "subscribe_url",
	"asset_type", "multi_asset_type",
	"micro_promotion_type", "quick_app_id", "micro_app_instance_id", "optimize_goal", "landing_page_stay_time",
	"delivery_range",
	"search_continue_delivery", "track_url_setting", "open_url_type", "open_url_field", "open_url_params",
	"budget_group_id",
	"if_newcustomerdelivery", "rta_id",
}

// oceanAges holds the platform's names of age ranges by their first year.
var oceanAges = map[int64]string{18: "AGE_BETWEEN_18_23", 24: "AGE_BETWEEN_24_30", 31: "AGE_BETWEEN_31_40",
	41: "AGE_BETWEEN_41_49"}

// oceanGenders holds the platform's names of genders.
var oceanGenders = map[string]string{"MALE": "GENDER_MALE", "FEMALE": "GENDER_FEMALE", "": "NONE"}

type listedProject struct {
	advertiser int64
	*world.Project
}

var projectFields = map[string]platform.Write[listedProject]{
	"project_id":         func(w *platform.Writer, x listedProject) { w.Number(x.ID) },
	"advertiser_id":      func(w *platform.Writer, x listedProject) { w.Number(x.advertiser) },
	"name":               func(w *platform.Writer, x listedProject) { w.Text(x.Name) },
	"landing_type":       platform.Fixed[listedProject](`"APP"`),
	"app_promotion_type": platform.Fixed[listedProject](`"DOWNLOAD"`),
	"marketing_goal":     platform.Fixed[listedProject](`"VIDEO_AND_IMAGE"`),
	"ad_type":            platform.Fixed[listedProject](`"ALL"`),
	"delivery_mode":      platform.Fixed[listedProject](`"MANUAL"`),
	"delivery_type":      platform.Fixed[listedProject](`"NORMAL"`),
	"opt_status": func(w *platform.Writer, x listedProject) {
		w.Text([...]string{"ENABLE", "DISABLE", "DISABLE"}[x.Status])
	},
	"status_first": func(w *platform.Writer, x listedProject) {
		w.Text([...]string{"PROJECT_STATUS_ENABLE", "PROJECT_STATUS_DISABLE", "PROJECT_STATUS_DELETE"}[x.Status])
	},
	"status_second": func(w *platform.Writer, x listedProject) {
		w.Open('[')
		if x.Status == world.StatusPaused {
			w.Text("PROJECT_STATUS_STOP")
		}
		w.Close(']')
	},
	"project_create_time": func(w *platform.Writer, x listedProject) { w.Text(oceanMoment(x.Created)) },
	"project_modify_time": func(w *platform.Writer, x listedProject) { w.Text(oceanMoment(x.Modified)) },
	"delivery_setting": func(w *platform.Writer, x listedProject) {
		w.Open('{')
		w.TextField("budget_mode", oceanBudgetMode(x.Budget))
		w.Key("budget")
		w.Hundredths(x.Budget)
		w.Close('}')
	},
	"audience": func(w *platform.Writer, x listedProject) {
		to := x.Aim.Audience()
		w.Open('{')
		w.TextField("gender", oceanGenders[to.Gender])
		w.OpenArray("age")
		w.Text(oceanAges[to.From])
		w.Close(']')
		w.TextField("district", "CITY")
		w.OpenArray("city")
		for _, region := range to.Regions {
			w.Number(region / 10_000)
		}
		w.Close(']')
		w.Close('}')
	},
}

func (o *oceanEngine) projects(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := o.advertiser(c, l)
	if err != nil {
		return err
	}
	fields, err := readFields(c, projectOrder, oceanProjectUnset...)
	if err != nil {
		return err
	}
	var conditions projectConditions
	if _, err := decode(c, "filtering", &conditions); err != nil {
		return err
	}
	page, err := integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	list, err := conditions.filter(a.Projects(c.Now))
	if err != nil {
		return err
	}
	from, to, total := c.PageOf(page, size, len(list))
	w := o.begin(c)
	w.Open('{')
	w.OpenArray("list")
	for i := range list[from:to] {
		x := listedProject{a.ID, &list[from+i]}
		w.Open('{')
		for _, f := range fields {
			w.Key(f)
			projectFields[f](&w, x)
		}
		w.Close('}')
	}
	w.Close(']')
	w.PageInfo(page, size, total)
	w.Close('}')
	o.end(c, &w)
	return nil
}
