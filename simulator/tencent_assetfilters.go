package simulator

import (
	"cmp"
	"slices"
	"strconv"
)

// assetCondition is what a list of assets can be narrowed by.
type assetCondition struct {
	field     string
	operators []string
	text      func(x *asset) string // what it compares; nil where this world has nothing
	number    func(x *asset) int64  // instead of text, of what is compared by its size
}

func assetID(x *asset) string                 { return x.id }
func assetMadeAt(x *asset) int64              { return x.created }
func assetModifiedAt(x *asset) int64          { return x.modified }
func constant(v string) func(x *asset) string { return func(*asset) string { return v } }

var (
	tencentIs       = []string{"EQUALS"}
	tencentContains = []string{"EQUALS", "CONTAINS"}
	tencentRange    = []string{"GREATER_EQUALS", "LESS_EQUALS"}
)

// tencentAssetConditions are those of the pages of images/get and videos/get, which have their operators from the same
// tables: an image's id is found by IN, a video's by CONTAINS and its media_id by IN.
var tencentAssetConditions = [][]assetCondition{
	assetImage: append(tencentCommonConditions("image"),
		assetCondition{field: "image_id", operators: []string{"EQUALS", "CONTAINS", "IN"}, text: assetID}),
	assetVideo: append(tencentCommonConditions("media"),
		assetCondition{field: "media_id", operators: []string{"EQUALS", "IN"}, text: assetID},
		assetCondition{field: "video_id", operators: tencentContains, text: assetID},
		assetCondition{field: "video_duration_millisecond", operators: tencentRange, number: func(x *asset) int64 { return x.milliseconds }}),
}

func tencentCommonConditions(word string) []assetCondition {
	width, height := func(x *asset) int64 { return x.width }, func(x *asset) int64 { return x.height }
	return []assetCondition{
		{field: word + "_signature", operators: tencentContains, text: func(x *asset) string { return x.signature }},
		{field: word + "_width", operators: tencentIs, number: width},
		{field: word + "_height", operators: tencentIs, number: height},
		{field: word + "_description", operators: tencentContains, text: func(x *asset) string { return x.name }},
		{field: "created_time", operators: tencentMoments, number: assetMadeAt},
		{field: "last_modified_time", operators: tencentMoments, number: assetModifiedAt},
		{field: "file_size", operators: []string{"LESS_EQUALS"}, number: func(x *asset) int64 { return x.size }},
		{field: "width", operators: tencentRange, number: width},
		{field: "height", operators: tencentRange, number: height},
		{field: "source_type", operators: tencentIs, text: constant("SOURCE_TYPE_LOCAL")},
		{field: "status", operators: tencentContains, text: constant("ADSTATUS_NORMAL")},
		{field: "first_publication_status", operators: tencentIs, text: constant("FIRST_PUBLICATION_STATUS_DEFAULT")},
		{field: "quality_status", operators: tencentIs, text: constant("QUALITY_STATUS_DEFAULT")},
		{field: "aigc_flag", operators: tencentIs, text: constant("AIGC_FLAG_UNKNOWN")},
		{field: "product_catalog_id", operators: tencentContains},
		{field: "product_outer_id", operators: tencentContains},
		{field: "owner_account_id", operators: tencentContains},
		{field: "sample_aspect_ratio", operators: tencentContains},
		{field: "similarity_status", operators: tencentIs},
		{field: "ratio", operators: tencentIs},
	}
}

// assetFilters reads the conditions of a list of assets.
func (t *tencent) assetFilters(c *call, kind assetKind) (fits []func(x *asset) bool, _ *apiError) {
	known := map[string]assetCondition{}
	operators := map[string][]string{}
	for _, condition := range tencentAssetConditions[kind] {
		known[condition.field], operators[condition.field] = condition, condition.operators
	}
	filters, err := t.filters(c, 4, operators)
	if err != nil {
		return nil, err
	}
	oldest := c.now - tencentAssetBack
	for _, f := range filters {
		condition := known[f.Field]
		if f.Field == "created_time" {
			oldest = 0
		}
		if condition.number == nil {
			text := condition.text
			fits = append(fits, func(x *asset) bool { return text != nil && matches(f, text(x)) })
			continue
		}
		limit, wrong := strconv.ParseInt(f.Values[0], 10, 64)
		if wrong != nil {
			return nil, failure(18002, "filtering: %s is a number", f.Field)
		}
		if slices.Contains(tencentMomentFields, f.Field) && len(f.Values[0]) != 10 {
			return nil, failure(18002, "filtering: %s is ten digits of seconds", f.Field)
		}
		fits = append(fits, func(x *asset) bool { return compares(f.Operator, cmp.Compare(condition.number(x), limit)) })
	}
	return append(fits, func(x *asset) bool { return x.created >= oldest }), nil
}

var tencentMomentFields = []string{"created_time", "last_modified_time"}
