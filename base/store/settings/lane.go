package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"adsync/base/ratelimit"
	"adsync/base/sqldb"
)

// AnyMedia in a lane row makes it the default for every platform; a row that names a media overrides it.
const AnyMedia = "*"

// Lane is a row of the table lane: a name under which work of a platform travels, and how much of it one consumer
// does at once.
type Lane struct {
	Media      string // a media platform, or AnyMedia
	Name       string
	PoolSize   int // subtasks at a time in one consumer
	WorkersMax int // subtasks at a time in all consumers together; 0 = no limit
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

// Carries reports whether work of a media platform travels on the lane's row when it names a lane.
func (l Lane) Carries(media, lane string) bool {
	return l.Name == lane && (l.Media == AnyMedia || l.Media == media)
}

// PutLane writes the row of a lane. change is given the row as it is, and whether it is known, and returns what it is
// to be.
func (s Tasks) PutLane(ctx context.Context, e Editor, media, name string,
	change func(before Lane, known bool) (Lane, error)) error {
	table := sqldb.Table{Name: "lane", Key: []string{"media", "name"},
		Columns: []string{"pool_size", "partitions", "backlog_max", "late_seconds", "importance", "workers_max"}}
	err := Edit(ctx, s.Databases, e, table.Name, nil, func(tx *gorm.DB) error {
		lanes, err := lanesOf(tx)
		if err != nil {
			return err
		}
		before := Lane{Media: media, Name: name}
		at := slices.IndexFunc(lanes, func(l Lane) bool { return l.Media == media && l.Name == name })
		if at >= 0 {
			before = lanes[at]
		}
		l, err := change(before, at >= 0)
		if err != nil {
			return err
		}
		return s.Config.Upsert(tx, table, [][]any{{media, name, l.PoolSize, l.Partitions, l.BacklogMax, l.LateSeconds,
			l.Importance, l.WorkersMax}})
	})
	if err != nil {
		return fmt.Errorf("write the lane %s:%s: %w", media, name, err)
	}
	return nil
}

// DeleteLane deletes the row of a lane, unless check refuses it. check is given the tasks, the lanes without the row,
// and the names of the subscriptions that name the lane. DeleteLane returns ErrNotFound if there is no such row.
func (s Tasks) DeleteLane(ctx context.Context, e Editor, media, name string,
	check func(table TaskTable, subscriptions []string) error) error {
	err := Edit(ctx, s.Databases, e, "lane", nil, func(tx *gorm.DB) error {
		// No task or subscription is edited meanwhile: it could come to name the lane.
		if err := errors.Join(LockTable(tx, AuditTasks), LockTable(tx, AuditSubscriptions)); err != nil {
			return err
		}
		var subscriptions []string
		err := tx.Table(AuditSubscriptions).Clauses(sqldb.ForUpdate).Where("lane = ?", name).Order("name").
			Pluck("name", &subscriptions).Error
		if err != nil {
			return err
		}
		table, err := taskTable(tx)
		if err != nil {
			return err
		}
		rest := slices.DeleteFunc(slices.Clone(table.Lanes), func(l Lane) bool { return l.Media == media && l.Name == name })
		if len(rest) == len(table.Lanes) {
			return sqldb.ErrNotFound
		}
		table.Lanes = rest
		if err := check(table, subscriptions); err != nil {
			return err
		}
		return tx.Where("media = ? AND name = ?", media, name).Delete(&Lane{}).Error
	})
	if err != nil {
		return fmt.Errorf("delete the lane %s:%s: %w", media, name, err)
	}
	return nil
}
