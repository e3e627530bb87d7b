package tencent

import (
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

const adgroupsEndpoint = "adgroups/get"

var adgroupTable = rawtable.Table{Name: "tencent_adgroup", Shape: rawtable.Objects, Columns: []rawtable.Column{
	{Name: "adgroup_name", Kind: rawtable.Text},
	{Name: "configured_status", Kind: rawtable.Text},
	{Name: "system_status", Kind: rawtable.Text},
	wire.Fen.Column("daily_budget"), // 0 is no limit
	wire.Fen.Column("bid_amount"),
	{Name: "created_time", Kind: rawtable.Instant},
	{Name: "last_modified_time", Kind: rawtable.Instant},
}}

var adgroupFields = []string{
	"adgroup_id", "adgroup_name", "configured_status", "system_status", "daily_budget", "bid_amount",
	"created_time", "last_modified_time", "is_deleted", "targeting",
}

// Lists implements media.Platform.
func (Platform) Lists() []media.List {
	touched := []string{"last_modified_time", "is_deleted"}
	return []media.List{
		{Name: "adgroup", Level: "adgroup", Table: adgroupTable, Variants: []string{live, deleted}, Unlogged: touched,
			Shown: rawtable.Shown{Column: "configured_status", Value: "AD_STATUS_NORMAL"}, Page: adgroups.page},
		{Name: "dynamic_creative", Level: "creative", Table: creativeTable, Parent: "adgroup_id",
			Variants: []string{live, deleted}, Unlogged: touched, MapsAssets: true, Page: creatives.page},
		{Name: "image", Level: rawtable.AssetImage, Table: imageTable, Variants: []string{dated, undated}, Unlogged: touched,
			Page: images.page},
		{Name: "video", Level: rawtable.AssetVideo, Table: videoTable, Variants: []string{dated, undated}, Unlogged: touched,
			Page: videos.page},
	}
}

var adgroups = cursorList{endpoint: adgroupsEndpoint, fields: adgroupFields, read: readAdgroup}

func readAdgroup(a *wire.Row) media.Row {
	name, modified := a.Text("adgroup_name"), a.Unix("last_modified_time")
	return media.Row{
		Object: a.Key("adgroup_id"), Name: wire.Cut(name), Modified: modified, Deleted: a.Bool("is_deleted"),
		Raw: []any{
			wire.Text(name), wire.Text(a.Text("configured_status")), wire.Text(a.Text("system_status")),
			a.Money("daily_budget", wire.Fen), a.Money("bid_amount", wire.Fen),
			sqldb.At(a.Unix("created_time")), sqldb.At(modified),
		},
	}
}
