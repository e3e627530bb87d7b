package tencent

import "slices"

// The platform's lists that the tests of the wire format need.
var (
	FieldsOfLists = map[string][]string{
		"adgroups/get":          slices.Concat(adgroupOrder, adgroupUnset),
		"dynamic_creatives/get": slices.Concat(creativeOrder, creativeUnset),
		"images/get":            slices.Concat(tencentImageOrder, tencentImageUnset),
		"videos/get":            slices.Concat(tencentVideoOrder, tencentVideoUnset),
	}
	FieldsOfAccounts = tencentAccountUnset
	ReportColumns    = tencentFigures
)

// HasFigures reports whether the world has figures for a column of a report.
func HasFigures(column string) bool { _, has := tencentFields[column]; return has }
