package results

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/dead"
	"adsync/base/store/settings"
	"adsync/base/task"
)

// A dead subtask is healed when what it was to pull was pulled whole after it died: coverage has all its days of its
// account, report and level as complete. It then needs no action.

// healedPage is how many accounts' coverage one statement reads.
const healedPage = 200

// deadScope is what a dead subtask was to pull: days of a report and level, or a list or balance (day.Epoch, with the
// level "" for any).
type deadScope struct {
	ReportLevel
	days []day.Day
	// changes is set for a pull of changes: any complete answer heals it, not only a full one.
	changes bool
}

// deadScopeOf returns what a subtask was to pull, by its task's handler and params; zero for work without coverage.
func deadScopeOf(d *dead.DeadSubtask, t *settings.TaskRow) deadScope {
	report, ok := strings.CutPrefix(t.Handler, d.Media+".")
	if !ok || d.AccountID == 0 {
		return deadScope{}
	}
	switch d.Part {
	case "full", "now", "changes":
		return deadScope{ReportLevel: ReportLevel{Report: report}, days: []day.Day{day.Epoch}, changes: d.Part == "changes"}
	}
	params := struct {
		Level string `json:"level"`
	}{settings.AccountLevel}
	if strings.TrimSpace(t.Params) != "" && json.Unmarshal([]byte(t.Params), &params) != nil {
		return deadScope{}
	}
	part, _, _ := strings.Cut(d.Part, "@") // A part of some hours is whole when its day is.
	first, last, isRange := strings.Cut(part, "..")
	if !isRange {
		last = first
	}
	from, err1 := day.Parse(first)
	to, err2 := day.Parse(last)
	if sqldb.FirstError(err1, err2) != nil {
		return deadScope{}
	}
	return deadScope{ReportLevel: ReportLevel{Report: report, Level: params.Level}, days: day.Between(from, to)}
}

// Healed returns which of some dead subtasks are healed. It reads what a task pulls from its present row: the
// subtasks of deleted tasks are not healed.
func (s Healing) Healed(ctx context.Context, died []dead.DeadSubtask) (map[task.Key]bool, error) {
	healed := map[task.Key]bool{}
	if len(died) == 0 {
		return healed, nil
	}
	rows, err := settings.Tasks{Databases: s.Databases}.TaskRows(ctx)
	if err != nil {
		return nil, err
	}
	tasks := make(map[int64]*settings.TaskRow, len(rows))
	for i := range rows {
		tasks[rows[i].ID] = &rows[i]
	}
	groups := map[ReportLevel][]int{}
	scopes := make([]deadScope, len(died))
	for i := range died {
		if t := tasks[died[i].TaskID]; t != nil {
			if scopes[i] = deadScopeOf(&died[i], t); scopes[i].Report != "" {
				groups[scopes[i].ReportLevel] = append(groups[scopes[i].ReportLevel], i)
			}
		}
	}
	for of, members := range groups {
		slices.SortFunc(members, func(a, b int) int { return int(min(max(died[a].AccountID-died[b].AccountID, -1), 1)) })
		for some := range slices.Chunk(members, healedPage) {
			whole, err := s.wholeSince(ctx, of, died, scopes, some)
			if err != nil {
				return nil, fmt.Errorf("read which dead subtasks are healed: %w", err)
			}
			for _, i := range some {
				after := died[i].DeadAt
				healed[died[i].Key] = !slices.ContainsFunc(scopes[i].days, func(d day.Day) bool {
					at := whole[accountDay{died[i].AccountID, d}]
					if scopes[i].changes {
						return !at.pulled.After(after)
					}
					return at.version <= after.UnixMicro()
				})
			}
		}
	}
	return healed, nil
}

// wholeAt is when a day was last pulled, and the version of its last whole pull.
type wholeAt struct {
	pulled  time.Time
	version int64
}

func (s Healing) wholeSince(ctx context.Context, of ReportLevel, died []dead.DeadSubtask, scopes []deadScope,
	some []int) (map[accountDay]wholeAt, error) {
	var accounts []int64
	days := map[day.Day]bool{}
	for _, i := range some {
		accounts = append(accounts, died[i].AccountID)
		for _, d := range scopes[i].days {
			days[d] = true
		}
	}
	list := make([]day.Day, 0, len(days))
	for d := range days {
		list = append(list, d)
	}
	query, args := "SELECT account_id, day, pulled_at, complete_version FROM coverage"+
		" WHERE account_id IN ? AND report = ?", []any{slices.Compact(accounts), of.Report}
	if of.Level != "" {
		query, args = query+" AND level = ?", append(args, of.Level)
	}
	var rows []Coverage
	if err := s.Data.Writer(ctx).Raw(query+" AND day IN ? AND state = ?",
		append(args, list, Complete)...).Scan(&rows).Error; err != nil {
		return nil, err
	}
	whole := make(map[accountDay]wholeAt, len(rows))
	for _, r := range rows {
		whole[accountDay{r.AccountID, r.Day}] = wholeAt{r.PulledAt.Time, r.CompleteVersion}
	}
	return whole, nil
}

// DropHealed deletes healed subtasks that died before a moment, among up to limit of those after a key. It returns
// how many it deleted, how many it read, and the key of the last of these.
func (s Healing) DropHealed(
	ctx context.Context, before time.Time, after task.Key, limit int,
) (dropped int64, looked int, last task.Key, err error) {
	died, err := s.deadAfter(ctx, before, after, min(limit, dead.DeadBatch))
	if err != nil || len(died) == 0 {
		return 0, 0, after, err
	}
	healed, err := s.Healed(ctx, died)
	if err != nil {
		return 0, 0, after, err
	}
	var gone []task.Key
	for i := range died {
		if healed[died[i].Key] {
			gone = append(gone, died[i].Key)
		}
	}
	err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
		dropped, err = dead.DeleteDead(s.Databases, tx, 0, gone)
		return err
	})
	if err != nil {
		return 0, 0, after, fmt.Errorf("drop healed subtasks: %w", err)
	}
	return dropped, len(died), died[len(died)-1].Key, nil
}

// deadAfter returns dead subtasks that died up to a moment and that no run redrives, by key, those after one.
func (s Healing) deadAfter(
	ctx context.Context, before time.Time, after task.Key, limit int,
) ([]dead.DeadSubtask, error) {
	// Later runs hold none of them, so the rest of the table is not read.
	return dead.ReadDead(s.Data.Writer(ctx).Raw("SELECT "+dead.DeadColumns+dead.DeadFrom+
		"WHERE d.dead_at <= ? AND d.redrive_run_id = 0 AND d.run_id < ? AND d.run_id >= ?"+
		" AND (d.run_id > ? OR d.account_id > ? OR (d.account_id = ? AND d.part > ?))"+
		" ORDER BY d.run_id, d.account_id, d.part LIMIT ?",
		sqldb.At(before), task.FirstRunIDAt(before.Add(clockError)), after.RunID, after.RunID, after.AccountID,
		after.AccountID, after.Part, limit))
}
