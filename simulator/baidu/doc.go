// Package baidu is the API of Baidu Marketing, simulated: search and feed advertising under a manager's login. A file
// has an endpoint or a few: oauth.go (tokens, the accounts of a login), search.go and feed.go (objects) with lists.go,
// assets.go, funds.go, reports.go with columns.go and sorts.go, and tasks.go (asynchronous reports). assumed.go
// names the behaviour that the platform's documents do not state: an order to /_sim/limits changes it.
//
// The sources are copies of dev2.baidu.com's pages 100140, 100141, 100142, 100441, 102474, 102631, 103889 and 103892,
// and the comments of the client bububa/baidu-marketing v1.4.3, which repeat those pages.
package baidu
