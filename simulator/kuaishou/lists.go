package kuaishou

import (
	"maps"
	"slices"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// listed is what conditions of a list look at.
type listed struct {
	id, campaign, unit int64
	name               string
	status             world.Status
	created, modified  int64
}

// lister describes the conditions of a list, from the table of its page.
type lister struct {
	id       string // the condition on one id; "" if there is none
	ids      string // the condition on several ids
	idsMax   int
	name     string // the condition on a name
	parents  []string
	statuses map[int64][]world.Status
	reviewed bool // it has a condition on reviews
}

var (
	notDeleted = []world.Status{world.StatusActive, world.StatusPaused}
	all        = []world.Status{world.StatusActive, world.StatusPaused, world.StatusDeleted}
	deleted    = []world.Status{world.StatusDeleted}
)

// conditions reads the conditions of a list. Without one on the status, deleted objects are left out.
func conditions(p *platform.Params, l lister) (fits func(x *listed) bool) {
	statuses := readStatuses(p, l)
	ids, own := p.Numbers(l.ids, l.idsMax), p.Optional(l.id)
	parents := map[string]int64{}
	for _, name := range l.parents {
		parents[name] = p.Optional(name)
	}
	during, byCreation := p.Days("start_date", "end_date"), p.OneOf("time_filter_type", 0, 1) == 1
	name := p.Call.Query.Get(l.name)
	is := func(wanted, id int64) bool { return wanted == 0 || wanted == id }
	return func(x *listed) bool {
		at := x.modified
		if byCreation {
			at = x.created
		}
		return slices.Contains(statuses, x.status) && (len(ids) == 0 || slices.Contains(ids, x.id)) && is(own, x.id) &&
			is(parents["campaign_id"], x.campaign) && is(parents["unit_id"], x.unit) &&
			(name == "" || name == x.name) && during.Holds(at)
	}
}

// readStatuses reads the statuses of listed objects. The advertiser's own status overrides the computed one.
func readStatuses(p *platform.Params, l lister) []world.Status {
	wanted := notDeleted
	if p.Call.Query.Get("status") != "" {
		wanted = l.statuses[p.OneOf("status", slices.Sorted(maps.Keys(l.statuses))...)]
	}
	if given := p.NumbersOf("put_status_list", 1, 2, 3); len(given) > 0 {
		wanted = nil
		for _, n := range given {
			wanted = append(wanted, all[n-1])
		}
	}
	if l.reviewed {
		reviews := p.NumbersOf("review_status_list", 1, 2, 3, 7)
		if len(reviews) > 0 && !slices.Contains(reviews, 2) {
			return nil // all objects of this world have passed their review
		}
	}
	return wanted
}

// paging is the page that a call requests.
type paging struct {
	page, size int
	params     *platform.Params
}

func readPage(p *platform.Params, most int) paging {
	return paging{p.Integer("page", 1, 999_999), p.Integer("page_size", 20, most), p}
}

// writePage answers with a page of a list, unless a parameter is wrong.
func writePage[T any](k *kuaishou, c *platform.Call, p paging, list []T, write func(w *platform.Writer, x *T)) {
	if p.params.Failure != nil {
		return
	}
	from, to, total := c.PageOf(p.page, p.size, len(list))
	w := begin(c)
	w.Open('{')
	w.NumberField("total_count", int64(total))
	if from == to && c.Assumed(nullDetails) == 1 {
		w.Key("details")
		w.Raw("null")
	} else {
		w.OpenArray("details")
		for i := range list[from:to] {
			w.Open('{')
			write(&w, &list[from+i])
			w.Close('}')
		}
		w.Close(']')
	}
	w.Close('}')
	k.end(c, &w)
}

func field[T any](name string, write platform.Write[T]) platform.Field[T] {
	return platform.NewField(name, write)
}
func fixed[T any](name, json string) platform.Field[T] { return platform.Constant[T](name, json) }

// putStatus is the status that the advertiser has set.
func putStatus(s world.Status) int64 { return [...]int64{1, 2, 3}[s] }

// li returns an amount in li, of which ten are a fen.
func li(fen int64) int64 { return fen * 10 }

// listOf reads what all lists of objects have: the conditions and the page.
func listOf(p *platform.Params, l lister) (fits func(x *listed) bool, at paging) {
	return conditions(p, l), readPage(p, int(p.Call.Assumed(listSizeMax)))
}
