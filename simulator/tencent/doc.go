// Package tencent is Tencent Ads' Marketing API v3.0, simulated. A file has an endpoint or a few: oauth.go,
// logins.go (lists of accounts by agencies), lists.go (ad groups and accounts), creatives.go, assets.go, reports.go,
// funds.go; filters.go and assetfilters.go are their conditions, columns.go the columns of reports.
package tencent
