package tencent

import (
	"cmp"
	"slices"
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// assetCondition is a condition of a list of assets.
type assetCondition struct {
	field     string
	operators []string
	text      func(x *world.Asset) string // the compared text; nil if this world has none
	number    func(x *world.Asset) int64  // instead of text, for comparisons by size
}

func assetID(x *world.Asset) string                 { return x.ID }
func assetMadeAt(x *world.Asset) int64              { return x.Created }
func assetModifiedAt(x *world.Asset) int64          { return x.Modified }
func constant(v string) func(x *world.Asset) string { return func(*world.Asset) string { return v } }

var (
	tencentIs       = []string{"EQUALS"}
	tencentContains = []string{"EQUALS", "CONTAINS"}
	tencentRange    = []string{"GREATER_EQUALS", "LESS_EQUALS"}
)

// tencentAssetConditions are the conditions of the pages of images/get and videos/get. Their operators are in the
// tables of these pages: an image's id is found by IN, a video's by CONTAINS and its media_id by IN.
var tencentAssetConditions = [][]assetCondition{
	world.AssetImage: append(tencentCommonConditions("image"),
		assetCondition{field: "image_id", operators: []string{"EQUALS", "CONTAINS", "IN"}, text: assetID}),
	world.AssetVideo: append(tencentCommonConditions("media"),
		assetCondition{field: "media_id", operators: []string{"EQUALS", "IN"}, text: assetID},
		assetCondition{field: "video_id", operators: tencentContains, text: assetID},
		assetCondition{field: "video_duration_millisecond", operators: tencentRange,
			number: func(x *world.Asset) int64 { return x.Milliseconds }}),
}

func tencentCommonConditions(word string) []assetCondition {
	width, height := func(x *world.Asset) int64 { return x.Width }, func(x *world.Asset) int64 { return x.Height }
	return []assetCondition{
		{field: word + "_signature", operators: tencentContains, text: func(x *world.Asset) string { return x.Signature }},
		{field: word + "_width", operators: tencentIs, number: width},
		{field: word + "_height", operators: tencentIs, number: height},
		{field: word + "_description", operators: tencentContains, text: func(x *world.Asset) string { return x.Name }},
		{field: "created_time", operators: tencentMoments, number: assetMadeAt},
		{field: "last_modified_time", operators: tencentMoments, number: assetModifiedAt},
		{field: "file_size", operators: []string{"LESS_EQUALS"}, number: func(x *world.Asset) int64 { return x.Size }},
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
func (t *tencent) assetFilters(c *platform.Call, kind world.AssetKind) (fits []func(x *world.Asset) bool,
	_ *platform.Failure) {
	known := map[string]assetCondition{}
	operators := map[string][]string{}
	for _, condition := range tencentAssetConditions[kind] {
		known[condition.field], operators[condition.field] = condition, condition.operators
	}
	filters, err := readFilters(c, 4, operators)
	if err != nil {
		return nil, err
	}
	oldest := c.Now - tencentAssetBack
	for _, f := range filters {
		condition := known[f.Field]
		if f.Field == "created_time" {
			oldest = 0
		}
		if condition.number == nil {
			text := condition.text
			fits = append(fits, func(x *world.Asset) bool { return text != nil && matches(f, text(x)) })
			continue
		}
		limit, wrong := strconv.ParseInt(f.Values[0], 10, 64)
		if wrong != nil {
			return nil, platform.Failf(18002, "filtering: %s is a number", f.Field)
		}
		if slices.Contains(tencentMomentFields, f.Field) && len(f.Values[0]) != 10 {
			return nil, platform.Failf(18002, "filtering: %s is ten digits of seconds", f.Field)
		}
		fits = append(fits, func(x *world.Asset) bool {
			return compares(f.Operator,
				cmp.Compare(condition.number(x), limit))
		})
	}
	return append(fits, func(x *world.Asset) bool { return x.Created >= oldest }), nil
}

var tencentMomentFields = []string{"created_time", "last_modified_time"}
