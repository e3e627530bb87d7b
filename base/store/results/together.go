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
}

// gathered is a pull that waits. done is closed when value and err are set, or alone.
type gathered[T any] struct {
	ctx   context.Context //nolint:containedctx // It is the caller's, who waits.
	of    Scope
	table string // pulls of other tables run apart
	rows  int
	value T
	err   error
	alone bool // the caller must do it
	done  chan struct{}
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
		for _, v := range values {
			close(v.done)
		}
		if !slow.Stop() {
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

// next takes the value that has waited longest, and those that can run with it. If nothing waits, the runner ends.
func (g *gathering[T]) next() (values []*gathered[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.running--
		return nil
	}
	taken := map[scopeKey]bool{}
	table, rows, seen := g.waiting[0].table, 0, 0
	var rest []*gathered[T]
	for ; seen < len(g.waiting) && len(values) < togetherMax; seen++ {
		v := g.waiting[seen]
		if v.table != table || taken[v.of.key()] || rows+v.rows > togetherRows {
			rest = append(rest, v)
			continue
		}
		taken[v.of.key()] = true
		values, rows = append(values, v), rows+v.rows
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
}

// plain reports whether a pull may share a transaction. The first pull of a day that is over cannot: it is compared
// with other reports.
func (w *ReportWrite) plain() bool {
	if !w.Whole || w.Confirmed || len(w.Unusable) > 0 || len(w.Rows) > plainRows {
		return false
	}
	return w.known || w.Judging.Compares == nil || !slices.ContainsFunc(w.Days, func(d day.Day) bool {
		return w.Judging.Compares(&Answer{ReportLevel: ReportLevel{w.Report, w.Level}, Day: d, Currency: w.Currency})
	})
}

// writePlain is WriteReport for a plain pull. In a shared transaction each pull keeps its own fence. Those that need
// more than plain rows written (deletions, a comparison with other reports) leave it, and all leave one that fails:
// each of them is then written alone.
func (s Results) writePlain(ctx context.Context, w ReportWrite) (ReportResult, error) {
	v := &gathered[reportEnd]{ctx: ctx, of: w.Scope, table: w.Raw.Name, rows: len(w.Rows),
		value: reportEnd{w: w}}
	s.together.reports.add(v, func(values []*gathered[reportEnd]) {
		if len(values) > 1 {
			s.writeTogether(context.WithoutCancel(ctx), values)
			return
		}
		v := values[0]
		v.value.result, v.err = s.writeReport(v.ctx, v.value.w) //nolint:contextcheck // It is that of the pull.
	})
	if v.alone {
		return s.writeReport(ctx, w)
	}
	return v.value.result, v.err
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
		p.alone, p.value.result, p.err = true, ReportResult{}, nil
	}
}

func (s Results) shareTransaction(tx *gorm.DB, waiting []*gathered[reportEnd]) error {
	scopes := make([]Scope, len(waiting))
	var unknown []Scope
	for i, p := range waiting {
		scopes[i] = p.of
		if !p.value.w.known {
			unknown = append(unknown, p.of)
		}
	}
	if err := makeScopes(s.Data, tx, unknown); err != nil {
		return err
	}
	found, now, err := readScopes(s.Data, tx, scopes)
	if err != nil {
		return err
	}
	var pulls []*reportPull
	of := map[*reportPull]*gathered[reportEnd]{}
	for _, p := range waiting {
		if pull := join(p, found); pull != nil {
			pulls, of[pull] = append(pulls, pull), p
		}
	}
	if len(pulls) == 0 {
		return nil
	}
	if err := readReports(tx, pulls); err != nil {
		return err
	}
	var coverage []Coverage
	var marks []widemark.Day
	kept := pulls[:0]
	for _, p := range pulls {
		stays, err := p.settle(s, tx, now)
		if err != nil {
			return err
		}
		if !stays {
			of[p].alone = true
			continue
		}
		kept = append(kept, p)
		of[p].value.result = p.result
		coverage, marks = append(coverage, p.covered(now, p.before, p.outcomes)...), append(marks, p.marks()...)
	}
	if len(kept) == 0 {
		return nil
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

// join applies the pull's fence to the locked coverage rows of all pulls of the transaction. It returns nil, with the
// pull's end set, if the pull takes no part.
func join(v *gathered[reportEnd], found []Coverage) *reportPull {
	own := coverageOf(v.of, found)
	if v.ctx.Err() != nil || len(own) < len(v.of.Days) ||
		slices.ContainsFunc(own, func(c Coverage) bool { return c.Unusable > 0 }) {
		v.alone = true
		return nil
	}
	locked, err := v.value.w.fence(own)
	if err != nil {
		v.err = v.value.w.failed(err)
		return nil
	}
	return newReportPull(v.value.w, locked)
}

// coverageOf returns the rows of a scope.
func coverageOf(s Scope, found []Coverage) (own []Coverage) {
	for i := range found {
		if found[i].key() == s.key() {
			own = append(own, found[i])
		}
	}
	return own
}

// settle judges the answer and collects the rows to write. It reports whether the pull can stay in the shared
// transaction: it cannot if stored rows may have to be deleted, or if the answer must be compared with other reports,
// whose coverage would then be locked out of order.
func (p *reportPull) settle(s Results, tx *gorm.DB, now time.Time) (stays bool, err error) {
	stale := p.stored.stale(&p.ReportWrite)
	if len(stale) > 0 {
		return false, nil
	}
	answers := p.answers(p.before, &p.stored, stale)
	if p.Judging.Compares != nil && slices.ContainsFunc(answers, func(a Answer) bool { return p.Judging.Compares(&a) }) {
		return false, nil
	}
	if err := judgeReport(s.Data, tx, &p.ReportWrite, answers, p.outcomes, &p.result); err != nil {
		return false, err
	}
	return true, p.change(now)
}
