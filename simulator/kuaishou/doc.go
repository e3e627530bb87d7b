// Package kuaishou is the Marketing API of Kuaishou's Magnetic Engine, simulated. A file has an endpoint or a few:
// oauth.go (tokens and the list of accounts), lists.go, campaigns.go, units.go, creatives.go, assets.go, funds.go,
// operations.go, reports.go with columns.go, and tasks.go with file.go (asynchronous reports). assumed.go names the
// behaviour that the platform's documents do not state: an order to /_sim/limits changes it.
package kuaishou
