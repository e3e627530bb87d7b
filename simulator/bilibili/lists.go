package bilibili

import (
	"slices"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// object is a campaign, a unit or a creative of an account.
type object struct {
	id     int64
	status world.Status
	write  func(w *platform.Writer, asText bool)
}

// level lists the objects of a level, deleted ones too, in order of id.
type level func(c *platform.Call, a *world.Account) []object

// newObject returns an object that is written with its level's fields.
func newObject[T any](c *platform.Call, id int64, s world.Status, fields []platform.Field[T], x T) object {
	return object{id, s, func(w *platform.Writer, asText bool) { platform.WriteFields(c, w, fields, x, asText) }}
}

// list returns the handler of a level's list (STACK). Without a status of ALL, deleted objects are left out.
func list(of level) handler {
	return func(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
		hasDeleted := p.TextOf("status", "", "ALL") == "ALL" && c.Assumed(deletedListed) == 1
		objects := slices.DeleteFunc(of(c, by.account), func(x object) bool {
			return !hasDeleted && x.status == world.StatusDeleted
		})
		asText := c.Sim.Traps.Holds(c, trap.NumbersAsText)
		page := readPage(p)
		writePage(page, endingFull(page, objects), func(w *platform.Writer, x *object) { x.write(w, asText) })
		return nil
	}
}

// detail returns the handler of a call for one object. SIGNED has the call with the object's id in the query.
func detail(name string, of level) handler {
	return func(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
		id := p.Whole(name)
		objects := of(c, by.account)
		at := slices.IndexFunc(objects, func(x object) bool { return x.id == id })
		if at < 0 {
			return wrong(c, "%s %q is unknown", name, c.Query.Get(name))
		}
		w := begin(c)
		w.Open('{')
		objects[at].write(&w, false)
		w.Close('}')
		end(c, &w)
		return nil
	}
}

// paging is the page that a call requests.
type paging struct {
	page, size int
	params     *platform.Params
}

func readPage(p *platform.Params) paging {
	return paging{p.Integer("page", 1, 999_999), p.Integer("page_size", 20, int(p.Call.Assumed(pageMax))), p}
}

// writePage answers with a page of a list, unless a parameter is wrong. data is a bare array without a total (STACK):
// only an empty page ends the list.
func writePage[T any](p paging, list []T, write func(w *platform.Writer, x *T)) {
	c := p.params.Call
	if p.params.Failure != nil {
		return
	}
	from, to := c.PageWithoutTotal(p.page, p.size, len(list))
	w := begin(c)
	w.Open('[')
	for i := range list[from:to] {
		w.Open('{')
		write(&w, &list[from+i])
		w.Close('}')
	}
	w.Close(']')
	end(c, &w)
}

// endingFull leaves deleted objects out of a list, as if the platform no longer had them, so that its last page is
// full. A fault orders it.
func endingFull(p paging, objects []object) []object {
	isDeleted := func(x object) bool { return x.status == world.StatusDeleted }
	over, deleted := len(objects)%p.size, 0
	for _, x := range objects {
		if isDeleted(x) {
			deleted++
		}
	}
	if c := p.params.Call; over == 0 || len(objects) < p.size || deleted < over ||
		!c.Sim.Faults.Takes(c, platform.FormFull) {
		return objects
	}
	return slices.DeleteFunc(objects, func(x object) bool {
		if over > 0 && isDeleted(x) {
			over--
			return true
		}
		return false
	})
}

// statusOf returns the number of a status. The numbers are those of Bilibili's older lists (状态 1 有效, 2 已暂停, 4 已删除).
func statusOf(c *platform.Call, s world.Status) int64 {
	return c.Assumed([...]string{statusActive, statusPaused, statusDeleted}[s])
}

// writeBudget writes a budget as in calls that save one (STACK): yuan as a decimal text, with the type 1, or the type 2
// for no limit.
func writeBudget(w *platform.Writer, fen int64) {
	w.Sep()
	w.Bytes = append(platform.AppendFixed2(append(w.Bytes, '"'), fen), '"')
}

func budgetType(fen int64) int64 {
	if fen == 0 {
		return 2
	}
	return 1
}
