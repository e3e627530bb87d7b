package tencent

import (
	"encoding/json"

	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

const adgroupsEndpoint = "adgroups/get"

var adgroupTable = store.RawTable{Name: "tencent_adgroup", Shape: store.Objects, Columns: []store.RawColumn{
	{Name: "adgroup_name", Kind: store.Text},
	{Name: "configured_status", Kind: store.Text},
	{Name: "system_status", Kind: store.Text},
	{Name: "daily_budget_fen", Kind: store.Int}, // 0 is no limit
	{Name: "bid_amount_fen", Kind: store.Int},
	{Name: "created_time", Kind: store.Instant},
	{Name: "last_modified_time", Kind: store.Instant},
}}

var adgroupFields = []string{
	"adgroup_id", "adgroup_name", "configured_status", "system_status", "daily_budget", "bid_amount",
	"created_time", "last_modified_time", "is_deleted", "targeting",
}

// Lists implements media.Platform.
func (Platform) Lists() []media.List {
	touched := []string{"last_modified_time", "is_deleted"}
	return []media.List{
		{Name: "adgroup", Level: "adgroup", Table: adgroupTable, Variants: []string{live, deleted}, Unlogged: touched, Shown: store.Shown{Column: "configured_status", Value: "AD_STATUS_NORMAL"}, Page: adgroups.page},
		{Name: "dynamic_creative", Level: "creative", Table: creativeTable, Parent: "adgroup_id", Variants: []string{live, deleted}, Unlogged: touched, MapsAssets: true, Page: creatives.page},
		{Name: "image", Level: store.AssetImage, Table: imageTable, Unlogged: touched, Page: images.page},
		{Name: "video", Level: store.AssetVideo, Table: videoTable, Unlogged: touched, Page: videos.page},
	}
}

var adgroups = cursorList{endpoint: adgroupsEndpoint, fields: adgroupFields, read: readAdgroup}

func readAdgroup(raw json.RawMessage) (media.Row, error) {
	var a struct {
		AdgroupID        wire.ID  `json:"adgroup_id"`
		AdgroupName      string   `json:"adgroup_name"`
		ConfiguredStatus string   `json:"configured_status"`
		SystemStatus     string   `json:"system_status"`
		DailyBudget      wire.Int `json:"daily_budget"`
		BidAmount        wire.Int `json:"bid_amount"`
		CreatedTime      wire.Int `json:"created_time"`
		LastModifiedTime wire.Int `json:"last_modified_time"`
		IsDeleted        bool     `json:"is_deleted"`
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return media.Row{}, err
	}
	if a.AdgroupID == "" {
		return media.Row{}, errNoID
	}
	modified := a.LastModifiedTime.Unix()
	return media.Row{
		Object: string(a.AdgroupID), Name: wire.Cut(a.AdgroupName), Modified: modified, Deleted: a.IsDeleted,
		Raw: []any{
			wire.Text(a.AdgroupName), wire.Text(a.ConfiguredStatus), wire.Text(a.SystemStatus),
			a.DailyBudget.Column(), a.BidAmount.Column(),
			store.At(a.CreatedTime.Unix()), store.At(modified),
		},
		JSON: raw,
	}, nil
}
