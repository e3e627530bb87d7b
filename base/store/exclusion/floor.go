package exclusion

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
	"adsync/base/task"
)

const floorColumns = "f.id, f.run_id, f.account_id, f.part, f.task_name, f.media, f.lane, f.scope, f.ancestors," +
	" f.hold_ms, f.drain_ms, f.delivery, f.claim, f.asked_at, f.front_at, f.held_at"

var floorTable = sqldb.Table{Name: "floor", Key: []string{"id"}, Columns: []string{
	"run_id", "account_id", "part", "task_name", "media", "lane", "scope", "ancestors", "hold_ms", "drain_ms", "delivery",
	"claim", "asked_at", "front_at", "held_at",
}}

// ReadFloors returns all floors, with one statement: each consumer calls it every second.
func (s Holds) ReadFloors(ctx context.Context) (r Reading, err error) {
	query := s.Data.Latest(ctx).Raw("SELECT " + s.Data.Dialect().Now() + ", s.reports_until, " + floorColumns +
		" FROM floor_state s LEFT JOIN floor f ON f.id > 0 WHERE s.id = 1 ORDER BY f.id")
	err = sqldb.EachRow(query, func(rows *sql.Rows) error {
		var now, until sqldb.Time
		f, found, err := scanFloor(rows, &now, &until)
		r.Now, r.Reports = now.Truncate(time.Millisecond), now.Before(until.Time)
		if found {
			r.Floors = append(r.Floors, f)
		}
		return err
	})
	if err != nil {
		return Reading{}, fmt.Errorf("read the floors: %w", err)
	}
	return r, nil
}

// scanFloor scans the values of before, and then a floor, if the row has one.
func scanFloor(rows *sql.Rows, before ...any) (f Floor, found bool, err error) {
	var id, run, account, hold, drain, delivery sql.NullInt64
	var part, name, media, lane, scope, ancestors, claim sql.NullString
	var asked, front, held sqldb.Time
	err = rows.Scan(append(before, &id, &run, &account, &part, &name, &media, &lane, &scope, &ancestors, &hold, &drain,
		&delivery, &claim, &asked, &front, &held)...)
	if err != nil || !id.Valid {
		return Floor{}, false, err
	}
	f = Floor{
		ID: id.Int64, Key: task.Key{RunID: run.Int64, AccountID: account.Int64, Part: part.String},
		TaskName: name.String, Media: media.String, Lane: lane.String, Scope: task.Over(scope.String),
		Hold: time.Duration(hold.Int64) * time.Millisecond, Drain: time.Duration(drain.Int64) * time.Millisecond,
		Delivery: int(delivery.Int64), Claim: claim.String, AskedAt: asked.Time, FrontAt: front.Time, HeldAt: held.Time,
	}
	return f, true, json.Unmarshal([]byte(ancestors.String), &f.Ancestors)
}

// AskFloor returns where the floor of a subtask is, and adds it if the subtask has none. It advances all floors. A call
// may be repeated.
func (s Holds) AskFloor(ctx context.Context, want Floor) (turn Turn, err error) {
	err = s.change(ctx, func(tx *gorm.DB, q *Queue) error {
		turn, err = q.Ask(q.now, want, func(f Floor) (int, error) { return s.outside(tx, f) })
		return err
	})
	if err != nil {
		return Turn{}, fmt.Errorf("ask for the floor of run %d: %w", want.RunID, err)
	}
	return turn, nil
}

// ReleaseFloor ends the floor of a subtask, if any, unless another claim has asked for it since.
func (s Holds) ReleaseFloor(ctx context.Context, k task.Key, claim string) error {
	return s.endFloor(ctx, "release", k, claim, (*Queue).Release)
}

// EndFloorWait is ReleaseFloor for a subtask that no longer waits for its floor. One that is held stays.
func (s Holds) EndFloorWait(ctx context.Context, k task.Key, claim string) error {
	return s.endFloor(ctx, "end the wait for", k, claim, (*Queue).EndWait)
}

func (s Holds) endFloor(ctx context.Context, what string, k task.Key, claim string,
	end func(q *Queue, now time.Time, k task.Key, claim string)) error {
	err := s.change(ctx, func(_ *gorm.DB, q *Queue) error {
		end(q, q.now, k, claim)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s the floor of run %d: %w", what, k.RunID, err)
	}
	return nil
}

// change reads the queue, lets fn change it and writes what has changed. The row of floor_state is locked meanwhile, so
// that changes follow each other.
func (s Holds) change(ctx context.Context, fn func(tx *gorm.DB, q *Queue) error) error {
	return s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
		q, err := s.lockQueue(tx)
		if err != nil {
			return err
		}
		before, lastID, since, until := slices.Clone(q.floors), q.lastID, q.since, q.until
		if err := fn(tx, q); err != nil {
			return err
		}
		var changed [][]any
		for _, f := range q.floors {
			i, found := slices.BinarySearchFunc(before, f, byID)
			if !found || !same(before[i], f) {
				changed = append(changed, f.values())
			}
		}
		for _, f := range before {
			if _, left := slices.BinarySearchFunc(q.floors, f, byID); !left {
				if err := tx.Exec("DELETE FROM floor WHERE id = ?", f.ID).Error; err != nil {
					return err
				}
			}
		}
		if err := s.Data.Upsert(tx, floorTable, changed); err != nil {
			return err
		}
		if q.lastID == lastID && q.since.Equal(since) && q.until.Equal(until) {
			return nil
		}
		return tx.Exec("UPDATE floor_state SET last_id = ?, reports_since = ?, reports_until = ? WHERE id = 1", q.lastID,
			sqldb.At(q.since), sqldb.At(q.until)).Error
	})
}

// same reports whether the columns that change are the same.
func same(a, b Floor) bool {
	return a.Delivery == b.Delivery && a.Claim == b.Claim && a.FrontAt.Equal(b.FrontAt) && a.HeldAt.Equal(b.HeldAt)
}

func (f Floor) values() []any {
	ancestors := []byte("[]")
	if len(f.Ancestors) > 0 {
		ancestors, _ = json.Marshal(f.Ancestors) // Numbers are always JSON.
	}
	return []any{
		f.ID, f.RunID, f.AccountID, f.Part, f.TaskName, f.Media, f.Lane, string(f.Scope), string(ancestors),
		f.Hold.Milliseconds(), f.Drain.Milliseconds(), f.Delivery, f.Claim, sqldb.At(f.AskedAt),
		sqldb.At(f.FrontAt), sqldb.At(f.HeldAt),
	}
}

// lockQueue locks the row of floor_state, which it adds if it is missing, and then reads the queue.
func (s Holds) lockQueue(tx *gorm.DB) (*Queue, error) {
	q, d := NewQueue(), s.Data.Dialect()
	read := func() error {
		var now, since, until sqldb.Time
		err := tx.Raw("SELECT "+d.Now()+", last_id, reports_since, reports_until FROM floor_state WHERE id = 1"+
			d.ForUpdate()).Row().Scan(&now, &q.lastID, &since, &until)
		q.now, q.since, q.until = now.Truncate(time.Millisecond), since.Time, until.Time // As its columns hold it.
		return err
	}
	err := read()
	if errors.Is(err, sql.ErrNoRows) { // A restored database may lack it.
		err = tx.Exec(d.InsertIgnore() + "floor_state (id, last_id, reports_since, reports_until)" +
			" SELECT 1, COALESCE(MAX(id), 0), " +
			d.Now() + ", " + d.Now() + " FROM floor").Error
		err = errors.Join(err, read())
	}
	if err != nil {
		return nil, err
	}
	err = sqldb.EachRow(tx.Raw("SELECT "+floorColumns+" FROM floor f ORDER BY f.id"), func(rows *sql.Rows) error {
		f, _, err := scanFloor(rows)
		q.floors = append(q.floors, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return q, s.readReports(tx, q)
}

func (s Holds) readReports(db *gorm.DB, q *Queue) error {
	return sqldb.EachRow(db.Raw("SELECT node, seen_at, running FROM floor_consumer"), func(rows *sql.Rows) error {
		var node, running string
		var at sqldb.Time
		if err := rows.Scan(&node, &at, &running); err != nil {
			return err
		}
		r := report{seenAt: at.Time, running: map[int64]int{}}
		q.reports[node] = r
		return json.Unmarshal([]byte(running), &r.running)
	})
}

// outsideMax is how many subtasks with work outside are read. With more a floor waits.
const outsideMax = 1000

// outside counts the subtasks in a floor's scope, without those that it admits, that have work outside.
func (s Holds) outside(tx *gorm.DB, f Floor) (n int, err error) {
	var keys []task.Key
	var runs []int64
	query := tx.Raw("SELECT run_id, account_id, part, media, lane FROM subtask_due WHERE outside = 1 LIMIT ?", outsideMax)
	err = sqldb.EachRow(query, func(rows *sql.Rows) error {
		var k task.Key
		var media, lane string
		err := rows.Scan(&k.RunID, &k.AccountID, &k.Part, &media, &lane)
		if n++; f.Covers(media, lane) && !f.Admits(k, nil) {
			keys = append(keys, k)
			runs = append(runs, k.RunID)
		}
		return err
	})
	if err != nil || len(keys) == 0 || n == outsideMax {
		return len(keys), err
	}
	slices.Sort(runs)
	runs = slices.Compact(runs)
	below := map[int64]bool{}
	err = sqldb.EachRow(tx.Raw("SELECT id, settings FROM run WHERE id IN ?", runs), func(rows *sql.Rows) error {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		var of task.Settings
		err := json.Unmarshal([]byte(text), &of)
		below[id] = of.Order != nil && slices.Contains(of.Order.Ancestors, f.RunID)
		return err
	})
	return len(slices.DeleteFunc(keys, func(k task.Key) bool { return below[k.RunID] })), err
}

// ReportFloors records how many subtasks a consumer runs next to each of the floors that stop others. The node
// identifies the consumer among all present and past ones.
func (s Holds) ReportFloors(ctx context.Context, node string, running map[int64]int) error {
	text, err := json.Marshal(running)
	if err == nil {
		d := s.Data.Dialect()
		conflict := " ON DUPLICATE KEY UPDATE seen_at = VALUES(seen_at), running = VALUES(running)"
		if d == sqldb.SQLiteDialect {
			conflict = " ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at, running = excluded.running"
		}
		err = s.Data.Retry(ctx, func() error {
			return s.Data.Writer(ctx).Exec("INSERT INTO floor_consumer (node, seen_at, running) VALUES (?, "+d.Now()+", ?)"+
				conflict, node, string(text)).Error
		})
	}
	if err != nil {
		return fmt.Errorf("report what runs next to floors: %w", err)
	}
	return nil
}

// LeaveFloors removes a consumer that has ended, so that no floor waits for it.
func (s Holds) LeaveFloors(ctx context.Context, node string) error {
	if err := s.Data.Writer(ctx).Exec("DELETE FROM floor_consumer WHERE node = ?", node).Error; err != nil {
		return fmt.Errorf("leave the floors: %w", err)
	}
	return nil
}

// ListFloors returns all floors, and what those in front wait for.
func (s Holds) ListFloors(ctx context.Context) (now time.Time, turns []Turn, err error) {
	r, err := s.ReadFloors(ctx)
	if err != nil || len(r.Floors) == 0 {
		return r.Now, nil, err
	}
	q := NewQueue()
	q.now = r.Now
	if err := s.readReports(s.Data.Latest(ctx), q); err != nil {
		return r.Now, nil, fmt.Errorf("list the floors: %w", err)
	}
	for _, f := range r.Floors {
		turn := Turn{Floor: f, Over: !f.HeldAt.IsZero() && !f.Holds(r.Now)}
		if f.Drains(r.Now) {
			turn.NotIdle, err = q.notIdle(f, func(f Floor) (int, error) { return s.outside(s.Data.Latest(ctx), f) })
			if err != nil {
				return r.Now, nil, fmt.Errorf("list the floors: %w", err)
			}
		}
		turns = append(turns, turn)
	}
	return r.Now, turns, nil
}

// silentFor is after how long the row of a silent consumer is deleted.
const silentFor = time.Hour

// releaseEndedFloors removes the floors of subtasks that no longer work, and of those that were too slow to begin and
// have not come back. It deletes the rows of consumers that are long gone.
func (s Holds) releaseEndedFloors(ctx context.Context) error {
	r, err := s.ReadFloors(ctx)
	if err != nil || len(r.Floors) == 0 {
		return err
	}
	keys := make([]task.Key, len(r.Floors))
	for i, f := range r.Floors {
		keys[i] = f.Key
	}
	working, err := s.working(ctx, keys)
	if err != nil {
		return err
	}
	for _, f := range r.Floors {
		if working[f.Key] && (f.live(r.Now) || !f.HeldAt.IsZero()) {
			continue
		}
		if err := s.ReleaseFloor(ctx, f.Key, f.Claim); err != nil {
			return err
		}
	}
	return s.Data.Writer(ctx).Exec("DELETE FROM floor_consumer WHERE seen_at < " +
		s.Data.Dialect().NowPlus(-silentFor)).Error
}
