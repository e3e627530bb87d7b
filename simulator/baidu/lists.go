package baidu

import (
	"fmt"
	"maps"
	"slices"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// Lists have no pages: all children of the given parents come in one answer (pages 102631 and 103889). Deleted objects
// are in none. An account has either search campaigns or feed campaigns.

// isSearch reports whether an account has search campaigns: a third has.
func isSearch(a *world.Account) bool { return a.Index%3 == 1 }

// object is an object of a call with its parents.
type object struct {
	c       *platform.Call
	account *world.Account
	// paused is set if a parent is paused.
	paused   bool
	campaign world.Project
	adgroup  world.Object
	creative *world.ListedCreative
}

// kind is a kind of ids that a list is read by.
type kind struct {
	most  int
	level level // of the objects that have the ids
}

// lister is a list of objects of one level.
type lister struct {
	level    level
	isSearch bool
	fields   []platform.Field[object]
	choice   string         // the parameter with the requested fields
	ids      string         // the parameter with the ids
	kinds    map[int64]kind // by idType; the only one is that of lists without idType, whose ids are optional
}

func (x *object) id(l level) int64 {
	switch l {
	case levelCampaign:
		return x.campaign.ID
	case levelAdgroup:
		return x.adgroup.ID
	default:
		return x.creative.ID
	}
}

// objects lists an account's objects of a level that are not deleted, in order of their ids.
func objects(c *platform.Call, a *world.Account, l level) (list []object) {
	campaigns := map[int64]world.Project{}
	for _, x := range a.Projects(c.Now) {
		campaigns[x.ID] = x
		if l == levelCampaign {
			list = append(list, object{c: c, account: a, campaign: x})
		}
	}
	if l == levelCampaign {
		return list
	}
	for _, x := range c.View.Objects(a) {
		o := object{c: c, account: a, campaign: campaigns[x.Project], adgroup: x}
		o.paused = o.campaign.Status != world.StatusActive
		if x.Status == world.StatusDeleted {
			continue
		}
		if l == levelAdgroup {
			list = append(list, o)
			continue
		}
		x.EachCreative(a, c.Now, func(one world.Creative) {
			if listed := one.At(c.Now); listed.Status != world.StatusDeleted {
				o.creative = &listed
				list = append(list, o)
			}
		})
	}
	return list
}

// serve returns the handler of a list.
func (l *lister) serve(b *baidu) func(*platform.Call, caller, *platform.Params) *platform.Failure {
	return func(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
		fields := platform.Chosen(p, l.choice, l.fields)
		k, ids := l.read(p)
		isNone := l.isNone(p)
		if p.Failure != nil {
			return nil
		}
		var list []object
		if isSearch(by.account) == l.isSearch && !isNone {
			list = objects(c, by.account, l.level)
		}
		var problems []problem
		if ids != nil {
			problems = l.check(c, by.account, k, ids)
			list = slices.DeleteFunc(list, func(x object) bool {
				id := x.id(k.level)
				return !slices.Contains(ids, id) || slices.ContainsFunc(problems, func(p problem) bool { return p.id == id })
			})
		}
		b.write(c, len(ids), problems, fields, list)
		return nil
	}
}

// isNone reports whether the conditions of a search list exclude all objects: this world has no shadow versions, which
// wait for their review, and only ordinary campaigns. The conditions of feed lists are not served.
func (l *lister) isNone(p *platform.Params) bool {
	refuseUnserved(p, "campaignFeedFilter", "creativeFeedFilter")
	return l.isSearch && (p.OneOf("getTemp", 0, 1) == 1 || p.OneOf("adType", 0, 6, 14) != 0)
}

// refuseUnserved refuses conditions that would be ignored.
func refuseUnserved(p *platform.Params, names ...string) {
	for _, name := range names {
		if text := p.Call.Query.Get(name); text != "" && text != "[]" && text != "null" {
			wrong(p, "the condition %s is not simulated", name)
		}
	}
}

// read reads the ids of a call; nil for all of the account.
func (l *lister) read(p *platform.Params) (k kind, ids []int64) {
	if only, ok := l.kinds[0]; ok {
		k = only
	} else {
		k = l.kinds[p.OneOf("idType", slices.Sorted(maps.Keys(l.kinds))...)]
		if p.Call.Query.Get("idType") == "" || len(p.Numbers(l.ids, k.most)) == 0 {
			wrong(p, "%s and idType are given", l.ids)
		}
	}
	return k, p.Numbers(l.ids, k.most)
}

// check returns the ids that the account does not have, as errors. A fault makes the first of several fail.
func (l *lister) check(c *platform.Call, a *world.Account, k kind, ids []int64) (list []problem) {
	known := map[int64]bool{}
	if isSearch(a) == l.isSearch {
		for _, x := range objects(c, a, k.level) {
			known[x.id(k.level)] = true
		}
	}
	fails := len(ids) > 1 && c.Sim.Faults.Takes(c, platform.FormPart)
	for i, id := range ids {
		x := problem{position: fmt.Sprintf("%s[%d]", l.ids, i), field: l.ids, id: id}
		switch {
		case fails && i == 0:
			x.Failure = platform.Failf(codeSystem, "system error")
		case !known[id]:
			x.Failure = c.Refusal(codeObject, "id %d is unknown", id)
		default:
			continue
		}
		list = append(list, x)
	}
	return list
}

// write answers with a list, of which the objects of some of several ids may be missing.
func (b *baidu) write(c *platform.Call, ids int, problems []problem, fields []platform.Field[object], list []object) {
	status := int64(min(len(problems), statusPart))
	if len(problems) > 0 && len(problems) == ids {
		status = statusFailed
	}
	asText := c.Sim.Traps.Holds(c, trap.NumbersAsText)
	w := b.begin(c, status, problems...)
	w.Open('[')
	for _, x := range list {
		w.Open('{')
		platform.WriteFields(c, &w, fields, x, asText)
		if x.adgroup.ID != 0 && x.creative == nil {
			c.CountTraits(&w, x.account, x.adgroup.Traits)
		}
		w.Close('}')
	}
	w.Close(']')
	b.end(c, &w)
}

// text returns the field of a text.
func text(name string, of func(x *object) string) platform.Field[object] {
	return platform.NewField(name, func(w *platform.Writer, x object) { w.Text(of(&x)) })
}

// number returns the field of a whole number.
func number(name string, of func(x *object) int64) platform.Field[object] {
	return platform.NewField(name, func(w *platform.Writer, x object) { w.Number(of(&x)) })
}

// yuan returns the field of an amount, which is in fen here.
func yuan(name string, of func(x *object) int64) platform.Field[object] {
	return platform.NewField(name, func(w *platform.Writer, x object) { w.Hundredths(of(&x)) })
}

// own is the field of what the advertiser has set.
var own = platform.NewField("pause", func(w *platform.Writer, x object) { w.Flag(x.ownStatus() != world.StatusActive) })

func (x *object) ownStatus() world.Status {
	switch {
	case x.creative != nil:
		return x.creative.Status
	case x.adgroup.ID != 0:
		return x.adgroup.Status
	default:
		return x.campaign.Status
	}
}

// status returns the field of the computed status: one of those for running, for paused, and for a paused campaign.
func status(active, paused, above int64) platform.Field[object] {
	return number("status", func(x *object) int64 {
		switch {
		case x.ownStatus() != world.StatusActive:
			return paused
		case x.creative == nil && x.adgroup.ID != 0 && x.adgroup.Falls(trap.UnknownWord):
			return unknownStatus
		case x.creative == nil && x.paused:
			return above
		default:
			return active
		}
	})
}

// unknownStatus is a status that no document has.
const unknownStatus = 98

func fixed(name, json string) platform.Field[object] { return platform.Constant[object](name, json) }

// idField returns the field with the id of an object or of a parent.
func idField(name string, l level) platform.Field[object] {
	return number(name, func(x *object) int64 { return x.id(l) })
}

func made(name string, of func(x *object) int64) platform.Field[object] {
	return text(name, func(x *object) string { return x.c.Moment(of(x)) })
}

func createdCampaign(x *object) int64 { return x.campaign.Created }
func createdAdgroup(x *object) int64  { return x.adgroup.Created }
func createdCreative(x *object) int64 { return x.creative.Created }

// adgroupName writes the name of an ad, which a trap may cut.
func adgroupName(name string) platform.Field[object] {
	return platform.NewField(name, func(w *platform.Writer, x object) { w.AdName(x.adgroup.Name) })
}

// material returns the content of a feed creative, which is JSON in a text. The documents list its fields by style.
func material(x *object) string {
	assets := x.creative.Assets(x.account)
	w := platform.Writer{}
	w.Open('{')
	w.TextField("title", x.creative.Name)
	w.Key("videoId")
	w.Raw(assets[0].ID)
	w.TextField("poster", imageURL(&assets[1]))
	w.Close('}')
	return string(w.Bytes)
}
