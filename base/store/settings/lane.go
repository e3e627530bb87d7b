package settings

import (
	"cmp"
	"context"
	"fmt"

	"gorm.io/gorm"

	"adsync/base/ratelimit"
)

// AnyMedia in a lane row makes it the default of every media platform; a row that names a media overrides it.
const AnyMedia = "*"

// Lane is a row of the table lane: a name under which work of a media platform travels, and how much of it one
// consumer does at once.
type Lane struct {
	Media      string // a media platform, or AnyMedia
	Name       string
	PoolSize   int // subtasks at a time in one consumer
	Partitions int // of the topic; 0 = as the broker's configuration says
	// What fan-outs look at, see package producer/brake; 0 = the default for each.
	BacklogMax  int64 // messages that may wait before the lane's fan-outs do
	LateSeconds int   // age of the oldest waiting message from which less important lanes' fan-outs wait
	Importance  int   // among the lanes of a media: whose fan-outs rest for whose, and whose calls go first where a limit holds them back
}

// The lanes as shipped.
const (
	LaneImportant = "important"
	LaneNormal    = "normal"
	LaneOffline   = "offline"
)

// laneImportance ranks the lanes as shipped.
var laneImportance = map[string]int{LaneImportant: 30, LaneNormal: ratelimit.ImportanceUsual, LaneOffline: 10}

// LaneImportance is how important a lane is: as its row says, where that is above 0, else by its name. One of another name than those
// shipped is as important as normal.
func LaneImportance(name string, row int) int {
	return cmp.Or(max(row, 0), laneImportance[name], laneImportance[LaneNormal])
}

// Lanes returns all lane rows, the defaults first, as the writer holds them.
func (s Tasks) Lanes(ctx context.Context) ([]Lane, error) { return lanesOf(s.Config.Writer(ctx)) }

func lanesOf(db *gorm.DB) ([]Lane, error) {
	var lanes []Lane
	if err := db.Order("media, name").Find(&lanes).Error; err != nil {
		return nil, fmt.Errorf("read lanes: %w", err)
	}
	return lanes, nil
}
