package tencent

import (
	"encoding/json"

	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

const creativesEndpoint = "dynamic_creatives/get"

var creativeTable = store.RawTable{Name: "tencent_dynamic_creative", Shape: store.Objects, Columns: []store.RawColumn{
	{Name: "dynamic_creative_name", Kind: store.Text},
	{Name: "adgroup_id", Kind: store.Text}, // a text, as ids are in the other tables
	{Name: "configured_status", Kind: store.Text},
	{Name: "creative_set_approval_status", Kind: store.Text},
	{Name: "created_time", Kind: store.Instant},
	{Name: "last_modified_time", Kind: store.Instant},
}}

var creatives = cursorList{endpoint: creativesEndpoint, read: readCreative, fields: []string{
	"dynamic_creative_id", "dynamic_creative_name", "adgroup_id", "dynamic_creative_type", "creative_components", "configured_status",
	"creative_set_approval_status", "created_time", "last_modified_time", "is_deleted",
}}

func readCreative(raw json.RawMessage) (media.Row, error) {
	var c struct {
		ID               wire.ID  `json:"dynamic_creative_id"`
		Name             string   `json:"dynamic_creative_name"`
		AdgroupID        wire.ID  `json:"adgroup_id"`
		ConfiguredStatus string   `json:"configured_status"`
		ApprovalStatus   string   `json:"creative_set_approval_status"`
		CreatedTime      wire.Int `json:"created_time"`
		LastModifiedTime wire.Int `json:"last_modified_time"`
		IsDeleted        bool     `json:"is_deleted"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return media.Row{}, err
	}
	if c.ID == "" {
		return media.Row{}, errNoID
	}
	modified := c.LastModifiedTime.Unix()
	return media.Row{
		Object: string(c.ID), Name: wire.Cut(c.Name), Modified: modified, Deleted: c.IsDeleted,
		Raw: []any{
			wire.Text(c.Name), wire.Text(string(c.AdgroupID)), wire.Text(c.ConfiguredStatus), wire.Text(c.ApprovalStatus),
			store.At(c.CreatedTime.Unix()), store.At(modified),
		},
		JSON: raw,
	}, nil
}
