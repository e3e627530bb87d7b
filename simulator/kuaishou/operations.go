package kuaishou

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// operationsMax is the largest page of operation records; they reach six months back.
const (
	operationsMax = 500
	monthsKept    = 6
)

// The types, targets and roles of operations (document 2919).
const (
	operationNew, operationChange                = 1, 2
	targetCampaign, targetUnit, targetCreative   = 2, 3, 4
	targetPackage                                = 9
	roleAdvertiser, roleSystem, roleMarketingAPI = 1, 3, 5
)

// operation is a record of what a user changed.
type operation struct {
	at           int64
	kind, target int64
	role         int64
	object       int64
	name         string
	changes      []change
}

type change struct{ field, was, is string }

// operations lists what was changed, the newest first.
func (k *kuaishou) operations(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := k.account(c, l)
	if err != nil {
		return err
	}
	during, err := readDays(c, "start_date", "end_date")
	if err != nil {
		return err
	}
	oldest := monthsBefore(c.Now)
	if during.to == 0 {
		during = days{oldest, c.Now + 1}
	}
	if during.from < oldest {
		return wrong(c, "only the last %d months can be read", monthsKept)
	}
	kind, err := number(c, "operation_type", 0, operationNew, operationChange)
	if err != nil {
		return err
	}
	target, err := optional(c, "operation_target")
	if err != nil {
		return err
	}
	role, err := optional(c, "role_type")
	if err != nil {
		return err
	}
	p, err := readPage(c, operationsMax)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(operationsOf(c, &a, during.from), func(o operation) bool {
		return !during.holds(o.at) || kind != 0 && kind != o.kind || target != 0 && target != o.target ||
			role != 0 && role != o.role
	})
	writePage(k, c, p, list, func(w *platform.Writer, o *operation) { writeOperation(c, w, o) })
	return nil
}

// monthsBefore returns the start of the oldest day that is kept.
func monthsBefore(now int64) int64 {
	year, month, day := time.Unix(now, 0).In(world.Zone).AddDate(0, -monthsKept, 0).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, world.Zone).Unix()
}

func writeOperation(c *platform.Call, w *platform.Writer, o *operation) {
	w.TextField("object_id", strconv.FormatInt(o.object, 10))
	w.NumberField("operation_type", o.kind)
	w.NumberField("operation_target", o.target)
	w.NumberField("role_type", o.role)
	w.TextField("object_name", o.name)
	w.TextField("operation_time", moment(c, o.at))
	w.OpenArray("content_log")
	for _, x := range o.changes {
		w.Open('{')
		w.TextField("field_name", x.field)
		w.TextField("original_data", x.was)
		w.TextField("update_data", x.is)
		w.Close('}')
	}
	w.Close(']')
}

// state is what records of an object show.
type state struct {
	name        string
	status      world.Status
	budget, bid int64
	changed     int64
}

// operationsOf lists the operations since a moment, the newest first. An object's states are found backwards, from each
// change to the one before.
func operationsOf(c *platform.Call, a *world.Account, since int64) (list []operation) {
	add := func(target, object, created int64, at func(moment int64) state) {
		for moment := c.Now; ; {
			now := at(moment)
			if now.changed < since || now.changed <= created {
				break
			}
			before := at(now.changed - 1)
			if changes := changesOf(&before, &now); len(changes) > 0 {
				list = append(list, operation{now.changed, operationChange, target, roleOf(object, now.changed), object, now.name,
					changes})
			}
			moment = now.changed - 1
		}
		if created >= since {
			first := at(created)
			list = append(list, operation{created, operationNew, target, roleOf(object, created), object, first.name, nil})
		}
	}
	for i, x := range a.Projects(c.Now) {
		add(targetCampaign, x.ID, x.Created, func(moment int64) state {
			x := a.Projects(moment)[i]
			return state{name: x.Name, budget: x.Budget, changed: x.Modified}
		})
	}
	a.Ads(c.Now, true, func(x world.Ad) {
		add(targetUnit, x.ID, x.Created, func(moment int64) state {
			o := x.At(moment)
			return state{o.Name, o.Status, o.Budget, o.Bid, o.Changed}
		})
		target := int64(targetCreative)
		if x.Packed {
			target = targetPackage
		}
		x.EachCreative(a, c.Now, func(one world.Creative) {
			add(target, one.ID, one.Created, func(moment int64) state {
				o := one.At(moment)
				return state{name: o.Name, status: o.Status, changed: o.Modified}
			})
		})
	})
	slices.SortStableFunc(list, func(x, y operation) int {
		return cmp.Or(cmp.Compare(y.at, x.at), cmp.Compare(x.object, y.object))
	})
	return list
}

// changesOf lists the differences between two states of an object. A deletion is a change to 删除 (document 2919).
func changesOf(was, is *state) (list []change) {
	add := func(name, was, is string) {
		if was != is {
			list = append(list, change{name, was, is})
		}
	}
	text := func(fen int64) string { return strconv.FormatInt(li(fen), 10) }
	put := func(s world.Status) string { return [...]string{"投放", "暂停", "删除"}[s] }
	add("name", was.name, is.name)
	add("day_budget", text(was.budget), text(is.budget))
	add("cpa_bid", text(was.bid), text(is.bid))
	add("put_status", put(was.status), put(is.status))
	return list
}

// roleOf returns who made a change: a user, mostly.
func roleOf(object, at int64) int64 {
	switch world.Key(object).Sub(uint64(at)).Below(10) {
	case 0:
		return roleSystem
	case 1, 2:
		return roleMarketingAPI
	}
	return roleAdvertiser
}
