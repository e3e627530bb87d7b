package verify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/simulator/control"
)

// PublishedOptions name what to compare, and the publication times.
type PublishedOptions struct {
	Options // Now, PlannedAt and Since are not read
	// World returns which times of the world a moment of the database may have been: the clock may have been set in it.
	World func(at time.Time) (earliest, latest time.Time)
}

// PublishedReport is the outcome of comparing pulls with the truth as it was published while they were under way.
type PublishedReport struct {
	Pulls        int64 `json:"pulls"` // whole pulls compared
	RowsCompared int64 `json:"rows_compared"`
	Differences  int64 `json:"differences"` // rows that equal the truth of no moment of their pull
	// NotWhole counts days whose last pull was not whole: their rows are not compared.
	NotWhole int64 `json:"not_whole"`
	// Misled counts days whose pulls were answered with other figures than the published ones, in a way that no answer
	// shows. They are not compared. The next pull corrects them.
	Misled   int64    `json:"misled"`
	Examples []string `json:"examples,omitempty"`
}

// Published compares the figures of whole pulls, raw and public, and the objects of lists, with the truth as it was
// published while they were fetched. It is for a world that continues between its comparisons; one goroutine uses it.
type Published struct {
	PublishedOptions
	report PublishedReport
	// known is the claim of each day's pull that was compared. whole is the newest pull of the whole day so far.
	known   map[coveredDay]int64
	whole   map[coveredDay]int64
	misled  []misled
	retired retirements
}

// coveredDay is a day of a scope.
type coveredDay struct {
	accountID     int64
	report, level string
	day           day.Day
}

// pulledDay is a day's row of coverage.
type pulledDay struct {
	AccountID       int64
	Report, Level   string
	Day             day.Day
	ClaimedVersion  int64 // of the last pull
	CompleteVersion int64 // of the last pull of the whole day; a later one was of some hours alone
	PulledAt        sqldb.Time
	State           results.CoverageState
}

func (d pulledDay) covered() coveredDay { return coveredDay{d.AccountID, d.Report, d.Level, d.Day} }

// NewPublished returns a comparison that has seen no pull yet.
func NewPublished(o PublishedOptions) *Published {
	return &Published{PublishedOptions: o, known: map[coveredDay]int64{}, whole: map[coveredDay]int64{}}
}

// Report returns the outcome so far.
func (p *Published) Report() PublishedReport { return p.report }

// Compare compares the pulls since the last time. A row is right if it equals, in raw and public, what the platform
// had published at one moment between the beginning and the end of its pull. If some hours of a day were pulled again
// since, the end of the last of these pulls counts. No row may be older than one that an earlier comparison has seen.
// Pulls may run at the same time: days that they change during the comparison are left to the next one. Objects are
// compared by the last pull of their list.
func (p *Published) Compare(ctx context.Context) error {
	pulls, err := p.pulls(ctx)
	if err != nil {
		return err
	}
	p.misled = nil
	if err := (control.Client{Address: p.Simulator}).Get(ctx, "traps/misled", &p.misled); err != nil {
		return err
	}
	if p.retired, err = readRetired(ctx, p.Store); err != nil {
		return err
	}
	lists, err := p.lists(ctx)
	if err != nil {
		return err
	}
	v := &verifier{Options: p.Options}
	for _, w := range p.worlds() {
		accounts, err := v.accounts(ctx, w.media)
		if err != nil {
			return err
		}
		for _, a := range accounts {
			for _, pull := range pulls[a.id] {
				if err := p.comparePull(ctx, v, w, a, pull); err != nil {
					at := pull[0].PulledAt.Format(time.RFC3339)
					return fmt.Errorf("compare %s of account %s, pulled at %s: %w", pull[0].Report, a.externalID, at, err)
				}
			}
			for _, pull := range lists[a.id] {
				if err := p.compareList(ctx, v, w, a, pull); err != nil {
					return fmt.Errorf("compare the list %s of account %s: %w", pull.Report, a.externalID, err)
				}
			}
		}
	}
	return nil
}

// pulls returns the days of each whole pull that is new, by account.
func (p *Published) pulls(ctx context.Context) (map[int64][][]pulledDay, error) {
	rows, err := p.coverage(ctx, "report IN ('report_daily', 'report_hourly')")
	if err != nil {
		return nil, err
	}
	p.report.NotWhole = 0
	all := map[int64][][]pulledDay{}
	for _, r := range rows {
		// The day was pulled although coverage has no state for it. That should not happen: hours are pulled only of whole
		// days.
		if r.State == results.Partial || r.State == results.Suspect {
			p.report.NotWhole++
			continue
		}
		if p.known[r.covered()] == r.ClaimedVersion {
			continue
		}
		// An older pull does not undo a newer one, whatever coverage has.
		r.CompleteVersion = max(r.CompleteVersion, p.whole[r.covered()])
		list := all[r.AccountID]
		if n := len(list); n > 0 && list[n-1][0].isOf(r) {
			list[n-1] = append(list[n-1], r)
		} else {
			all[r.AccountID] = append(list, []pulledDay{r})
		}
	}
	return all, nil
}

// CompareKept finds days that were pulled whole and are no longer in coverage. Each counts as a difference, since a
// later pull may hide the loss.
func (p *Published) CompareKept(ctx context.Context) error {
	rows, err := p.coverage(ctx, "complete_version > 0")
	if err != nil {
		return err
	}
	lost := maps.Clone(p.known)
	for _, r := range rows {
		delete(lost, r.covered())
	}
	for d := range lost {
		p.differ("%s: account %d %s %s was pulled, and is lost", d.report, d.accountID, d.level, d.day)
	}
	return nil
}

// isOf reports whether two days were pulled together.
func (d pulledDay) isOf(o pulledDay) bool {
	return d.AccountID == o.AccountID && d.Report == o.Report && d.Level == o.Level &&
		d.ClaimedVersion == o.ClaimedVersion && d.CompleteVersion == o.CompleteVersion
}

// coverage reads the days that were pulled, grouped by pull.
func (p *Published) coverage(ctx context.Context, where string, args ...any) ([]pulledDay, error) {
	var rows []pulledDay
	query := "SELECT account_id, report, level, day, claimed_version, complete_version, pulled_at, state FROM coverage " +
		"WHERE " + where +
		" AND pulled_at IS NOT NULL ORDER BY account_id, report, level, claimed_version, complete_version, day"
	err := p.Store.Data.Writer(ctx).Raw(query, args...).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read coverage: %w", err)
	}
	return rows, nil
}

// unit is a row of a table.
type unit struct {
	table string
	key   rowKey
}

func (p *Published) comparePull(ctx context.Context, v *verifier, w world, a account, pull []pulledDay) error {
	at := slices.IndexFunc(w.levels, func(l level) bool { return l.name == pull[0].Level })
	if at < 0 || (p.Shallow && pull[0].Level == creativeLevel) {
		return nil
	}
	s := scope{accountID: a.id, level: pull[0].Level, hourly: pull[0].Report == reportName(true)}
	query := truthQuery{media: w.media, kind: reportName(s.hourly), level: w.levels[at].truth, account: a.externalID}
	moments := p.moments(pull[0])
	trusted := p.trusted(pull, query, moments)
	p.report.Misled += int64(len(pull) - len(trusted))
	if len(trusted) == 0 {
		p.know(pull)
		return nil
	}
	for _, r := range trusted {
		s.days = append(s.days, r.Day)
	}
	query.from, query.to = s.days[0].String(), s.days[len(s.days)-1].String()
	t := pulledTables{v: v, world: w, account: a, scope: s}
	var err error
	if t.raw, err = v.rawReport(ctx, w, w.rawTable(s.hourly), s); err != nil {
		return err
	}
	if t.public, err = v.publicReport(ctx, reportName(s.hourly), s); err != nil {
		return err
	}
	rows := 0
	var wrong map[unit]string // at each of the moments so far
	for _, moment := range moments {
		query.at = strconv.FormatInt(moment.UnixMilli(), 10)
		for _, lost := range p.retired.lost(w.media, pull[0]) {
			n, now, err := t.differences(ctx, query, lost)
			if err != nil {
				return err
			}
			if wrong == nil {
				rows, wrong = n, now
			}
			maps.DeleteFunc(wrong, func(u unit, _ string) bool { _, still := now[u]; return !still })
		}
		if len(wrong) == 0 {
			break
		}
	}
	if len(wrong) > 0 {
		if changed, err := p.changed(ctx, pull); err != nil || changed {
			return err
		}
	}
	p.know(pull)
	p.count(rows, wrong, a, s.level)
	return nil
}

// count adds a compared pull to the report.
func (p *Published) count(rows int, wrong map[unit]string, a account, level string) {
	p.report.Pulls++
	p.report.RowsCompared += int64(rows)
	for u, text := range wrong {
		p.differ("%s: account %s %s %s", u.table, a.externalID, level, text)
	}
}

// differ adds a wrong row to the report.
func (p *Published) differ(format string, args ...any) {
	p.report.Differences++
	if len(p.report.Examples) < examplesMax {
		p.report.Examples = append(p.report.Examples, fmt.Sprintf(format, args...))
	}
}

// know records that a pull was compared.
func (p *Published) know(pull []pulledDay) {
	for _, r := range pull {
		p.known[r.covered()], p.whole[r.covered()] = r.ClaimedVersion, r.CompleteVersion
	}
}

// step is how often figures move, in the world's time, at the whole multiples of it since midnight.
const step = 3 * time.Minute

// moments returns the moments of a pull at which the published figures may differ. The end comes first: mostly it is
// the only one needed.
func (p *Published) moments(pull pulledDay) []time.Time {
	// Hours that were not pulled since then are from the last pull of the whole day.
	begin, _ := p.World(time.UnixMicro(cmp.Or(pull.CompleteVersion, pull.ClaimedVersion)))
	// The time in the row is cut to milliseconds.
	_, end := p.World(pull.PulledAt.Add(time.Millisecond))
	moments := []time.Time{end}
	for at := begin; at.Before(end); at = at.Add(step) {
		moments = append(moments, at)
	}
	return moments
}

// changed reports whether another pull has written one of the days since they were read.
func (p *Published) changed(ctx context.Context, pull []pulledDay) (bool, error) {
	for _, r := range pull {
		now, err := p.coverage(ctx, "account_id = ? AND report = ? AND level = ? AND day = ?", r.AccountID, r.Report, r.Level,
			r.Day)
		if err != nil {
			return false, err
		}
		if len(now) != 1 || now[0].ClaimedVersion != r.ClaimedVersion {
			return true, nil
		}
	}
	return false, nil
}

// pulledTables is the content of the tables for a pull.
type pulledTables struct {
	v       *verifier
	world   world
	account account
	scope   scope
	raw     map[rowKey][]string
	public  map[rowKey]publicValues
}

// differences returns how many rows there are, in the truth or in addition to it, and what is wrong with them. Lost
// metrics must be NULL.
func (t *pulledTables) differences(ctx context.Context, query truthQuery, lost []string) (rows int,
	wrong map[unit]string, err error) {
	rawName, publicName := t.world.rawTable(t.scope.hourly), reportName(t.scope.hourly)
	columns := t.world.columns(t.scope.hourly)
	wrong = map[unit]string{}
	truth := map[rowKey]bool{}
	err = readTruth(ctx, t.v.Client, t.v.Simulator, query, func(r truthRow) error {
		k := rowKey{day: day.Day(r.Day), hour: r.Hour, object: r.Object}
		if !slices.Contains(t.scope.days, k.day) {
			return nil
		}
		truth[k] = true
		for _, metric := range lost {
			delete(r.Metrics, metric)
		}
		have, ok := t.raw[k]
		judge(wrong, unit{rawName, k}, k.String(), ok, func(c *comparison) { compareRaw(c, k.String(), columns, have, r) })
		values, ok := t.public[k]
		judge(wrong, unit{publicName, k}, k.String(), ok,
			func(c *comparison) { comparePublic(c, k.String(), t.world, t.account, values, r) })
		return nil
	})
	rows = 2 * len(truth)
	for k := range t.raw {
		if !truth[k] {
			rows++
			wrong[unit{rawName, k}] = k.String() + " is not in the truth"
		}
	}
	for k := range t.public {
		if !truth[k] {
			rows++
			wrong[unit{publicName, k}] = k.String() + " is not in the truth"
		}
	}
	return rows, wrong, err
}

// judge records what is wrong with a row that the truth has.
func judge(wrong map[unit]string, u unit, what string, found bool, compare func(*comparison)) {
	if !found {
		wrong[u] = what + " is missing"
		return
	}
	c := &comparison{v: &verifier{}}
	if compare(c); c.Differences > 0 {
		wrong[u] = c.v.report.Examples[0]
	}
}
