package oceanengine

import (
	"strconv"

	"adsync/media"
)

// The two queries that make up a list that shows deleted objects only on request. Live objects come first: an object
// that is deleted between the two queries is then in both. In the other order it would be in neither.
const (
	live    = "live"
	deleted = "deleted"
)

func noSuchPage(page string) error {
	return &media.Error{Class: media.Bug, Message: "page " + strconv.Quote(page) + " is not a page number"}
}
