package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
)

// OutsidePullsKept is how long a pull of an outside worker is kept, with the rows that were staged for it.
const OutsidePullsKept = 24 * time.Hour

// outsidePullsPerDelete is how many of these pulls one transaction deletes.
const outsidePullsPerDelete = 100

// OutsidePull is a claim of an outside worker: a row of outside_pull.
type OutsidePull struct {
	AccountID int64
	ID        string
	Media     string
	Report    string
	Level     string
	Day       day.Day
	Version   int64
	RunID     int64
	Answer    string // of its end; "" while it is open
}

// Claim returns the pull's right to write its scope.
func (p *OutsidePull) Claim() Claim {
	return Claim{Version: p.Version, PullID: p.ID, RunID: p.RunID, Scope: Scope{AccountID: p.AccountID, Media: p.Media,
		Report: p.Report, Level: p.Level, Days: []day.Day{p.Day}}}
}

// OutsidePart is a part of a pull's rows, as JSON.
type OutsidePart struct {
	Part int
	Rows string `gorm:"column:rows_json"`
}

// ErrOutsidePullEnded is returned when rows are staged for a pull that has ended.
var ErrOutsidePullEnded = errors.New("the pull has ended")

// AddOutsidePull stores a claim and returns its version: the given one, or one above those of all other claims of the
// scope by outside workers. It may be repeated.
func (s Results) AddOutsidePull(ctx context.Context, p OutsidePull) (version int64, err error) {
	err = s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
		// Two claims at the same time may read the same version. Then one of them is fenced.
		err := tx.Raw("SELECT COALESCE(MAX(version), 0) + 1 FROM outside_pull WHERE account_id = ? AND report = ?"+
			" AND level = ? AND day = ? AND id <> ?", p.AccountID, p.Report, p.Level, p.Day, p.ID).Row().Scan(&version)
		if err != nil {
			return err
		}
		version = max(version, p.Version)
		err = tx.Exec(s.Data.Dialect().InsertIgnore()+
			"outside_pull (account_id, id, media, report, level, day, version, run_id, answer, created_at)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', "+s.Data.Dialect().Now()+")",
			p.AccountID, p.ID, p.Media, p.Report, p.Level, p.Day, version, p.RunID).Error
		if err != nil {
			return err
		}
		stored, err := outsidePull(tx, p.AccountID, p.ID, "") // An earlier try may have stored it.
		version = stored.Version
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("store the pull %s: %w", p.ID, err)
	}
	return version, nil
}

// OutsidePull returns a pull, or sql.ErrNoRows.
func (s Results) OutsidePull(ctx context.Context, accountID int64, id string) (OutsidePull, error) {
	p, err := outsidePull(s.Data.Writer(ctx), accountID, id, "")
	if err != nil {
		return OutsidePull{}, fmt.Errorf("read the pull %s: %w", id, err)
	}
	return p, nil
}

func outsidePull(db *gorm.DB, accountID int64, id, lock string) (p OutsidePull, err error) {
	var found []OutsidePull
	err = db.Raw("SELECT account_id, id, media, report, level, day, version, run_id, answer FROM outside_pull"+
		" WHERE account_id = ? AND id = ?"+lock, accountID, id).Scan(&found).Error
	if err == nil && len(found) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return OutsidePull{}, err
	}
	return found[0], nil
}

// PutOutsidePart stages a part of a pull's rows, in the place of the earlier one with its number. It returns
// sql.ErrNoRows if there is no such pull, and ErrOutsidePullEnded if it has ended.
func (s Results) PutOutsidePart(ctx context.Context, accountID int64, id string, part OutsidePart) error {
	table := sqldb.Table{Name: "outside_part", Key: []string{"account_id", "pull_id", "part"},
		Columns: []string{"rows_json"}}
	err := s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
		p, err := outsidePull(tx, accountID, id, s.Data.Dialect().ForUpdate())
		switch {
		case err != nil:
			return err
		case p.Answer != "":
			return ErrOutsidePullEnded
		}
		return s.Data.Upsert(tx, table, [][]any{{accountID, id, part.Part, part.Rows}})
	})
	if err != nil {
		return fmt.Errorf("stage part %d of the pull %s: %w", part.Part, id, err)
	}
	return nil
}

// OutsideParts returns the staged parts of a pull, by their numbers.
func (s Results) OutsideParts(ctx context.Context, accountID int64, id string) ([]OutsidePart, error) {
	var parts []OutsidePart
	err := s.Data.Writer(ctx).Raw("SELECT part, rows_json FROM outside_part WHERE account_id = ? AND pull_id = ?"+
		" ORDER BY part", accountID, id).Scan(&parts).Error
	if err != nil {
		return nil, fmt.Errorf("read the parts of the pull %s: %w", id, err)
	}
	return parts, nil
}

// EndOutsidePull stores the answer of a pull's end and deletes its staged rows. It returns the answer that is stored:
// an earlier one if the pull had ended before. It returns sql.ErrNoRows if there is no such pull.
func (s Results) EndOutsidePull(ctx context.Context, accountID int64, id, answer string) (stored string, err error) {
	err = s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
		p, err := outsidePull(tx, accountID, id, s.Data.Dialect().ForUpdate())
		if err != nil {
			return err
		}
		if stored = p.Answer; stored == "" {
			stored = answer
			err := tx.Exec("UPDATE outside_pull SET answer = ? WHERE account_id = ? AND id = ?", answer, accountID, id).Error
			if err != nil {
				return err
			}
		}
		return tx.Exec("DELETE FROM outside_part WHERE account_id = ? AND pull_id = ?", accountID, id).Error
	})
	if err != nil {
		return "", fmt.Errorf("end the pull %s: %w", id, err)
	}
	return stored, nil
}

// ClaimedVersion returns the highest version with which a pull has written a day of a scope; 0 if none has.
func (s Results) ClaimedVersion(ctx context.Context, scope Scope) (version int64, err error) {
	condition, args := onScopes([]Scope{scope})
	err = s.Data.Writer(ctx).Raw("SELECT COALESCE(MAX(claimed_version), 0) FROM coverage WHERE "+condition,
		args...).Row().Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read the claim of %s of account %d: %w", scope.Report, scope.AccountID, err)
	}
	return version, nil
}

// PurgeOutsidePulls deletes the pulls of outside workers that were begun longer ago than kept, by the database's
// clock, with their staged rows, and returns how many it deleted.
func (s Results) PurgeOutsidePulls(ctx context.Context, kept time.Duration) (gone int, err error) {
	now, err := s.Data.Now(ctx)
	if err != nil {
		return 0, fmt.Errorf("purge outside pulls: %w", err)
	}
	for {
		var old []OutsidePull
		err := s.Data.Writer(ctx).Raw("SELECT account_id, id FROM outside_pull WHERE created_at < ?"+
			" ORDER BY created_at, account_id, id LIMIT ?", sqldb.At(now.Add(-kept)), outsidePullsPerDelete).Scan(&old).Error
		if err != nil {
			return gone, fmt.Errorf("purge outside pulls: %w", err)
		}
		if len(old) == 0 {
			return gone, nil
		}
		for _, p := range old {
			err := s.Data.Tx(ctx, func(tx *gorm.DB) error {
				for _, statement := range []string{
					"DELETE FROM outside_part WHERE account_id = ? AND pull_id = ?",
					"DELETE FROM outside_pull WHERE account_id = ? AND id = ?",
				} {
					if err := tx.Exec(statement, p.AccountID, p.ID).Error; err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return gone, fmt.Errorf("purge the pull %s: %w", p.ID, err)
			}
			gone++
		}
	}
}
