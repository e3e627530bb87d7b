package publishing

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
)

// Publications reads and writes the table publication.
type Publications struct{ *sqldb.Databases }

// State is how far a file has come.
type State string

// The states, in the order of the ladder, and the ends of files that do not arrive.
const (
	Waiting    State = "waiting"    // for figures of its period
	Planned    State = "planned"    // its run is ordered, or will be
	Rendered   State = "rendered"   // its part file is complete
	Uploaded   State = "uploaded"   // it is at the destination, under no name that a reader would find
	Verified   State = "verified"   // what is there equals the part file
	Visible    State = "visible"    // it has its name
	Published  State = "published"  // its manifest is written too; nothing is left to do but the check
	Failed     State = "failed"     // its subtask has ended without it: see error_text
	Cancelled  State = "cancelled"  // an operator or an edit has ended it
	Superseded State = "superseded" // a later revision replaces it
	Empty      State = "empty"      // there were no rows, and the subscription sends no empty files
)

// Open reports whether work is left.
func (s State) Open() bool {
	switch s {
	case Waiting, Planned, Rendered, Uploaded, Verified, Visible:
		return true
	}
	return false
}

// openStates are the states for which Open is true.
var openStates = []State{Waiting, Planned, Rendered, Uploaded, Verified, Visible}

// ladderStates are the open states of files that a run makes.
var ladderStates = []State{Planned, Rendered, Uploaded, Verified, Visible}

// Publication is a row of publication.
type Publication struct {
	ID           int64 `gorm:"primaryKey"`
	Subscription string
	FromDay      day.Day // of the period
	ToDay        day.Day // included
	Revision     int     // 1, 2, …
	Sequence     int64   // of the subscription's periods: 1, 2, …
	Destination  string
	Name         string // of the file, below the destination's prefix
	Customer     string
	State        State
	RunID        int64  // that makes it; 0 before it is ordered
	Lane         string // of that run, or of the next one; "" before one was chosen
	Delivery     int64  // the try that may change the row; 0 before the first
	Node         string // of that try
	Token        string // under which its upload is found
	RowCount     *int64
	ColumnCount  *int
	ByteSize     *int64
	SHA256       string `gorm:"column:sha256"` // in hex; "" before it is rendered
	Need         string // the SHA-256 of what it waits for, in publication_need; "" if for nothing
	Incomplete   bool   // days are missing that it should have waited for
	Missing      string `gorm:"serializer:optional"` // JSON
	ErrorText    string // of the last failure; "" after a success

	DueAt       time.Time `gorm:"serializer:time"` // the moment of the cron; zero for orders by hand and corrections
	LatestAt    time.Time `gorm:"serializer:time"` // when it goes out without what it waits for; zero if it waits on
	PlannedAt   time.Time `gorm:"serializer:time"`
	ReadyAt     time.Time `gorm:"serializer:time"` // since when it waits for its delivery alone; zero if it waits for figures
	RenderedAt  time.Time `gorm:"serializer:time"`
	UploadedAt  time.Time `gorm:"serializer:time"`
	VerifiedAt  time.Time `gorm:"serializer:time"`
	VisibleAt   time.Time `gorm:"serializer:time"`
	CheckAt     time.Time `gorm:"serializer:time"` // when it is verified again; zero if it is not
	PublishedAt time.Time `gorm:"serializer:time"`
	WebhookAt   time.Time `gorm:"serializer:time"` // when its webhook is called; zero if it is not
	CompareAt   time.Time `gorm:"serializer:time"` // when it is made again and compared; zero if it is not
	RevisitAt   time.Time `gorm:"serializer:time"` // when a run for one of these is ordered, if it was not made before
	// WebhookError is why the last call of its webhook has failed; "" after a success.
	WebhookError string
	Compared     string // the SHA-256 of what the last comparison has made, if that was another
	// CorrectUntil is until when revisions may follow it; zero if none does.
	CorrectUntil time.Time `gorm:"serializer:time"`
	UpdatedAt    time.Time `gorm:"serializer:time;autoUpdateTime:false"`
}

// TableName implements schema.Tabler.
func (Publication) TableName() string { return "publication" }

// Part returns the name of the file's subtask: subscription, period and revision.
func (p *Publication) Part() string {
	return strings.Join([]string{p.Subscription, Period(p.FromDay, p.ToDay), fmt.Sprintf("r%d", p.Revision)}, "/")
}

// Moment returns when the file was due: the moment of the cron, or when it was planned otherwise.
func (p *Publication) Moment() time.Time {
	if p.DueAt.IsZero() {
		return p.PlannedAt
	}
	return p.DueAt
}

// Period writes a period as text: its day, or both of its days.
func Period(from, to day.Day) string {
	if from == to {
		return string(from)
	}
	return string(from) + "_" + string(to)
}

// errorMax is how long an error text is kept, in bytes.
const errorMax = 2000

// PlanFiles adds files, except those of a subscription, period and revision that is there. It returns how many it
// added.
func (s Publications) PlanFiles(ctx context.Context, files []Publication) (added int, err error) {
	err = s.Data.Retry(ctx, func() error {
		added = 0
		for i := range files {
			res := s.Data.Writer(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&files[i])
			if res.Error != nil {
				return res.Error
			}
			added += int(res.RowsAffected)
		}
		return nil
	})
	if err != nil {
		return added, fmt.Errorf("plan files: %w", err)
	}
	return added, nil
}

// Progress is how far the files of a subscription are planned.
type Progress struct {
	DueAt    time.Time // of the newest file that its cron made; zero if there is none
	Sequence int64     // the highest one
}

// FileProgress returns how far the files of each subscription are planned.
func (s Publications) FileProgress(ctx context.Context) (map[string]Progress, error) {
	all := map[string]Progress{}
	query := s.Data.Writer(ctx).Raw(
		"SELECT subscription, MAX(due_at), MAX(sequence) FROM publication GROUP BY subscription")
	err := sqldb.EachRow(query, func(rows *sql.Rows) error {
		var name string
		var due sqldb.Time
		var p Progress
		err := rows.Scan(&name, &due, &p.Sequence)
		p.DueAt = due.Time
		all[name] = p
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read how far the subscriptions are planned: %w", err)
	}
	return all, nil
}

// OrderFiles orders runs for open files that have none and do not wait for figures, at most limit files at a time.
// order returns the orders and sets RunID and Lane of each file that one of them makes. Both are written in one
// transaction with the orders, so that no file is ordered twice or forgotten. It returns how many files were ordered.
func (s Publications) OrderFiles(ctx context.Context, limit int,
	order func(files []Publication) ([]ledger.RunOrder, error)) (ordered int, err error) {
	err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
		files, err := orderRuns(tx, tx.Where("state IN ? AND run_id = 0", ladderStates).
			Order("planned_at, subscription, from_day, revision").Limit(limit), order)
		if err != nil {
			return err
		}
		for i := range files {
			if files[i].RunID == 0 {
				continue // The caller has left it out.
			}
			set := map[string]any{"run_id": files[i].RunID, "lane": files[i].Lane}
			if err := tx.Table("publication").Where("id = ?", files[i].ID).UpdateColumns(set).Error; err != nil {
				return err
			}
			ordered++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("order planned files: %w", err)
	}
	return ordered, nil
}

// orderRuns locks the files of a query, adds the orders for them, and returns them as order has left them.
func orderRuns(tx, query *gorm.DB, order func(files []Publication) ([]ledger.RunOrder, error)) ([]Publication, error) {
	files, err := list(query.Clauses(sqldb.ForUpdate))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	orders, err := order(files)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		if err := ledger.AddOrder(tx, o); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// ForgetFileRun makes an open file one without a run, so that the next pass orders it again. It keeps its state: a file
// that may have its name already must not be made from other rows.
func (s Publications) ForgetFileRun(ctx context.Context, id, runID int64) error {
	err := s.Data.Retry(ctx, func() error {
		return s.Data.Writer(ctx).Table("publication").
			Where("id = ? AND run_id = ? AND state IN ?", id, runID, openStates).
			UpdateColumn("run_id", 0).Error
	})
	if err != nil {
		return fmt.Errorf("forget the run of the file %d: %w", id, err)
	}
	return nil
}

// ClaimFile makes a new try the one that may change the row of an open file, and returns the row; its Delivery is at
// least the given one, and higher than those of all earlier tries. It returns false, and the row, if the file is not
// open.
func (s Publications) ClaimFile(ctx context.Context, of *Publication, delivery int64, node string, now time.Time,
) (p Publication, ok bool, err error) {
	err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
		var rows []Publication
		err := tx.Clauses(sqldb.ForUpdate).Where("subscription = ? AND from_day = ? AND to_day = ? AND revision = ?",
			of.Subscription, of.FromDay, of.ToDay, of.Revision).Find(&rows).Error
		if err == nil && len(rows) == 0 {
			err = sqldb.ErrNotFound
		}
		if err != nil {
			return err
		}
		p, ok = rows[0], rows[0].State.Open()
		if !ok {
			return nil
		}
		p.Delivery, p.Node, p.UpdatedAt = max(p.Delivery+1, delivery), node, now
		return tx.Model(&p).Select("delivery", "node", "updated_at").UpdateColumns(&p).Error
	})
	if err != nil {
		return p, false, fmt.Errorf("take over the file %s: %w", of.Part(), err)
	}
	return p, ok, nil
}

// stepColumns are the columns that a try may change.
var stepColumns = []string{
	"state", "name", "token", "row_count", "column_count", "byte_size", "sha256", "incomplete", "missing", "error_text",
	"rendered_at", "uploaded_at", "verified_at", "visible_at", "check_at", "published_at", "compare_at", "revisit_at",
	"compared", "webhook_at", "webhook_error", "lane", "updated_at",
}

// StepFile writes what a try has done. It returns false, and writes nothing, if the try may no longer change the row: a
// later try has taken it over, or the file has ended otherwise.
func (s Publications) StepFile(ctx context.Context, p *Publication) (ok bool, err error) {
	p.ErrorText, p.RevisitAt = sqldb.Cut(p.ErrorText, errorMax), p.revisitAt()
	err = s.Data.Retry(ctx, func() error {
		res := s.Data.Writer(ctx).Model(p).Where("delivery = ? AND state IN ?", p.Delivery, openStates).
			Select(stepColumns).UpdateColumns(p)
		if ok = res.RowsAffected == 1; ok || res.Error != nil {
			return res.Error
		}
		// An earlier try of this statement may have been committed although its answer was lost.
		var now Publication
		if err := s.Data.Writer(ctx).Where("id = ?", p.ID).Take(&now).Error; err != nil {
			return err
		}
		ok = now.Delivery == p.Delivery && now.State == p.State && now.UpdatedAt.Equal(sqldb.At(p.UpdatedAt).Time)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("write the state %s of the file %s: %w", p.State, p.Part(), err)
	}
	return ok, nil
}

// EndFile ends an open file with a state and a reason. It returns false if the file was not open.
func (s Publications) EndFile(ctx context.Context, id int64, state State, reason string, now time.Time) (ended bool,
	err error) {
	err = s.Data.Retry(ctx, func() error {
		res := s.Data.Writer(ctx).Table("publication").Where("id = ? AND state IN ?", id, openStates).
			UpdateColumns(map[string]any{"state": state, "error_text": sqldb.Cut(reason, errorMax), "updated_at": sqldb.At(now)})
		ended = res.RowsAffected == 1
		return res.Error
	})
	if err != nil {
		return false, fmt.Errorf("end the file %d: %w", id, err)
	}
	return ended, nil
}

// ReopenFile makes a file that has ended, or was published, planned, so that it is delivered again. It
// returns false if the file is open.
func (s Publications) ReopenFile(ctx context.Context, id int64, now time.Time) (reopened bool, err error) {
	err = s.Data.Retry(ctx, func() error {
		res := s.Data.Writer(ctx).Table("publication").Where("id = ? AND state NOT IN ?", id, openStates).
			UpdateColumns(map[string]any{"state": Planned, "run_id": 0, "error_text": "", "token": "", "check_at": nil,
				"webhook_at": nil, "webhook_error": "", "compare_at": nil, "revisit_at": nil, "ready_at": sqldb.At(now),
				"updated_at": sqldb.At(now)})
		reopened = res.RowsAffected == 1
		return res.Error
	})
	if err != nil {
		return false, fmt.Errorf("order the file %d again: %w", id, err)
	}
	return reopened, nil
}

// OrderedFiles returns open files whose run was ordered, the longest waiting first.
func (s Publications) OrderedFiles(ctx context.Context, limit int) ([]Publication, error) {
	all, err := list(s.Data.Writer(ctx).Where("state IN ? AND run_id <> 0", openStates).Order("updated_at, id").
		Limit(limit))
	if err != nil {
		return nil, fmt.Errorf("read the ordered files: %w", err)
	}
	return all, nil
}

func list(query *gorm.DB) (all []Publication, err error) { return all, query.Find(&all).Error }
