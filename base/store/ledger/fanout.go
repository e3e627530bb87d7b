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

// FanOutAccount is what a fan-out needs of an account.
type FanOutAccount struct {
	ID       int64
	Timezone string
}

// FanOutAccounts returns the accounts of a media's tiers (none = all tiers) with an id above after, by id. Parked
// accounts and those that are not bound are left out. It reads the writer: a replica may lack the newest.
func (s RunRows) FanOutAccounts(ctx context.Context, media string, tiers []string, after int64, limit int) ([]FanOutAccount, error) {
	const columns, where, page = "SELECT id, timezone FROM media_account", " WHERE media = ? AND parked = '' AND bound = 1 AND id > ?", " ORDER BY id LIMIT ?"
	if len(tiers) == 0 {
		return s.fanOutAccounts(ctx, columns+where+page, media, after, limit)
	}
	// Each by itself: only of one tier the index has the ids in order. Servers take it for all of the tier if they may choose, and pass the accounts up to
	// after anew for each page.
	var all []FanOutAccount
	for _, tier := range tiers {
		some, err := s.fanOutAccounts(ctx, columns+s.Config.Dialect().ForceIndex("media_account", "fan_out")+where+" AND tier = ?"+page, media, after, tier, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b FanOutAccount) int { return cmp.Compare(a.ID, b.ID) })
	all = slices.Compact(all) // Of a tier that is named twice.
	return all[:min(limit, len(all))], nil
}

// FanOutAccountsOf returns those of the given accounts that belong to the media, are bound and are not parked, by id.
func (s RunRows) FanOutAccountsOf(ctx context.Context, media string, ids []int64) ([]FanOutAccount, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.fanOutAccounts(ctx, "SELECT id, timezone FROM media_account WHERE media = ? AND parked = '' AND bound = 1 AND id IN ? ORDER BY id", media, ids)
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
	err := s.Config.Writer(ctx).Raw("SELECT id FROM media_token WHERE media = ? AND state = ? AND id > ? ORDER BY id LIMIT ?", media, settings.TokenOK, after, limit).Scan(&ids).Error
	if err != nil {
		return nil, fmt.Errorf("read the logins of a fan-out: %w", err)
	}
	return ids, nil
}

// CountUsableLogins returns how many logins a fan-out over a media's logins takes.
func (s RunRows) CountUsableLogins(ctx context.Context, media string) (n int64, err error) {
	err = s.Config.Writer(ctx).Raw("SELECT COUNT(*) FROM media_token WHERE media = ? AND state = ?", media, settings.TokenOK).Row().Scan(&n)
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

// AddSubtasks writes the rows of new subtasks: waiting, first delivery. Rows that are there already are left alone, so it
// may be repeated after an error; all tells whether there were none. It returns lease.ErrStaleLease when the lease does not hold, and ErrRunChanged
// when the run is not fanning out any more: its subtasks have been counted, or will not be.
func (s RunRows) AddSubtasks(ctx context.Context, l lease.Lease, runID int64, parts []AccountPart, now time.Time) (all bool, err error) {
	columns := []string{"run_id", "account_id", "part", "state", "delivery", "attempt", "created_at", "error_text"}
	guard := leader.InsertGuard{
		From: ", run r", Where: " AND r.id = ? AND r.state = ?", Args: []any{runID, string(task.RunFanningOut)},
		Check: func() error { return checkFanningOut(s.Data.Writer(ctx), runID, "") },
	}
	all, err = leader.InsertIf(ctx, s.Data, l, guard, LogTable(runID), columns, len(parts), func(from, to int) *sqldb.Values {
		some := parts[from:to]
		v := s.Data.NewValues(len(some))
		v.Set("run_id", runID)
		v.Ints("account_id", func(i int) int64 { return some[i].AccountID })
		v.Texts("part", func(i int) string { return some[i].Part })
		v.Set("state", string(task.Waiting))
		v.Set("delivery", 1)
		v.Set("attempt", 0)
		v.Set("created_at", sqldb.At(now))
		v.Set("error_text", room(s.Data))
		return v
	})
	if err != nil {
		return false, fmt.Errorf("add %s of run %d: %w", plural.Count(len(parts), "subtask", "subtasks"), runID, err)
	}
	return all, nil
}

// HasSubtasks tells whether a run has subtasks of accounts above one.
func (s RunRows) HasSubtasks(ctx context.Context, runID, after int64) (bool, error) {
	any, err := sqldb.Exists(s.Data.Writer(ctx), "SELECT 1 FROM "+LogTable(runID)+" WHERE run_id = ? AND account_id > ? LIMIT 1", runID, after)
	if err != nil {
		return false, fmt.Errorf("look for subtasks of run %d: %w", runID, err)
	}
	return any, nil
}

// outcomeRoom is about what a row grows by with its first outcome: the times, the node and the batch.
var outcomeRoom = strings.Repeat(" ", 56)

// room is what a new row has for its error's text: blanks, in whose place its outcome comes. Without them InnoDB, which fills its pages, splits each of them
// when the outcomes come, and what remains is half empty.
func room(d *sqldb.DB) string {
	if d.Dialect() == sqldb.SQLiteDialect {
		return ""
	}
	return outcomeRoom
}

// checkFanningOut returns ErrRunChanged when the run is not fanning out; lock keeps the row as it is.
func checkFanningOut(tx *gorm.DB, runID int64, lock string) error {
	open, err := sqldb.Exists(tx, "SELECT 1 FROM run WHERE id = ? AND state = ?"+lock, runID, string(task.RunFanningOut))
	if err == nil && !open {
		return ErrRunChanged
	}
	return err
}

// UnsentSubtasks returns the subtasks of a range that still wait for their first delivery to be done, by key. All of
// them are to be sent (again): also those that a leader left behind whose accounts are no longer in the scope.
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

// ErrRunChanged says that a run is no longer where its fan-out left it.
var ErrRunChanged = errors.New("the run has been changed by another")

// AdvanceCursor moves a run's cursor on, once the messages up to it are written. note is kept as the run's error text
// if it has none yet. It returns lease.ErrStaleLease when the lease does not hold, and ErrRunChanged when the run is no
// longer fanning out, or its cursor no longer stands at from. After another error the cursor may have moved all the same:
// read the run again before going on.
func (s RunRows) AdvanceCursor(ctx context.Context, l lease.Lease, runID, from, to int64, offsets Offsets, note string) error {
	text, err := json.Marshal(offsets)
	if err != nil {
		return fmt.Errorf("offsets of run %d: %w", runID, err)
	}
	set := []leader.Assignment{
		leader.Assign("fan_out_cursor", "?", to),
		leader.Assign("offsets", "?", string(text)),
		leader.Assign("error_text", "CASE WHEN run.error_text = '' THEN ? ELSE run.error_text END", sqldb.Cut(note, runErrorMax)),
	}
	n, err := leader.UpdateGuarded(ctx, s.Data, l, "run", set, "run.id = ? AND run.state = ? AND run.fan_out_cursor = ?", runID, string(task.RunFanningOut), from)
	if err == nil && n == 0 {
		err = s.checkCursor(ctx, l, runID, to)
	}
	if err != nil {
		return fmt.Errorf("advance the cursor of run %d: %w", runID, err)
	}
	return nil
}

// checkCursor tells why an update of a cursor changed no row; that the row says the same already is no error.
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

// FinishFanOut ends a fan-out: it counts the run's subtasks, once and for all, and lets the run go on as running, or end
// when they have all ended already. A run without any ends as empty says, unless it is cancelled. No subtask may be added
// afterwards. It returns lease.ErrStaleLease when the lease does not hold, and ErrRunChanged when the run is no longer
// fanning out: after an error that may be this call's own doing.
func (s RunRows) FinishFanOut(ctx context.Context, l lease.Lease, runID int64, empty task.RunState, note string, now time.Time) error {
	tries := 0
	err := leader.IdempotentTx(ctx, s.Data, l, func(tx *gorm.DB) error {
		tries++
		// The run's row before the count: an INSERT of subtasks that somebody gave up waiting for may still be under way, and
		// holds that row until it is committed. One that comes later finds the run changed.
		var held []int64
		if err := tx.Raw("SELECT id FROM run WHERE id = ?"+s.Data.Dialect().ForUpdate(), runID).Scan(&held).Error; err != nil {
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
		res := tx.Exec("UPDATE run SET total = ?, state = ?, fanned_out_at = ?, ended_at = ?, error_text = CASE WHEN error_text = '' THEN ? ELSE error_text END"+
			" WHERE id = ? AND state = ?", total, string(state), sqldb.At(now), ended, sqldb.Cut(note, runErrorMax), runID, string(task.RunFanningOut))
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

// LoginPart is the part of a login's subtask.
func LoginPart(tokenID int64) string { return loginPrefix + strconv.FormatInt(tokenID, 10) }

const loginPrefix = "login:"

// LoginOf returns the login of a part that LoginPart made.
func LoginOf(part string) (int64, bool) {
	text, ok := strings.CutPrefix(part, loginPrefix)
	id, err := strconv.ParseInt(text, 10, 64)
	return id, ok && err == nil
}

// SubtasksWaiting returns how many of a run's subtasks wait for a retry and for quota.
func (s RunRows) SubtasksWaiting(ctx context.Context, runID int64) (retrying, deferred int64, err error) {
	var a, b sql.NullInt64
	err = s.Data.Writer(ctx).Raw("SELECT SUM(CASE WHEN state = 'retrying' THEN 1 ELSE 0 END), SUM(CASE WHEN state = 'deferred' THEN 1 ELSE 0 END)"+
		" FROM subtask_due WHERE run_id = ?", runID).Row().Scan(&a, &b)
	if err != nil {
		return 0, 0, fmt.Errorf("count the waiting subtasks of run %d: %w", runID, err)
	}
	return a.Int64, b.Int64, nil
}
