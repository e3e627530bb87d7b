// Package night describes a platform's part in the night that `adsync standalone --once` plays. Each platform's
// package has a night.go with its own events. Package standalone/story plays them.
package night
