package standalone

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/results"
)

// AccountsReport is the state of the bound accounts after everything was pulled.
type AccountsReport struct {
	Fresh int `json:"fresh"` // today's figures were pulled, whole, in the last round
	Late  int `json:"late"`
	// Parked counts the accounts that are not pulled, by reason: frozen, revoked, login, or an operator's text.
	Parked map[string]int `json:"parked"`
}

// String returns the report as one line.
func (r AccountsReport) String() string {
	parked := make([]string, 0, len(r.Parked))
	n := 0
	for _, reason := range slices.Sorted(maps.Keys(r.Parked)) {
		parked = append(parked, fmt.Sprintf("%d %s", r.Parked[reason], reason))
		n += r.Parked[reason]
	}
	text := fmt.Sprintf("accounts: %d fresh, %d late, %d parked", r.Fresh, r.Late, n)
	if n > 0 {
		text += " (" + strings.Join(parked, ", ") + ")"
	}
	return text
}

// readAccounts counts the accounts whose figures of the world's present day, in each account's own zone, were pulled
// since a moment of the database's clock.
func readAccounts(ctx context.Context, s *store.Store, world, since time.Time) (AccountsReport, error) {
	report := AccountsReport{Parked: map[string]int{}}
	var pulled []struct {
		AccountID int64
		Day       day.Day
	}
	const query = "SELECT account_id, day FROM coverage WHERE report = 'report_daily' AND level = 'account' AND state = " +
		"? AND pulled_at >= ?"
	if err := s.Data.Writer(ctx).Raw(query, results.Complete, sqldb.At(since)).Scan(&pulled).Error; err != nil {
		return report, fmt.Errorf("read coverage: %w", err)
	}
	newest := make(map[int64]day.Day, len(pulled))
	for _, p := range pulled {
		newest[p.AccountID] = max(newest[p.AccountID], p.Day)
	}
	var accounts []struct {
		ID               int64
		Parked, Timezone string
	}
	if err := s.Config.Writer(ctx).Raw("SELECT id, parked, timezone FROM media_account WHERE bound = 1").Scan(
		&accounts).Error; err != nil {
		return report, fmt.Errorf("read media_account: %w", err)
	}
	for _, a := range accounts {
		switch {
		case a.Parked != "":
			reason, _, _ := strings.Cut(a.Parked, ":")
			report.Parked[reason]++
		case newest[a.ID] == todayIn(world, a.Timezone):
			report.Fresh++
		default:
			report.Late++
		}
	}
	return report, nil
}
