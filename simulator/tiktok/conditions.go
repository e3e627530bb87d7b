package tiktok

import (
	"encoding/json"
	"net/url"
	"slices"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// kinds are the kinds of objects below an account, in the names of conditions of reports.
var kinds = []string{"campaign", "adgroup", "ad"}

// readConditions reads filtering, a list of conditions in JSON, whose values are JSON as text. Without a condition on
// the status of the level's own objects, deleted ones are left out. Asynchronous reports have conditions on ids only.
func (q *query) readConditions() *platform.Failure {
	depth := q.level.depth
	if depth > 0 && (!q.isTask || q.c.Assumed(taskHidesDeleted) == 1) {
		q.statuses[depth-1] = notDeleted
	}
	text := q.c.Query.Get("filtering")
	if text == "" {
		return nil
	}
	var given []struct {
		Field string `json:"field_name"`
		Type  string `json:"filter_type"`
		Value string `json:"filter_value"`
	}
	if json.Unmarshal([]byte(text), &given) != nil {
		return wrong("filtering: a list of conditions, whose filter_value is JSON as text")
	}
	for _, x := range given {
		f := &platform.Params{Call: &platform.Call{Query: url.Values{x.Field: {x.Value}}}, Code: codeParameter}
		known := x.Type == "IN" && x.Value != ""
		at := slices.IndexFunc(kinds[:depth], func(kind string) bool {
			return x.Field == kind+"_ids" || x.Field == kind+"_status" && !q.isTask
		})
		switch {
		case at < 0 || !known:
			return wrong("filtering: %s %s is not supported", x.Field, x.Type)
		case x.Field == kinds[at]+"_ids":
			q.ids[at] = f.Numbers(x.Field, filterIDsMax)
		default:
			q.statuses[at] = nil
			for _, name := range f.TextsOf(x.Field, primaryNames...) {
				q.statuses[at] = append(q.statuses[at], primaryStatuses[name]...)
			}
		}
		if f.Failure != nil {
			return f.Failure
		}
	}
	return nil
}

// fits reports whether a row of an account fits the conditions.
func (q *query) fits(a *world.Account, r *world.Row) bool {
	for at := range q.level.depth {
		if len(q.ids[at]) > 0 && !slices.Contains(q.ids[at], idOf(at, r)) ||
			len(q.statuses[at]) > 0 && !slices.Contains(q.statuses[at], q.statusOf(at, a, r)) {
			return false
		}
	}
	return true
}

// idOf returns the id of a row's object of a kind.
func idOf(kind int, r *world.Row) int64 {
	switch kind {
	case 0:
		return r.Ad.Project
	case 1:
		return r.AdID()
	}
	return r.Object
}

// statusOf returns the present status of a row's object of a kind.
func (q *query) statusOf(kind int, a *world.Account, r *world.Row) world.Status {
	switch kind {
	case 0:
		return q.project(a, r.Ad.Project).Status
	case 1:
		if r.Ad.Deleted <= q.c.Now {
			return world.StatusDeleted
		}
		s, _ := r.Ad.StatusAt(q.c.Now)
		return s
	}
	return r.Creative.At(q.c.Now).Status
}

// project returns a campaign of an account.
func (q *query) project(a *world.Account, id int64) world.Project {
	if _, known := q.projects[id]; !known {
		for _, x := range a.Projects(q.c.Now) {
			q.projects[x.ID] = x
		}
	}
	return q.projects[id]
}
