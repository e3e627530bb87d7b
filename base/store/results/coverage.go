package results

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
)

// CoverageState is how far the tables of a scope can be trusted.
type CoverageState string

// The states of a scope; a scope without a row was never pulled.
const (
	Complete CoverageState = "complete"
	Partial  CoverageState = "partial" // pages disagreed: rows are kept, none was deleted
	Suspect  CoverageState = "suspect" // the platform's answer would have removed too much
)

// Scope is what one fence covers: the days of one account, report and level. Configuration has the one day day.Epoch.
type Scope struct {
	AccountID int64
	Media     string
	Report    string
	Level     string
	Days      []day.Day // ascending
	// FromHour narrows the scope to the hours of its only day from this one on; 0 is whole days. Rows within it are
	// added and changed, none is deleted. The day's coverage stays as it is, except for PulledAt and RowCount.
	FromHour int
}

// Coverage is a row of coverage: the state of one day of a scope.
type Coverage struct {
	AccountID       int64         `gorm:"column:account_id"`
	Report          string        `gorm:"column:report"`
	Level           string        `gorm:"column:level"`
	Day             day.Day       `gorm:"column:day"`
	Media           string        `gorm:"column:media"`
	ClaimedVersion  int64         `gorm:"column:claimed_version"`
	ClaimedBy       string        `gorm:"column:claimed_by"`
	CompleteVersion int64         `gorm:"column:complete_version"`
	PulledAt        sqldb.Time    `gorm:"column:pulled_at"`
	RunID           int64         `gorm:"column:run_id"`
	RowCount        int64         `gorm:"column:row_count"`
	HighWater       int64         `gorm:"column:high_water"` // configuration: newest modification seen, in Unix seconds
	Dirty           *int64        `gorm:"column:dirty"`      // version that the summaries have not read yet
	State           CoverageState `gorm:"column:state"`
	Note            string        `gorm:"column:note"`
	// AnswerCost is the cost that the platform last answered for the whole day, also when it was not believed. AnswerRun
	// is the first of the consecutive runs with that answer; 0 if there is none.
	AnswerCost *int64 `gorm:"column:answer_cost"`
	AnswerRun  int64  `gorm:"column:answer_run"`
	// BelievedCost is AnswerCost where it was accepted although something contradicts it: it was confirmed, or repeated.
	BelievedCost *int64 `gorm:"column:believed_cost"`
	Unusable     int64  `gorm:"column:unusable"` // values that the last pull could not use
	Digest       *int64 `gorm:"column:digest"`   // of the day's rows, see digestAt; nil if it is not known
}

// dayOutcome is what a pull found about one day of its scope.
type dayOutcome struct {
	day       day.Day
	whole     bool // the pull was whole and covered the whole day: complete_version rises
	state     CoverageState
	note      string
	rows      int64
	highWater int64
	dirty     bool // figures changed: the summaries must read the day again
	changed   bool // rows of the results were written or deleted
	hours     bool // the pull was of some hours: the day's state stays
	opens     bool // the day is no longer whole, also after a pull of some hours
	adds      bool // the pull covered a part of the scope: the rest stays
	lowers    bool // high_water is written also where it is 0

	unusable    []Unusable
	unusableNow int64 // number of unusable values in the whole scope
	recount     bool  // unusableNow has changed

	answered              bool // the platform answered for the whole day
	answerCost, answerRun int64
	believed              *int64
	digest                *uint64 // of the rows of a whole pull
}

// coverageTable is the shape of Coverage.values.
var coverageTable = sqldb.Table{
	Name: "coverage", Key: []string{"account_id", "report", "level", "day"},
	Columns: []string{"media", "claimed_version", "claimed_by", "complete_version", "pulled_at", "run_id", "row_count",
		"high_water", "dirty", "state", "note", "answer_cost", "answer_run", "believed_cost", "unusable", "digest"},
}

func (c *Coverage) values() []any {
	return []any{c.AccountID, c.Report, c.Level, c.Day, c.Media, c.ClaimedVersion, c.ClaimedBy, c.CompleteVersion,
		c.PulledAt, c.RunID, c.RowCount, c.HighWater, c.Dirty, c.State, c.Note, c.AnswerCost, c.AnswerRun, c.BelievedCost,
		c.Unusable, c.Digest}
}

// covered returns the days of a pull's scope after its outcomes, from what their locked rows had before.
func (c Claim) covered(now time.Time, before []Coverage, days []dayOutcome) []Coverage {
	after := slices.Clone(before)
	for i, o := range days {
		d := &after[i]
		d.ClaimedVersion, d.ClaimedBy, d.PulledAt, d.RowCount = c.Version, c.PullID, sqldb.At(now), o.rows
		if !o.hours {
			// The run is that of the last pull of the whole day: a day is settled by a run that was made after it had settled.
			d.RunID = c.RunID
		}
		if !o.hours || o.opens {
			d.State, d.Note = o.state, sqldb.Cut(o.note, NoteMax)
		}
		if o.recount {
			d.Unusable = o.unusableNow
		}
		if o.whole {
			d.CompleteVersion = c.Version
		}
		if o.answered {
			d.AnswerCost, d.AnswerRun, d.BelievedCost = &o.answerCost, o.answerRun, o.believed
		}
		if o.highWater > 0 || o.lowers {
			d.HighWater = o.highWater
		}
		if o.dirty {
			d.Dirty = &c.Version
		}
		d.Digest = nil
		if o.digest != nil && o.whole && o.state == Complete {
			digest := digestAt(*o.digest, c.Version)
			d.Digest = &digest
		}
	}
	return after
}

// writeCoverage writes rows that the transaction has locked.
func writeCoverage(d *sqldb.DB, tx *gorm.DB, days []Coverage) error {
	rows := make([][]any, len(days))
	for i := range days {
		rows[i] = days[i].values()
	}
	return d.Upsert(tx, coverageTable, rows)
}

// ReadCoverage returns the coverage of an account's days from from to to, both included, by report, level and day.
// Rows of configuration have day.Epoch and are always included.
func (s Results) ReadCoverage(ctx context.Context, accountID int64, from, to day.Day) ([]Coverage, error) {
	var rows []Coverage
	err := s.Data.Reader(ctx).Raw(
		"SELECT * FROM coverage WHERE account_id = ? AND (day BETWEEN ? AND ? OR day = ?) ORDER BY report, level, day",
		accountID, from, to, day.Epoch).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read coverage of account %d: %w", accountID, err)
	}
	return rows, nil
}

// ReportLevel is a report at a level, as coverage names them.
type ReportLevel struct{ Report, Level string }

// WholeReports returns which reports of a day were pulled whole, by account.
func (s Results) WholeReports(ctx context.Context, ids []int64, d day.Day) (map[int64]map[ReportLevel]bool, error) {
	rows, err := s.Data.Writer(ctx).Raw(
		"SELECT account_id, report, level FROM coverage WHERE account_id IN ? AND day = ? AND complete_version > 0",
		ids, d).Rows()
	if err != nil {
		return nil, fmt.Errorf("read what was pulled of %s: %w", d, err)
	}
	defer rows.Close()
	whole := make(map[int64]map[ReportLevel]bool, len(ids))
	for rows.Next() {
		var id int64
		var r ReportLevel
		if err := rows.Scan(&id, &r.Report, &r.Level); err != nil {
			return nil, fmt.Errorf("read what was pulled of %s: %w", d, err)
		}
		if whole[id] == nil {
			whole[id] = map[ReportLevel]bool{}
		}
		whole[id][r] = true
	}
	return whole, rows.Err()
}
