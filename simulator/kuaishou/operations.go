package kuaishou

import (
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
	world.Change
	role int64
}

// target is the kind of the changed object.
func (o *operation) target() int64 {
	if o.Packed {
		return targetPackage
	}
	return [...]int64{targetCampaign, targetUnit, targetCreative}[o.Kind]
}

func (o *operation) kind() int64 {
	if o.IsNew {
		return operationNew
	}
	return operationChange
}

// operations lists what was changed, the newest first.
func (k *kuaishou) operations(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	during, oldest := p.Days("start_date", "end_date"), monthsBefore(c.Now)
	if during.To == 0 {
		during = platform.Days{From: oldest, To: c.Now + 1}
	}
	if during.From < oldest {
		return wrong(c, "only the last %d months can be read", monthsKept)
	}
	kind := p.OneOf("operation_type", 0, operationNew, operationChange)
	target, role := p.Optional("operation_target"), p.Optional("role_type")
	var list []operation
	for _, x := range a.History(c.Now, during.From) {
		o := operation{x, roleOf(x.Object, x.At)}
		if during.Holds(o.At) && (kind == 0 || kind == o.kind()) && (target == 0 || target == o.target()) &&
			(role == 0 || role == o.role) {
			list = append(list, o)
		}
	}
	writePage(k, c, readPage(p, operationsMax), list, func(w *platform.Writer, o *operation) { writeOperation(c, w, o) })
	return nil
}

// monthsBefore returns the start of the oldest day that is kept.
func monthsBefore(now int64) int64 {
	year, month, day := time.Unix(now, 0).In(world.Zone).AddDate(0, -monthsKept, 0).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, world.Zone).Unix()
}

func writeOperation(c *platform.Call, w *platform.Writer, o *operation) {
	w.TextField("object_id", strconv.FormatInt(o.Object, 10))
	w.NumberField("operation_type", o.kind())
	w.NumberField("operation_target", o.target())
	w.NumberField("role_type", o.role)
	w.TextField("object_name", o.Is.Name)
	w.TextField("operation_time", c.Moment(o.At))
	w.OpenArray("content_log")
	change := func(name, was, is string) {
		if was != is {
			w.Open('{')
			w.TextField("field_name", name)
			w.TextField("original_data", was)
			w.TextField("update_data", is)
			w.Close('}')
		}
	}
	text := func(fen int64) string { return strconv.FormatInt(li(fen), 10) }
	// A deletion is a change to 删除 (document 2919).
	put := func(s world.Status) string { return [...]string{"投放", "暂停", "删除"}[s] }
	change("name", o.Was.Name, o.Is.Name)
	change("day_budget", text(o.Was.Budget), text(o.Is.Budget))
	change("cpa_bid", text(o.Was.Bid), text(o.Is.Bid))
	change("put_status", put(o.Was.Status), put(o.Is.Status))
	w.Close(']')
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
