package kuaishou

import (
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
func conditions(c *platform.Call, l lister) (fits func(x *listed) bool, _ *platform.Failure) {
	statuses, err := readStatuses(c, l)
	if err != nil {
		return nil, err
	}
	ids, err := params(c).Numbers(l.ids, l.idsMax)
	if err != nil {
		return nil, err
	}
	own := map[string]int64{}
	for _, name := range append(l.parents, l.id) {
		if c.Query.Get(name) == "" {
			continue
		}
		if own[name], err = params(c).Whole(name); err != nil {
			return nil, err
		}
	}
	during, err := params(c).Days("start_date", "end_date")
	if err != nil {
		return nil, err
	}
	by, err := params(c).OneOf("time_filter_type", 0, 1)
	if err != nil {
		return nil, err
	}
	name := c.Query.Get(l.name)
	is := func(wanted string, id int64) bool { n, given := own[wanted]; return !given || n == 0 || n == id }
	return func(x *listed) bool {
		at := x.modified
		if by == 1 {
			at = x.created
		}
		return slices.Contains(statuses, x.status) && (len(ids) == 0 || slices.Contains(ids, x.id)) && is(l.id, x.id) &&
			is("campaign_id", x.campaign) && (l.id == "unit_id" || is("unit_id", x.unit)) &&
			(name == "" || name == x.name) && during.Holds(at)
	}, nil
}

// readStatuses reads the statuses of listed objects. The advertiser's own status overrides the computed one.
func readStatuses(c *platform.Call, l lister) ([]world.Status, *platform.Failure) {
	wanted := notDeleted
	if c.Query.Get("status") != "" {
		n, err := params(c).Whole("status")
		if err != nil {
			return nil, err
		}
		known, ok := l.statuses[n]
		if !ok {
			return nil, wrong(c, "status %d is unknown", n)
		}
		wanted = known
	}
	given, err := params(c).Numbers("put_status_list", 3)
	if err != nil {
		return nil, err
	}
	if len(given) > 0 {
		wanted = nil
	}
	for _, n := range given {
		if n < 1 || n > 3 {
			return nil, wrong(c, "put_status_list has 1, 2 and 3, not %d", n)
		}
		wanted = append(wanted, all[n-1])
	}
	if !l.reviewed {
		return wanted, nil
	}
	reviews, err := params(c).Numbers("review_status_list", 4)
	if err != nil {
		return nil, err
	}
	for _, n := range reviews {
		if !slices.Contains([]int64{1, 2, 3, 7}, n) {
			return nil, wrong(c, "review_status_list has 1, 2, 3 and 7, not %d", n)
		}
	}
	if len(reviews) > 0 && !slices.Contains(reviews, 2) {
		return nil, nil // all objects of this world have passed their review
	}
	return wanted, nil
}

// paging is the page that a call requests.
type paging struct{ page, size int }

func readPage(c *platform.Call, most int) (p paging, err *platform.Failure) {
	if p.page, err = params(c).Integer("page", 1, 999_999); err != nil {
		return p, err
	}
	p.size, err = params(c).Integer("page_size", 20, most)
	return p, err
}

// writePage answers with a page of a list.
func writePage[T any](k *kuaishou, c *platform.Call, p paging, list []T, write func(w *platform.Writer, x *T)) {
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

// listOf reads what all lists of objects have: the account, the conditions and the page.
func (k *kuaishou) listOf(c *platform.Call, login *world.Login, l lister) (a world.Account, p paging,
	fits func(x *listed) bool, err *platform.Failure) {
	if a, err = k.account(c, login); err != nil {
		return a, p, nil, err
	}
	if fits, err = conditions(c, l); err != nil {
		return a, p, nil, err
	}
	p, err = readPage(c, int(c.Assumed(listSizeMax)))
	return a, p, fits, err
}
