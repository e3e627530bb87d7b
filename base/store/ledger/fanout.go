package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/lease"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/store/settings"
	"adsync/base/task"
)

// FanOutAccount is the part of an account that a fan-out needs.
type FanOutAccount struct {
	ID       int64
	Timezone string
}

// FanOutAccounts returns the accounts of a media's tiers (none = all tiers) with an id above after, by id. It leaves
// out parked and unbound accounts. It reads the writer, since a replica may lack the newest accounts.
func (s RunRows) FanOutAccounts(ctx context.Context, media string, tiers []string, after int64,
	limit int) ([]FanOutAccount, error) {
	const columns, where, page = "SELECT id, timezone FROM media_account",
		" WHERE media = ? AND parked = '' AND bound = 1 AND id > ?", " ORDER BY id LIMIT ?"
	if len(tiers) == 0 {
		return s.fanOutAccounts(ctx, columns+where+page, media, after, limit)
	}
	// One statement for each tier: only within one tier does the index have the ids in order. Left to choose, servers
	// use it for the whole tier and skip the accounts up to after on each page.
	var all []FanOutAccount
	for _, tier := range tiers {
		some, err := s.fanOutAccounts(ctx, columns+s.Config.Dialect().ForceIndex("media_account", "fan_out")+where+
			" AND tier = ?"+page, media, after, tier, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b FanOutAccount) int { return cmp.Compare(a.ID, b.ID) })
	all = slices.Compact(all) // A tier may be named twice.
	return all[:min(limit, len(all))], nil
}

// FanOutAccountsOf returns those of the given accounts that belong to the media, are bound and are not parked, by id.
func (s RunRows) FanOutAccountsOf(ctx context.Context, media string, ids []int64) ([]FanOutAccount, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.fanOutAccounts(ctx,
		"SELECT id, timezone FROM media_account WHERE media = ? AND parked = '' AND bound = 1 AND id IN ? ORDER BY id",
		media, ids)
}

func (s RunRows) fanOutAccounts(ctx context.Context, query string, args ...any) ([]FanOutAccount, error) {
	var accounts []FanOutAccount
	if err := s.Config.Writer(ctx).Raw(query, args...).Scan(&accounts).Error; err != nil {
		return nil, fmt.Errorf("read the accounts of a fan-out: %w", err)
	}
	return accounts, nil
}

// FanOutLogins returns the ids of a media's working logins above after, by id.
func (s RunRows) FanOutLogins(ctx context.Context, media string, after int64, limit int) ([]int64, error) {
	var ids []int64
	err := s.Config.Writer(ctx).Raw(
		"SELECT id FROM media_token WHERE media = ? AND state = ? AND id > ? ORDER BY id LIMIT ?", media, settings.TokenOK,
		after, limit).Scan(&ids).Error
	if err != nil {
		return nil, fmt.Errorf("read the logins of a fan-out: %w", err)
	}
	return ids, nil
}

// CountUsableLogins returns how many logins a fan-out over a media's logins includes.
func (s RunRows) CountUsableLogins(ctx context.Context, media string) (n int64, err error) {
	err = s.Config.Writer(ctx).Raw("SELECT COUNT(*) FROM media_token WHERE media = ? AND state = ?", media,
		settings.TokenOK).Row().Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the logins of %s: %w", media, err)
	}
	return n, nil
}

// AccountPart is one piece of work within a run.
type AccountPart struct {
	AccountID int64
	Part      string
}

// AccountRange is the accounts above After up to Through.
type AccountRange struct{ After, Through int64 }

// PartMax is how long a part may be, in bytes.
const PartMax = 96

// AddSubtasks writes the rows of new subtasks: waiting, first delivery. Existing rows are left alone, so it may be
// repeated after an error; all reports whether no row existed. It returns lease.ErrStaleLease when the lease does not
// hold, and ErrRunChanged when the run is no longer fanning out.
func (s RunRows) AddSubtasks(ctx context.Context, l lease.Lease, runID int64, parts []AccountPart,
	now time.Time) (all bool, err error) {
	columns := []string{"run_id", "account_id", "part", "state", "delivery", "attempt", "created_at", "error_text"}
	guard := leader.InsertGuard{
		From: ", run r", Where: " AND r.id = ? AND r.state = ?", Args: []any{runID, string(task.RunFanningOut)},
		Check: func() error { return checkFanningOut(s.Data.Writer(ctx), runID, "") },
	}
	all, err = leader.InsertIf(ctx, s.Data, l, guard, LogTable(runID), columns, len(parts),
		func(from, to int) *sqldb.Values {
			some := parts[from:to]
			v := s.Data.NewValues(len(some))
			v.Set("run_id", runID)
			v.Ints("account_id", func(i int) int64 { return some[i].AccountID })
			v.Texts("part", func(i int) string { return some[i].Part })
			v.Set("state", string(task.Waiting))
			v.Set("delivery", 1)
			v.Set("attempt", 0)
			v.Set("created_at", sqldb.At(now))
			v.Set("error_text", padding(s.Data))
			return v
		})
	if err != nil {
		return false, fmt.Errorf("add %s of run %d: %w", plural.Count(len(parts), "subtask", "subtasks"), runID, err)
	}
	return all, nil
}

// HasSubtasks reports whether a run has subtasks of accounts with an id above after.
func (s RunRows) HasSubtasks(ctx context.Context, runID, after int64) (bool, error) {
	any, err := sqldb.Exists(s.Data.Writer(ctx), "SELECT 1 FROM "+LogTable(runID)+
		" WHERE run_id = ? AND account_id > ? LIMIT 1", runID, after)
	if err != nil {
		return false, fmt.Errorf("look for subtasks of run %d: %w", runID, err)
	}
	return any, nil
}

// outcomePadding is about as long as what a row's first outcome adds: the times, the node and the batch.
var outcomePadding = strings.Repeat(" ", 56)

// padding returns the blanks that a new row holds as its error's text until its outcome replaces them. Without them
// InnoDB, which fills its pages, splits each page when the outcomes come and leaves both halves half empty.
func padding(d *sqldb.DB) string {
	if d.Dialect() == sqldb.SQLiteDialect {
		return ""
	}
	return outcomePadding
}

// checkFanningOut returns ErrRunChanged when the run is not fanning out. With lock it locks the run's row.
func checkFanningOut(tx *gorm.DB, runID int64, lock string) error {
	open, err := sqldb.Exists(tx, "SELECT 1 FROM run WHERE id = ? AND state = ?"+lock, runID, string(task.RunFanningOut))
	if err == nil && !open {
		return ErrRunChanged
	}
	return err
}

// UnsentSubtasks returns the subtasks of a range that still wait for their first delivery, by key. All of them are to
// be sent (again), also those that an earlier leader made and whose accounts are no longer in the scope.
func (s RunRows) UnsentSubtasks(ctx context.Context, runID int64, in AccountRange) ([]AccountPart, error) {
	parts, err := AccountParts(ctx, s.Databases, "SELECT account_id, part FROM "+LogTable(runID)+
		" WHERE run_id = ? AND account_id > ? AND account_id <= ? AND state = ? AND delivery = 1 ORDER BY account_id, part",
		runID, in.After, in.Through, string(task.Waiting))
	if err != nil {
		return nil, fmt.Errorf("read the subtasks to send of run %d: %w", runID, err)
	}
	return parts, nil
}

// AccountParts reads the rows of a query that selects accounts and parts.
func AccountParts(ctx context.Context, s *sqldb.Databases, query string, args ...any) ([]AccountPart, error) {
	return sqldb.Rows(s.Data.Writer(ctx).Raw(query, args...), func(rows *sql.Rows, p *AccountPart) error {
		return rows.Scan(&p.AccountID, &p.Part)
	})
}

// OlderOpenRuns returns the runs of a task with a lower id that have not ended, by id.
func (s RunRows) OlderOpenRuns(ctx context.Context, taskID, runID int64) ([]int64, error) {
	var ids []int64
	err := s.Data.Writer(ctx).Raw("SELECT id FROM run WHERE state IN ? AND task_id = ? AND id < ? ORDER BY id",
		[]string{string(task.RunFanningOut), string(task.RunRunning)}, taskID, runID).Scan(&ids).Error
	if err != nil {
		return nil, fmt.Errorf("read the open runs of task %d: %w", taskID, err)
	}
	return ids, nil
}

// ErrRunChanged is returned when a run is no longer as its fan-out left it.
var ErrRunChanged = errors.New("the run was changed by another process")

// AdvanceCursor moves a run's cursor, once the messages up to it are written. It stores note as the run's error text
// if the run has none yet. It returns lease.ErrStaleLease when the lease does not hold, and ErrRunChanged when the
// run is no longer fanning out or its cursor is not at from. After another error the cursor may have moved: the
// caller must read the run again.
func (s RunRows) AdvanceCursor(ctx context.Context, l lease.Lease, runID, from, to int64, offsets Offsets,
	note string) error {
	text, err := json.Marshal(offsets)
	if err != nil {
		return fmt.Errorf("offsets of run %d: %w", runID, err)
	}
	set := []leader.Assignment{
		leader.Assign("fan_out_cursor", "?", to),
		leader.Assign("offsets", "?", string(text)),
		leader.Assign("error_text", "CASE WHEN run.error_text = '' THEN ? ELSE run.error_text END",
			sqldb.Cut(note, runErrorMax)),
	}
	n, err := leader.UpdateGuarded(ctx, s.Data, l, "run", set, "run.id = ? AND run.state = ? AND run.fan_out_cursor = ?",
		runID, string(task.RunFanningOut), from)
	if err == nil && n == 0 {
		err = s.checkCursor(ctx, l, runID, to)
	}
	if err != nil {
		return fmt.Errorf("advance the cursor of run %d: %w", runID, err)
	}
	return nil
}

// checkCursor returns why an update of a cursor changed no row; nil if the row already has that cursor.
func (s RunRows) checkCursor(ctx context.Context, l lease.Lease, runID, cursor int64) error {
	if err := leader.CheckLease(ctx, s.Data, l); err != nil {
		return err
	}
	run, err := s.Run(ctx, runID)
	if err != nil {
		return err
	}
	if run.State != task.RunFanningOut || run.Cursor != cursor {
		return ErrRunChanged
	}
	return nil
}

// FinishFanOut ends a fan-out: it counts the run's subtasks, once, and sets the run to running, or ends it when all
// of them have ended already. A run without subtasks gets the state empty, unless it is cancelled. No subtask may be
// added afterwards. It returns lease.ErrStaleLease when the lease does not hold, and ErrRunChanged when the run is no
// longer fanning out. After another error, ErrRunChanged may be the effect of the earlier call.
func (s RunRows) FinishFanOut(ctx context.Context, l lease.Lease, runID int64, empty task.RunState, note string,
	now time.Time) error {
	tries := 0
	err := leader.IdempotentTx(ctx, s.Data, l, func(tx *gorm.DB) error {
		tries++
		// It locks the run's row before it counts: an INSERT of subtasks that its caller no longer waits for may still run,
		// and holds that row until it commits. A later INSERT finds the run changed.
		var held []int64
		if err := tx.Raw("SELECT id FROM run WHERE id = ?"+s.Data.Dialect().ForUpdate(),
			runID).Scan(&held).Error; err != nil {
			return err
		}
		var total int64
		if err := tx.Raw("SELECT COUNT(*) FROM "+LogTable(runID)+" WHERE run_id = ?", runID).Row().Scan(&total); err != nil {
			return fmt.Errorf("count its subtasks: %w", err)
		}
		state, ended := task.RunRunning, sqldb.Time{}
		if total == 0 {
			state, ended = empty, sqldb.At(now)
		}
		res := tx.Exec(
			"UPDATE run SET total = ?, state = ?, fanned_out_at = ?, ended_at = ?,"+
				" error_text = CASE WHEN error_text = '' THEN ? ELSE error_text END"+
				" WHERE id = ? AND state = ?", total, string(state), sqldb.At(now), ended, sqldb.Cut(note, runErrorMax), runID,
			string(task.RunFanningOut))
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected == 0 && tries > 1 {
			return checkFinished(tx, runID, total, now)
		}
		if res.RowsAffected == 0 {
			return ErrRunChanged
		}
		if total == 0 {
			return endCancelled(tx, []int64{runID}, now)
		}
		return endRuns(tx, []int64{runID}, now)
	})
	if err != nil {
		return fmt.Errorf("finish the fan-out of run %d: %w", runID, err)
	}
	return nil
}

// LoginPart returns the part of a login's subtask.
func LoginPart(tokenID int64) string { return loginPrefix + strconv.FormatInt(tokenID, 10) }

const loginPrefix = "login:"

// LoginOf returns the login of a part that LoginPart made.
func LoginOf(part string) (int64, bool) {
	text, ok := strings.CutPrefix(part, loginPrefix)
	id, err := strconv.ParseInt(text, 10, 64)
	return id, ok && err == nil
}

// SubtasksWaiting returns how many of a run's subtasks are retrying and how many are deferred.
func (s RunRows) SubtasksWaiting(ctx context.Context, runID int64) (retrying, deferred int64, err error) {
	var a, b sql.NullInt64
	err = s.Data.Writer(ctx).Raw(
		"SELECT SUM(CASE WHEN state = 'retrying' THEN 1 ELSE 0 END), SUM(CASE WHEN state = 'deferred' THEN 1 ELSE 0 END)"+
			" FROM subtask_due WHERE run_id = ?", runID).Row().Scan(&a, &b)
	if err != nil {
		return 0, 0, fmt.Errorf("count the waiting subtasks of run %d: %w", runID, err)
	}
	return a.Int64, b.Int64, nil
}
