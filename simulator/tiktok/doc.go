// Package tiktok is version 1.3 of TikTok's Marketing API, simulated. A file has an endpoint or a few: oauth.go (tokens
// and the list of accounts), accounts.go, campaigns.go, adgroups.go, ads.go, assets.go, reports.go with conditions.go
// and metrics.go, and tasks.go (asynchronous reports). lists.go has what the lists of objects share. assumed.go names
// the behaviour that the platform's documents do not state: an order to /_sim/limits changes it.
package tiktok
