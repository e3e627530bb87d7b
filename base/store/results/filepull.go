package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"adsync/base/task"
)

// ReadFilePull returns what WriteFilePull wrote last for a subtask, and its revision; "" and 0 if there is nothing.
func (s Results) ReadFilePull(ctx context.Context, k task.Key) (pull string, revision int64, err error) {
	err = s.Data.Writer(ctx).Raw("SELECT pull, revision FROM file_pull WHERE run_id = ? AND account_id = ? AND part = ?",
		k.RunID, k.AccountID, k.Part).Row().Scan(&pull, &revision)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("read the pull of files of %v: %w", k, err)
	}
	return pull, revision, nil
}

// WriteFilePull stores the state of a subtask's pull of files as the next revision after the one that was read; 0 if
// there was nothing. It returns false, and writes nothing, if the row has changed since.
func (s Results) WriteFilePull(ctx context.Context, k task.Key, pull string, revision int64) (ok bool, err error) {
	err = s.Data.Retry(ctx, func() error {
		db := s.Data.Writer(ctx)
		var res *gorm.DB
		if revision == 0 {
			res = db.Exec(s.Data.Dialect().InsertIgnore()+
				"file_pull (run_id, account_id, part, revision, pull) VALUES (?, ?, ?, ?, ?)",
				k.RunID, k.AccountID, k.Part, 1, pull)
		} else {
			res = db.Exec("UPDATE file_pull SET pull = ?, revision = ? WHERE run_id = ? AND account_id = ? AND part = ?"+
				" AND revision = ?", pull, revision+1, k.RunID, k.AccountID, k.Part, revision)
		}
		if ok = res.RowsAffected == 1; ok || res.Error != nil {
			return res.Error
		}
		// An earlier try may have been committed although its answer was lost.
		have, at, err := s.ReadFilePull(ctx, k)
		ok = at == revision+1 && have == pull
		return err
	})
	if err != nil {
		return false, fmt.Errorf("write the pull of files of %v: %w", k, err)
	}
	return ok, nil
}

// DropFilePull forgets a subtask's pull of files.
func (s Results) DropFilePull(ctx context.Context, k task.Key) error {
	err := s.Data.Retry(ctx, func() error {
		return s.Data.Writer(ctx).Exec("DELETE FROM file_pull WHERE run_id = ? AND account_id = ? AND part = ?",
			k.RunID, k.AccountID, k.Part).Error
	})
	if err != nil {
		return fmt.Errorf("drop the pull of files of %v: %w", k, err)
	}
	return nil
}
