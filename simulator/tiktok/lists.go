package tiktok

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// How many rows a page has, and how many ids a condition.
const (
	pageUsual     = 10
	filesUsual    = 20
	pageMax       = 1000
	filterIDsMax  = 100
	objectiveType = "APP_PROMOTION" // of all campaigns of this world
	buyingType    = "AUCTION"
)

var (
	notDeleted = []world.Status{world.StatusActive, world.StatusPaused}
	anyStatus  = []world.Status{world.StatusActive, world.StatusPaused, world.StatusDeleted}
	deleted    = []world.Status{world.StatusDeleted}
)

// primaryStatuses are the objects that a primary status selects. The world has no objects of the empty ones.
var primaryStatuses = map[string][]world.Status{
	"STATUS_ALL": anyStatus, "STATUS_NOT_DELETE": notDeleted, "STATUS_DELETE": deleted,
	"STATUS_DELIVERY_OK": {world.StatusActive}, "STATUS_DISABLE": {world.StatusPaused}, "STATUS_NOT_DELIVERY": {},
	"STATUS_TIME_DONE": {}, "STATUS_RF_CLOSED": {}, "STATUS_FROZEN": {}, "STATUS_DELIVERY_PARTIAL": {},
	"STATUS_DELIVERY_CATALOG": {},
}

// primaryNames lists the primary statuses, the default first.
var primaryNames = append([]string{"STATUS_NOT_DELETE"}, slices.Sorted(maps.Keys(primaryStatuses))...)

// kind is a kind of object: what the words of its statuses begin with, and which conditions its list has.
type kind struct {
	word    string
	running string // the end of its secondary status when it runs
	filters []string
}

var (
	campaignKind = kind{"CAMPAIGN", "ENABLE", []string{"campaign_ids", "campaign_name", "buying_types"}}
	adGroupKind  = kind{"ADGROUP", "DELIVERY_OK", []string{"campaign_ids", "adgroup_ids"}}
	adKind       = kind{"AD", "DELIVERY_OK", []string{"campaign_ids", "adgroup_ids", "ad_ids"}}
	sharedFilter = []string{"primary_status", "secondary_status", "objective_type", "creation_filter_start_time",
		"creation_filter_end_time"}
)

// secondary returns the secondary status of an object.
func (k kind) secondary(s world.Status) string {
	return k.word + "_STATUS_" + [...]string{k.running, "DISABLE", "DELETE"}[s]
}

// secondaries are the objects that a secondary status selects.
func (k kind) secondaries() map[string][]world.Status {
	list := map[string][]world.Status{k.word + "_STATUS_ALL": anyStatus, k.word + "_STATUS_NOT_DELETE": notDeleted}
	for _, s := range anyStatus {
		list[k.secondary(s)] = []world.Status{s}
	}
	return list
}

// listed is what conditions of a list look at.
type listed struct {
	campaign, adGroup, ad int64
	name                  string
	status                world.Status
	created               int64
}

// conditions reads filtering, an object in JSON. Without a condition on the status, deleted objects are left out.
func conditions(p *platform.Params, k kind) (fits func(x *listed) bool) {
	given, ok := p.Object("filtering")
	if !ok && p.Call.Query.Get("filtering") != "" {
		p.Failure = wrong("filtering: Not a valid object.")
	}
	f := &platform.Params{Call: &platform.Call{Query: given}, Code: p.Code}
	for name := range given {
		if !slices.Contains(k.filters, name) && !slices.Contains(sharedFilter, name) {
			f.Failure = wrong("filtering.%s: Unknown field.", name)
		}
	}
	statuses := primaryStatuses[f.TextOf("primary_status", primaryNames...)]
	if given.Get("secondary_status") != "" {
		of := k.secondaries()
		bySecondary := of[f.TextOf("secondary_status", slices.Sorted(maps.Keys(of))...)]
		if given.Get("primary_status") == "" {
			statuses = anyStatus
		}
		statuses = slices.DeleteFunc(slices.Clone(statuses),
			func(s world.Status) bool { return !slices.Contains(bySecondary, s) })
	}
	campaigns, adGroups, ads := f.Numbers("campaign_ids", filterIDsMax), f.Numbers("adgroup_ids", filterIDsMax),
		f.Numbers("ad_ids", filterIDsMax)
	name, buying := given.Get("campaign_name"), f.Texts("buying_types", 10)
	from, to := moment(f, "creation_filter_start_time"), moment(f, "creation_filter_end_time")
	objective := given.Get("objective_type")
	none := objective != "" && objective != objectiveType || len(buying) > 0 && !slices.Contains(buying, buyingType)
	if p.Failure == nil {
		p.Failure = f.Failure
	}
	has := func(ids []int64, id int64) bool { return len(ids) == 0 || slices.Contains(ids, id) }
	return func(x *listed) bool {
		return !none && slices.Contains(statuses, x.status) && has(campaigns, x.campaign) && has(adGroups, x.adGroup) &&
			has(ads, x.ad) && (name == "" || name == x.name) && x.created >= from && (to == 0 || x.created <= to)
	}
}

// moment reads a time in UTC; 0 if it is missing.
func moment(p *platform.Params, name string) int64 {
	text := p.Call.Query.Get(name)
	if text == "" {
		return 0
	}
	at, failed := time.Parse(time.DateTime, text)
	if failed != nil {
		p.Failure = wrong("%s must be a time like 2026-11-15 09:30:00, not %q", name, text)
	}
	return at.Unix()
}

// chosen returns the fields that a call requests; all if it requests none.
func chosen[T any](p *platform.Params, all []platform.Field[T]) []platform.Field[T] {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name
	}
	wanted := p.TextsOf("fields", names...)
	if len(wanted) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(f platform.Field[T]) bool { return !slices.Contains(wanted, f.Name) })
}

// writePage answers with a page of a list, and with what more writes after it, unless a parameter is wrong.
func writePage[T any](t *tiktok, p *platform.Params, usual int, list []T, write func(w *platform.Writer, x *T),
	more ...func(w *platform.Writer)) {
	page, size := p.Integer("page", 1, 1_000_000), p.Integer("page_size", usual, pageMax)
	if p.Failure != nil {
		return
	}
	from, to, total := p.Call.PageOf(page, size, len(list))
	t.answer(p.Call, func(w *platform.Writer) {
		w.OpenArray("list")
		for i := range list[from:to] {
			w.Open('{')
			write(w, &list[from+i])
			w.Close('}')
		}
		w.Close(']')
		w.PageInfo(page, size, total)
		for _, write := range more {
			write(w)
		}
	})
}

func field[T any](name string, write platform.Write[T]) platform.Field[T] {
	return platform.NewField(name, write)
}
func fixed[T any](name, json string) platform.Field[T] { return platform.Constant[T](name, json) }

// writeID writes an id, which is a text.
func writeID(w *platform.Writer, id int64) { w.Text(strconv.FormatInt(id, 10)) }

// writeTime writes a time of an object, in UTC.
func writeTime(w *platform.Writer, at int64) { w.Text(time.Unix(at, 0).UTC().Format(time.DateTime)) }

// amount returns an amount of an account as text, with all decimals of its currency.
func amount(a *world.Account, n int64) string {
	unit := 1_000_000 / a.Calendar.Smallest()
	text := strconv.FormatInt(n/unit, 10)
	if unit > 1 {
		text += "." + strconv.FormatInt(unit+n%unit, 10)[1:] // with leading zeros
	}
	return text
}

// writeMoney writes an amount in the account's currency, with at least one digit after the point.
func writeMoney(w *platform.Writer, a *world.Account, n int64) {
	whole, rest, _ := strings.Cut(amount(a, n), ".")
	w.Sep()
	w.Bytes = append(w.Bytes, whole+"."+cmp.Or(strings.TrimRight(rest, "0"), "0")...)
}

// writeBudgetMode writes the mode of a budget: by day, or without a limit.
func writeBudgetMode(w *platform.Writer, budget int64) {
	if budget == 0 {
		w.Text("BUDGET_MODE_INFINITE")
		return
	}
	w.Text("BUDGET_MODE_DAY")
}

// operationStatus is what the advertiser has set. A deleted object is disabled.
func operationStatus(s world.Status) string {
	if s == world.StatusActive {
		return "ENABLE"
	}
	return "DISABLE"
}
