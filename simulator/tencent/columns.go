package tencent

import (
	_ "embed"
	"maps"
	"strings"
	"sync"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// tencentFigures are the platform's figures of reports. Most of them do not exist in this world and are zero.
//
//go:embed columns.txt
var tencentFigures string

// tencentDimensions are fields of a report that do not exist in this world, with their empty value: a text or a
// number as in ReportStruct in the platform's SDK (TencentAd/marketing-api-go-sdk, pkg/model/v3).
var tencentDimensions = map[string]string{
	"component_id": "0", "component_name": `""`, "component_type": `""`, "image_id": `""`, "image_ids": `""`,
	"video_id": `""`, "video_ids": `""`,
	"channel_id": `""`, "buying_type": `""`, "bidword_id": "0", "bidword": `""`, "queryword": `""`, "match_type": "0",
	"device":                "0",
	"marketing_target_type": `""`, "marketing_target_type_id": "0", "marketing_asset_id": "0",
	"marketing_asset_name": `""`,
	"project_id":           "0", "project_name": `""`, "product_catalog_id": `""`, "product_series_id": `""`,
	"product_outer_id":           `""`,
	"creative_template_group_id": "0",
}

func tencentEmpty(json string) tencentField {
	return tencentField{write: platform.Fixed[*world.Row](json), compare: func(_, _ *world.Row) int { return 0 }}
}

// tencentColumns returns all fields that a report can have and be sorted by.
var tencentColumns = sync.OnceValue(func() map[string]tencentField {
	all := map[string]tencentField{}
	for line := range strings.Lines(tencentFigures) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for name := range strings.FieldsSeq(line) {
			all[name] = tencentEmpty("0")
		}
	}
	for name, json := range tencentDimensions {
		all[name] = tencentEmpty(json)
	}
	maps.Copy(all, tencentFields)
	return all
})
