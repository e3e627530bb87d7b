package tencent

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// tencentMoments are the operators of conditions on times.
var tencentMoments = []string{"EQUALS", "LESS", "LESS_EQUALS", "GREATER", "GREATER_EQUALS"}

// adgroupLister has the conditions of a list of ad groups, from the tables of the page of adgroups/get. That page has
// no operators for rta_target_id; is_deleted is from the page "Return codes" (返回码), at 33109.
var adgroupLister = tencentLister{
	id: "adgroup_id", name: "adgroup_name", filtersMax: 255,
	operators: map[string][]string{
		"adgroup_id": {"EQUALS", "IN"}, "adgroup_name": {"EQUALS", "CONTAINS"}, "created_time": tencentMoments,
		"last_modified_time": tencentMoments,
		"configured_status":  {"EQUALS"}, "is_deleted": {"EQUALS"}, "material_package_id": tencentMoments,
		"joint_budget_rule_id": {"EQUALS", "IN"}, "auto_derived_creative_enabled": {"EQUALS"}, "rta_target_id": {"EQUALS"},
		"smart_delivery_platform": {"EQUALS", "IN", "LESS", "GREATER_EQUALS"},
	},
}

// tencentListed is an object to which the conditions of lists apply.
type tencentListed struct {
	id, parent        int64
	name              string
	status            world.Status
	created, modified int64
	state             func(*tencentListed) // sets the name, the status and the modification; nil if they are set
}

// tencentLister names the id fields of a list's objects and of their parents.
type tencentLister struct {
	id, name, parent string
	operators        map[string][]string
	filtersMax       int
}

// listFilter is one condition on the objects of a list.
type listFilter struct {
	ofState bool // it needs the fields that state sets
	holds   func(x *tencentListed) bool
}

func (f listFilter) fits(x *tencentListed) bool {
	if f.ofState && x.state != nil {
		x.state(x)
		x.state = nil
	}
	return f.holds(x)
}

func (t *tencent) listFilters(c *platform.Call, of tencentLister) (all []listFilter, err *platform.Failure) {
	filters, err := readFilters(c, of.filtersMax, of.operators)
	if err != nil {
		return nil, err
	}
	deleted := false
	if text := c.Query.Get("is_deleted"); text != "" {
		if text != "true" && text != "false" {
			return nil, platform.Failf(18002, "is_deleted")
		}
		deleted = text == "true"
	}
	byModified := slices.ContainsFunc(filters, func(f tencentFilter) bool { return f.Field == "last_modified_time" })
	for _, f := range filters {
		if f.Field == "is_deleted" {
			if !byModified {
				return nil, platform.Failf(33109, "")
			}
			if f.Values[0] != "true" && f.Values[0] != "false" {
				return nil, platform.Failf(18002, "filtering: is_deleted")
			}
			deleted = f.Values[0] == "true"
			continue
		}
		one, err := t.listFilter(of, f)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	// The cheapest one first: is_deleted needs no state.
	return slices.Insert(all, 0,
		listFilter{holds: func(x *tencentListed) bool { return (x.status == world.StatusDeleted) == deleted }}), nil
}

func (t *tencent) listFilter(of tencentLister, f tencentFilter) (one listFilter, _ *platform.Failure) {
	value := f.Values[0]
	switch f.Field {
	case of.id, of.parent:
		ids := map[int64]bool{}
		for _, text := range f.Values {
			id, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return one, platform.Failf(18002, "filtering: %s", f.Field)
			}
			ids[id] = true
		}
		if f.Field == of.parent {
			return listFilter{holds: func(x *tencentListed) bool { return ids[x.parent] }}, nil
		}
		return listFilter{holds: func(x *tencentListed) bool { return ids[x.id] }}, nil
	case "component_id":
		id, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return one, platform.Failf(18002, "filtering: %s", f.Field)
		}
		// The title and the current assets; earlier ones are deleted.
		return listFilter{holds: func(x *tencentListed) bool { return id/componentsMax == x.id && id%componentsMax < 2 }}, nil
	case of.name:
		if f.Operator == "CONTAINS" {
			return listFilter{true, func(x *tencentListed) bool { return strings.Contains(x.name, value) }}, nil
		}
		return listFilter{true, func(x *tencentListed) bool { return x.name == value }}, nil
	case "created_time", "last_modified_time":
		moment, err := strconv.ParseInt(value, 10, 64)
		if err != nil || len(value) != 10 {
			return one, platform.Failf(18002, "filtering: %s is ten digits of seconds", f.Field)
		}
		if f.Field == "created_time" {
			return listFilter{holds: func(x *tencentListed) bool {
				return compares(f.Operator,
					cmp.Compare(x.created, moment))
			}}, nil
		}
		return listFilter{true, func(x *tencentListed) bool { return compares(f.Operator, cmp.Compare(x.modified, moment)) }},
			nil
	case "configured_status":
		switch value {
		case "AD_STATUS_NORMAL":
			return listFilter{true, func(x *tencentListed) bool { return x.status == world.StatusActive }}, nil
		case "AD_STATUS_SUSPEND":
			return listFilter{true, func(x *tencentListed) bool { return x.status != world.StatusActive }}, nil
		}
		return one, platform.Failf(18009, "filtering: configured_status %q", value)
	default:
		// No object of this world has what the other conditions name.
		return listFilter{holds: func(*tencentListed) bool { return false }}, nil
	}
}

// matches reports whether a text fits a condition.
func matches(f tencentFilter, value string) bool {
	switch f.Operator {
	case "CONTAINS":
		return strings.Contains(value, f.Values[0])
	case "NOT_EQUALS":
		return value != f.Values[0]
	default:
		return slices.Contains(f.Values, value)
	}
}

// compares reports whether the result of a comparison fits an operator.
func compares(operator string, c int) bool {
	switch operator {
	case "EQUALS":
		return c == 0
	case "LESS":
		return c < 0
	case "LESS_EQUALS":
		return c <= 0
	case "GREATER":
		return c > 0
	default:
		return c >= 0
	}
}
