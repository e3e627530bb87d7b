package settings

import (
	"cmp"
	"context"
	"fmt"

	"gorm.io/gorm"

	"adsync/base/ratelimit"
)

// AnyMedia in a lane row makes it the default for every platform; a row that names a media overrides it.
const AnyMedia = "*"

// Lane is a row of the table lane: a name under which work of a platform travels, and how much of it one consumer
// does at once.
type Lane struct {
	Media      string // a media platform, or AnyMedia
	Name       string
	PoolSize   int // subtasks at a time in one consumer
	Partitions int // of the topic; 0 = the broker's configured number
	// Limits for fan-outs, see package producer/brake; 0 = the default for each.
	BacklogMax  int64 // waiting messages above which the lane's fan-outs rest
	LateSeconds int   // age of the oldest waiting message from which fan-outs of less important lanes rest
	Importance  int   // rank among a media's lanes, for resting fan-outs and for calls that wait for a limit
}

// The lanes as shipped.
const (
	LaneImportant = "important"
	LaneNormal    = "normal"
	LaneOffline   = "offline"
)

// laneImportance ranks the lanes as shipped.
var laneImportance = map[string]int{LaneImportant: 30, LaneNormal: ratelimit.ImportanceUsual, LaneOffline: 10}

// LaneImportance returns a lane's importance: its row's if above 0, otherwise its name's. A name that is not shipped
// has the importance of normal.
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
