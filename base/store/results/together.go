package results

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/widemark"
)

const (
	// runnersMax is how many statements or transactions for pulls a process runs at a time before further pulls wait.
	// Those that wait share the next one.
	runnersMax = 2
	// runnerSlow is after what time a runner, which may wait for a lock, does not count any more: others go ahead.
	runnerSlow = 250 * time.Millisecond
	// togetherMax is how many pulls share a transaction. Its locks are held for as long as all of them take.
	togetherMax = 32
	// togetherRows is how many rows they may have together, and plainRows how many one of them.
	togetherRows = 2000
	plainRows    = 500
	// togetherTimeout bounds what pulls share: it outlives their contexts.
	togetherTimeout = 10 * time.Second
)

// together are the parts of pulls that are shared.
type together struct {
	begins  gathering[knownScope]
	reports gathering[reportEnd]
}

// gathering runs what comes at the same time together, because a database spends more on the statements and the commit
// of a small pull than on its rows. While less than runnersMax run, a pull runs alone and at once. Otherwise it waits
// until one ends, or is slow, and runs with others of its table. A pull that cannot be a part of it is left to its
// caller.
type gathering[T any] struct {
	mu      sync.Mutex
	running int
	waiting []*gathered[T] // in the order of their arrival
	held    map[int64]bool // the accounts of compared pulls that run, at most one of each
}

// gathered is a pull that waits. done is closed when value and err are set, or alone.
type gathered[T any] struct {
	ctx   context.Context //nolint:containedctx // It is the caller's, who waits.
	of    Scope
	table string // pulls of other tables run apart
	rows  int
	// compared is set for a pull that locks what its account has in other reports and levels. Such pulls run apart from
	// others. Two of one account do not run at the same time: each would have locked what the other one needs next.
	compared bool
	value    T
	err      error
	alone    bool // the caller must do it
	done     chan struct{}
}

// add waits until a value has run. run gets values of one table, each of another account, report or level.
func (g *gathering[T]) add(v *gathered[T], run func([]*gathered[T])) {
	v.done = make(chan struct{})
	g.mu.Lock()
	g.waiting = append(g.waiting, v)
	g.start(run)
	g.mu.Unlock()
	<-v.done
}

// start starts a runner if something waits and too few run. The caller holds mu.
func (g *gathering[T]) start(run func([]*gathered[T])) {
	if len(g.waiting) > 0 && g.running < runnersMax {
		g.running++
		go g.run(run)
	}
}

// run runs what waits until nothing does, or until it was slow.
func (g *gathering[T]) run(run func([]*gathered[T])) {
	for values := g.next(); len(values) > 0; values = g.next() {
		slow := time.AfterFunc(runnerSlow, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.running--
			g.start(run)
		})
		runSafely(run, values)
		wasSlow := !slow.Stop()
		g.mu.Lock()
		for _, v := range values {
			if v.compared {
				delete(g.held, v.of.AccountID)
			}
			close(v.done)
		}
		if wasSlow {
			g.start(run)
		}
		g.mu.Unlock()
		if wasSlow {
			return
		}
	}
}

// runSafely leaves the values to their callers if run panics: the caller's own try ends only the caller's work.
func runSafely[T any](run func([]*gathered[T]), values []*gathered[T]) {
	defer func() {
		if recover() != nil {
			for _, v := range values {
				v.alone = true
			}
		}
	}()
	run(values)
}

// next takes the value that has waited longest of those that can run, and those that can run with it. If there is none,
// the runner ends.
func (g *gathering[T]) next() (values []*gathered[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == nil {
		g.held = map[int64]bool{}
	}
	taken := map[scopeKey]bool{}
	rows, seen := 0, 0
	var rest []*gathered[T]
	for ; seen < len(g.waiting) && len(values) < togetherMax; seen++ {
		v := g.waiting[seen]
		apart := len(values) > 0 && (v.table != values[0].table || v.compared != values[0].compared)
		if apart || taken[v.of.key()] || rows+v.rows > togetherRows || v.compared && g.held[v.of.AccountID] {
			rest = append(rest, v)
			continue
		}
		if v.compared {
			g.held[v.of.AccountID] = true
		}
		taken[v.of.key()] = true
		values, rows = append(values, v), rows+v.rows
	}
	if len(values) == 0 {
		g.running--
		return nil
	}
	// Those that were passed over stay first. At the beginning of a minute there may be thousands behind them, which are
	// not copied.
	first := seen - len(rest)
	copy(g.waiting[first:seen], rest)
	clear(g.waiting[:first])
	g.waiting = g.waiting[first:]
	return values
}

// scopeKey names a scope without its days.
type scopeKey struct {
	accountID     int64
	report, level string
}

func (s Scope) key() scopeKey { return scopeKey{s.AccountID, s.Report, s.Level} }

func (c *Coverage) key() scopeKey { return scopeKey{c.AccountID, c.Report, c.Level} }

// onScopes returns the condition that rows of coverage are of some scopes.
func onScopes(scopes []Scope) (condition string, args []any) {
	return anyOf(len(scopes), "account_id = ? AND report = ? AND level = ? AND day IN ?", func(i int) (int64, []any) {
		c := &scopes[i]
		return c.AccountID, []any{c.AccountID, c.Report, c.Level, c.Days}
	})
}

// anyOf returns the condition that one of n conditions is true, each of them for one account. It begins with the list
// of accounts: a proxy of several servers reads it to find the shards.
func anyOf(n int, each string, of func(i int) (accountID int64, args []any)) (condition string, args []any) {
	accounts := make([]int64, n)
	for i := range n {
		accountID, values := of(i)
		accounts[i], args = accountID, append(args, values...)
	}
	if n == 1 {
		return each, args
	}
	return "account_id IN (" + sqldb.Numbers(accounts) + ") AND (" +
		strings.Join(slices.Repeat([]string{each}, n), " OR ") + ")", args
}

// reportEnd is a report that is written, and its result.
type reportEnd struct {
	w      ReportWrite
	result ReportResult
	// compares is set if the pull left the transaction because its answer is compared with other reports.
	compares bool
}

// plain reports whether a pull may share a transaction.
func (w *ReportWrite) plain() bool {
	return w.Whole && !w.Confirmed && len(w.Unusable) == 0 && len(w.Rows) <= plainRows
}

// isCompared reports whether a pull's answer will be compared with other reports: it is the first one of a day that is
// over. Of other answers it depends on what is stored.
func (w *ReportWrite) isCompared() bool {
	return !w.known && w.Judging.Compares != nil && slices.ContainsFunc(w.Days, func(d day.Day) bool {
		return w.Judging.Compares(&Answer{ReportLevel: ReportLevel{w.Report, w.Level}, Day: d, Currency: w.Currency})
	})
}

// writePlain is WriteReport for a plain pull. In a shared transaction each pull keeps its own fence. One that lacks
// stored rows leaves it, and all leave one that fails: each of them is then written alone. One that proves to be
// compared with other reports leaves it for one of such pulls.
func (s Results) writePlain(ctx context.Context, w ReportWrite, compared bool) (ReportResult, error) {
	v := &gathered[reportEnd]{ctx: ctx, of: w.Scope, table: w.Raw.Name, rows: len(w.Rows), compared: compared,
		value: reportEnd{w: w}}
	s.together.reports.add(v, func(values []*gathered[reportEnd]) {
		if len(values) > 1 {
			s.writeTogether(context.WithoutCancel(ctx), values)
			return
		}
		v := values[0]
		v.value.result, v.err = s.writeReport(v.ctx, v.value.w) //nolint:contextcheck // It is that of the pull.
	})
	switch {
	case !v.alone:
		return v.value.result, v.err
	case v.value.compares:
		return s.writePlain(ctx, w, true)
	default:
		return s.writeReport(ctx, w)
	}
}

// writeTogether writes pulls of one raw table, each of another account or level, in one transaction. It sets the
// result, the error or alone of each.
func (s Results) writeTogether(ctx context.Context, waiting []*gathered[reportEnd]) {
	ctx, cancel := context.WithTimeout(ctx, togetherTimeout)
	defer cancel()
	err := s.Data.Writer(ctx).Transaction(func(tx *gorm.DB) error { return s.shareTransaction(tx, waiting) })
	if err == nil {
		return
	}
	// Which of them is to blame is not known, nor whether a commit without an answer was done: each may be repeated.
	for _, p := range waiting {
		p.alone, p.value.result, p.value.compares, p.err = true, ReportResult{}, false, nil
	}
}

func (s Results) shareTransaction(tx *gorm.DB, waiting []*gathered[reportEnd]) error {
	found, now, err := s.lockTogether(tx, waiting)
	if err != nil {
		return err
	}
	var pulls []*reportPull
	of := map[*reportPull]*gathered[reportEnd]{}
	for _, p := range waiting {
		if pull := join(p, found[p.of.key()]); pull != nil {
			pulls, of[pull] = append(pulls, pull), p
		}
	}
	if len(pulls) == 0 {
		return nil
	}
	if err := readReports(tx, pulls); err != nil {
		return err
	}
	kept := slices.DeleteFunc(pulls, func(p *reportPull) bool {
		v := of[p]
		v.alone, v.value.compares = p.leaves(v.compared)
		return v.alone
	})
	if len(kept) == 0 {
		return nil
	}
	if err := judgeTogether(tx, kept, found); err != nil {
		return err
	}
	var coverage []Coverage
	var marks []widemark.Day
	for _, p := range kept {
		if err := p.change(now); err != nil {
			return err
		}
		of[p].value.result = p.result
		coverage, marks = append(coverage, p.covered(now, p.before, p.outcomes)...), append(marks, p.marks()...)
	}
	if err := upsertReports(s.Data, tx, kept); err != nil {
		return err
	}
	if err := writeCoverage(s.Data, tx, coverage); err != nil {
		return err
	}
	slices.SortFunc(marks, widemark.Compare)
	return widemark.Days(s.Data, tx, kept[0].Media, marks, now.UnixMicro())
}

// lockTogether locks the coverage of pulls, and of what compared ones are compared with, in the order of its keys. now
// is the database's time.
func (s Results) lockTogether(tx *gorm.DB, waiting []*gathered[reportEnd]) (
	found map[scopeKey][]Coverage, now time.Time, err error,
) {
	scopes := make([]Scope, len(waiting))
	var unknown []Scope
	for i, p := range waiting {
		scopes[i] = p.of
		if !p.value.w.known {
			unknown = append(unknown, p.of)
		}
	}
	if err := makeScopes(s.Data, tx, unknown); err != nil {
		return nil, now, err
	}
	condition, args := onScopes(scopes)
	if waiting[0].compared {
		var near around
		for _, p := range waiting {
			near.add(p.of.AccountID, p.of.Days, p.value.w.Judging.With)
		}
		condition, args = near.whereCoverage()
	}
	rows, now, err := readLocked(s.Data, tx, condition, args)
	found = map[scopeKey][]Coverage{}
	for i := range rows {
		k := rows[i].key()
		found[k] = append(found[k], rows[i])
	}
	return found, now, err
}

// join applies the pull's fence to the locked coverage rows of its scope. It returns nil, with the pull's end set, if
// the pull takes no part.
func join(v *gathered[reportEnd], own []Coverage) *reportPull {
	if v.ctx.Err() != nil || len(own) < len(v.of.Days) ||
		slices.ContainsFunc(own, func(c Coverage) bool { return c.Unusable > 0 }) {
		v.alone = true
		return nil
	}
	scope, err := v.value.w.fence(own)
	if err != nil {
		v.err = v.value.w.failed(err)
		return nil
	}
	return newReportPull(v.value.w, scope)
}

// leaves reports whether a pull must leave the shared transaction: stored rows may have to be deleted, or its answer is
// compared with other reports, whose coverage is not locked.
func (p *reportPull) leaves(isCompared bool) (leaves, compares bool) {
	stale := p.stored.stale(&p.ReportWrite)
	if len(stale) > 0 {
		return true, false
	}
	p.judged = p.answers(p.before, &p.stored, stale)
	p.comparedDays = p.Judging.compared(p.judged, p.Confirmed)
	compares = !isCompared && len(p.comparedDays) > 0
	return compares, compares
}

// judgeTogether judges the answers of pulls. Those that are compared have the coverage around them in found.
func judgeTogether(tx *gorm.DB, pulls []*reportPull, found map[scopeKey][]Coverage) error {
	var near around
	for _, p := range pulls {
		if len(p.comparedDays) > 0 {
			near.add(p.AccountID, p.comparedDays, p.Judging.With)
		}
	}
	costs := map[int64][]costSum{}
	if len(near.of) > 0 {
		sums, err := near.readCosts(tx)
		if err != nil {
			return err
		}
		for _, x := range sums {
			costs[x.AccountID] = append(costs[x.AccountID], x)
		}
	}
	coverage := map[int64][]Coverage{}
	for k, rows := range found {
		coverage[k.accountID] = append(coverage[k.accountID], rows...)
	}
	for _, p := range pulls {
		var others map[day.Day][]Figure
		if len(p.comparedDays) > 0 {
			e := evidence{coverage[p.AccountID], costs[p.AccountID]}
			others = e.figures(p.comparedDays, p.Judging.With, ReportLevel{p.Report, p.Level})
		}
		if err := judgeReport(tx, &p.ReportWrite, p.judged, others, p.outcomes, &p.result); err != nil {
			return err
		}
	}
	return nil
}
