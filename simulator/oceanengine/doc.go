// Package oceanengine is Ocean Engine's Marketing API, simulated. oceanengine.go has the envelope and the tokens,
// containers.go the lists of accounts, lists.go promotions, projects.go projects, materials.go images, videos and
// materials, reports.go and filters.go reports, funds.go money.
package oceanengine
