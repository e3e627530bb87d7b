// Package bilibili is the Marketing API (三连推广 MAPI) of Bilibili, simulated. A file has an endpoint or a few:
// oauth.go (tokens, subjects and accounts), lists.go, campaigns.go, units.go, creatives.go, assets.go, funds.go, and
// reports.go with columns.go.
//
// The portal's own pages are not public. What is known comes from a public Go client (STACK), from the public guides
// "B站三连广告" for this API (GUIDE), from a public program that reads its reports (READER), and from a public client of
// the older, signed API of the same host (SIGNED). Comments name the source. Everything else is chosen, and assumed.go
// has what an order to /_sim/limits changes.
package bilibili
