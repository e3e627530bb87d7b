package oceanengine

import (
	"strconv"

	"adsync/media"
)

// The two queries that make the whole of a list that shows what was deleted only when asked for it. Live ones come
// first: an object that is deleted between the two is then in both, the other way round it would be in none.
const (
	live    = "live"
	deleted = "deleted"
)

func noSuchPage(page string) error {
	return &media.Error{Class: media.Bug, Message: "page " + strconv.Quote(page) + " is not a page number"}
}
