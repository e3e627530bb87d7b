package tencent

import "slices"

// What the tests of the wire need of the platform's own lists.
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

// HasFigures reports whether the world has something for a column of a report.
func HasFigures(column string) bool { _, has := tencentFields[column]; return has }
