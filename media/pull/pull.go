// Package pull turns a platform's lists and reports into handlers. They plan parts, fetch pages, judge whether a pull
// is whole, and write raw and public rows under the coverage fence.
package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/plural"
	"adsync/base/ratelimit"
	"adsync/base/store/results"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/media"
	"adsync/media/wire"
)

// Caller makes the API for an account.
type Caller interface {
	// For returns an API that calls for one account and counts its calls.
	For(account media.Account) media.CountingAPI
}

// Accounts finds an account by our id.
type Accounts interface {
	Account(ctx context.Context, id int64) (media.Account, error)
}

// Fields chooses the fields that a report's queries request.
type Fields interface {
	// Ask calls do with the report to query, and with the query completed by the report's extra fields and by the fields
	// to omit. When the platform refuses a field, Ask calls do again without it, from the first page. It returns what
	// the last call of do returned.
	Ask(ctx context.Context, report media.Report, query media.ReportQuery,
		do func(media.Report, media.ReportQuery) error) error
	// Try requests one added field that no query requests yet, if a trial is due. It is called at the end of a
	// successful pull, with the pull's API.
	Try(ctx context.Context, api media.API)
}

// Store is the part of *store.Store that the handlers use.
type Store interface {
	BeginPull(ctx context.Context, scope results.Scope, pullID string, runID int64) (claim results.Claim, highWater int64,
		err error)
	WriteReport(ctx context.Context, w results.ReportWrite) (results.ReportResult, error)
	WriteFunds(ctx context.Context, w results.FundWrite) (results.ReportResult, error)
	WriteObjects(ctx context.Context, w results.ObjectWrite) (int, error)
	WriteOperations(ctx context.Context, w results.OperationWrite) (results.ReportResult, error)
	ReadFilePull(ctx context.Context, k task.Key) (pull string, revision int64, err error)
	WriteFilePull(ctx context.Context, k task.Key, pull string, revision int64) (ok bool, err error)
	DropFilePull(ctx context.Context, k task.Key) error
}

// Deps holds what the handlers use.
type Deps struct {
	Store    Store
	Accounts Accounts
	Caller   Caller
	// Fields chooses the fields of reports. With nil, queries request those of the platform's package.
	Fields     Fields
	Clock      clock.Clock
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// restartsMax is how many times a query is read while its pages disagree: rows move while the pages are read.
const restartsMax = 3

// emptyMax is how many pages without rows may follow one another: some platforms filter after they cut pages.
const emptyMax = 20

// windowOverlap is how far a pull of changes reaches back before the newest modification seen: platforms show a
// change some minutes after its timestamp.
const windowOverlap = 10 * time.Minute

type puller struct {
	Deps
	platform media.Platform
	metrics  *metrics
	causes   *telemetry.CauseLog   // logs a problem of all of a platform's accounts once
	whole    []results.ReportLevel // reports and levels that hold all of an account's spend
	joints   joints
}

// Handlers returns a platform's handlers: one per list, one per report name (its levels are values of the param
// "level"), one for balances, one for the daily cash flow and one for the log of operations.
func Handlers(platform media.Platform, deps Deps) []media.Handler {
	p := &puller{
		Deps: deps, platform: platform, metrics: newMetrics(deps.Registerer), causes: telemetry.NewCauseLog(deps.Logger),
	}
	var handlers []media.Handler
	for _, list := range platform.Lists() {
		handlers = append(handlers, p.listHandler(list))
	}
	byName := map[string][]media.Report{}
	var names []string
	for _, r := range platform.Reports() {
		if len(byName[r.Name]) == 0 {
			names = append(names, r.Name)
		}
		byName[r.Name] = append(byName[r.Name], r)
		p.noteWhole(r)
	}
	for _, name := range names {
		handlers = append(handlers, p.reportHandler(name, byName[name]))
	}
	if log, has := media.OperationsOf(platform); has {
		handlers = append(handlers, p.operationsHandler(log))
	}
	return append(handlers, p.fundHandlers(platform.Funds())...)
}

// fetched is what the pages of one query brought.
type fetched struct {
	rows  []media.Row
	lost  []media.Row  // rows that cannot be used; the platform's total includes them
	added int          // rows that were added to another one: see media.Report.RepeatsHours
	apart []wire.Fault // unusable values that belong to no row
	note  string       // why the pull is not whole; "" when it is, apart from unusable values
}

// count is the number of rows, usable or not.
func (f *fetched) count() int { return len(f.rows) + f.added + len(f.lost) }

// merge adds what another query of the same pull brought. A row that is in both has moved between them.
func (f *fetched) merge(got fetched) {
	seen := make(map[rowKey]bool, len(f.rows))
	for i := range f.rows {
		seen[keyOf(f.rows[i])] = true
	}
	for i := range got.rows {
		if k := keyOf(got.rows[i]); seen[k] && f.note == "" {
			f.note = fmt.Sprintf("row %s came from two queries", k)
		}
	}
	f.rows, f.lost, f.apart = append(f.rows, got.rows...), append(f.lost, got.lost...), append(f.apart, got.apart...)
	f.added += got.added
	f.note = cmp.Or(f.note, got.note)
}

// variantsOf returns the variants of a report; a single "" if there are none.
func variantsOf(report media.Report) []string {
	if len(report.Variants) == 0 {
		return []string{""}
	}
	return report.Variants
}

// pageFunc fetches a page by its token; "" is the first page.
type pageFunc func(ctx context.Context, token string) (media.Page, error)

// terms are what fetch must know about a query.
type terms struct {
	rowsMax  int             // how many rows the platform returns; 0 is any number
	currency string          // of the platform's own sums
	repeated map[hourOf]bool // hours that have two rows of each object
}

// fetch reads the pages of a query until they agree: every page has the same total, keys are distinct and as many as
// the total, and figures add up to the platform's own sums where it reports them. Where media.ByRepeat is the proof,
// two readings in a row must also have the same rows; the later one is returned. fetch restarts at the first page that
// does not agree. After restartsMax tries it returns what the last one brought, with the reason in note. It returns
// *overCapError when there are more rows than rowsMax.
func fetch(ctx context.Context, of terms, page pageFunc) (fetched, error) {
	var before *paging // an agreeing reading that waits for its repetition
	for tries := restartsMax; ; {
		f, err := fetchOnce(ctx, of, page, tries == 1)
		if err != nil {
			return fetched{}, err
		}
		if f.note == "" && f.proof == media.ByRepeat {
			if before == nil {
				before = f
				continue
			}
			f.note = before.differs(f)
			before = f
		}
		if f.note == "" {
			return f.fetched, nil
		}
		if tries--; tries == 0 {
			return f.fetched, nil
		}
		if f != before {
			before = nil // f is no reading to compare with.
		}
	}
}

type rowKey struct {
	day             day.Day
	hour            int
	object, account string
}

func keyOf(row media.Row) rowKey { return rowKey{row.Day, row.Hour, row.Object, row.Account} }

func (k rowKey) String() string { return fmt.Sprintf("%s %02d %s", k.day, k.hour, k.object) }

// fetchOnce reads the pages of a query up to the first one that does not agree with those before it. With all it
// reads every page.
func fetchOnce(ctx context.Context, of terms, page pageFunc, all bool) (*paging, error) {
	f := &paging{terms: of, total: -1, byRows: true, seen: map[rowKey]bool{}, tokens: map[string]bool{},
		counted: map[string]bool{}, unkeyed: map[string]bool{}, halves: map[rowKey]int{}}
	for token := ""; f.note == "" || all; {
		p, err := page(ctx, token)
		if err != nil {
			return nil, err
		}
		f.compare(p)
		repeats := !f.take(p) && len(p.Rows) > 0
		total := p.Total
		if p.Proof != media.ByTotal {
			total = len(f.rows)
		}
		if of.rowsMax > 0 && total > of.rowsMax {
			return nil, &overCapError{total: total, rowsMax: of.rowsMax}
		}
		if p.Next == "" {
			break
		}
		if repeats && p.Proof != media.ByTotal {
			f.note = "the pages repeat rows and have no end"
			break
		}
		if err := f.checkNext(p); err != nil {
			return nil, err
		}
		token = p.Next
	}
	f.judge()
	return f, nil
}

// paging is the reading of one query's pages.
type paging struct {
	fetched
	terms
	seen    map[rowKey]bool
	halves  map[rowKey]int  // places in rows of the first of two rows of an hour that occurs twice
	tokens  map[string]bool // tokens of the pages read
	unkeyed map[string]bool // the JSON of unusable rows
	proof   media.Proof     // as the pages report it
	total   int             // as the pages report it; -1 before the first
	sums    *metric.Values  // the platform's own sums over all pages
	empty   int             // consecutive pages that hold nothing
	byRows  bool            // whether the total counts rows
	counted map[string]bool // otherwise: the objects that it counts
	unnamed int             // objects that came without an id
}

// compare sets the note when a page's total or sums differ from those of the pages before it.
func (f *paging) compare(p media.Page) {
	switch {
	case f.total == -1:
		f.total, f.proof = p.Total, p.Proof
	case f.proof != p.Proof:
		f.note = "some pages have a total and others have none"
	case f.total != p.Total:
		f.note = fmt.Sprintf("the total changed from %d to %d between pages", f.total, p.Total)
	}
	if p.Moved != "" {
		f.note = p.Moved
	}
	if p.Sums != nil {
		if f.sums != nil && *f.sums != *p.Sums {
			f.note = "the platform's own sums changed between pages"
		}
		f.sums = p.Sums
	}
}

// take adds a page's rows and counts its objects. It reports whether a row is new.
func (f *paging) take(p media.Page) (isNew bool) {
	f.apart = append(f.apart, p.Faults...)
	for _, row := range p.Rows {
		if fit(&row); row.Lost {
			f.lost = append(f.lost, row)
			isNew = isNew || !f.unkeyed[string(row.JSON)]
			f.unkeyed[string(row.JSON)] = true
			continue
		}
		k := keyOf(row)
		if f.seen[k] {
			if f.addRepeated(k, row) {
				isNew = true
			} else {
				f.note = fmt.Sprintf("row %s came twice", k)
			}
			continue
		}
		f.seen[k], isNew = true, true
		f.noteRepeated(k)
		f.rows = append(f.rows, row)
	}
	f.byRows = f.byRows && p.Counted == nil
	for _, id := range p.Counted {
		if id == "" {
			f.unnamed++
			continue
		}
		if f.counted[id] {
			f.note = fmt.Sprintf("object %s came twice", id)
		}
		f.counted[id] = true
	}
	return isNew
}

// differs returns a note if two readings do not have the same rows. Their values may differ.
func (f *paging) differs(next *paging) string {
	const note = "the platform gives no total, and two readings differ: "
	for _, row := range f.rows {
		if k := keyOf(row); !next.seen[k] {
			return note + "the later one lacks row " + k.String()
		}
	}
	for _, row := range next.rows {
		if k := keyOf(row); !f.seen[k] {
			return note + "only the later one has row " + k.String()
		}
	}
	if f.added != next.added {
		return fmt.Sprintf("%s%d and then %d rows are of hours that occur twice", note, f.added, next.added)
	}
	if len(f.lost) != len(next.lost) {
		return fmt.Sprintf("%s%d and then %d of their rows cannot be used", note, len(f.lost), len(next.lost))
	}
	return ""
}

// checkNext returns an error when paging would not end after p.
func (f *paging) checkNext(p media.Page) error {
	if f.empty++; len(p.Rows) > 0 || len(p.Counted) > 0 {
		f.empty = 0
	} else if f.empty > emptyMax {
		return &media.Error{Class: media.Transient, Message: "the platform's pages are empty and have no end"}
	}
	if f.tokens[p.Next] {
		return &media.Error{Class: media.Transient, Message: "the platform's pages lead back to one that was read"}
	}
	f.tokens[p.Next] = true
	return nil
}

// judge sets the note when the rows do not match the platform's total and sums. It keeps an earlier note.
func (f *paging) judge() {
	came := f.count()
	if !f.byRows {
		came = len(f.counted) + f.unnamed
	}
	if f.note == "" && f.proof == media.ByTotal && came != f.total {
		f.note = fmt.Sprintf("%s came of a total of %d", plural.Count(came, "row", "rows"), f.total)
	}
	if f.note == "" && f.sums != nil {
		f.note = difference(slices.Concat(f.rows, f.lost), f.count(), f.sums, f.currency)
	}
}

// begin claims a scope for a pull, which must make its calls with the returned context: the claim gets its final
// version when the first call is granted. Until then it has the version of this moment; calls may wait minutes for
// their grants. highWater is the scope's.
func (p *puller) begin(ctx context.Context, scope results.Scope, work media.Work) (calls context.Context,
	claim *results.Claim, highWater int64, err error) {
	c, highWater, err := p.Store.BeginPull(ctx, scope, newPullID(), work.RunID)
	if err != nil {
		return nil, nil, 0, err
	}
	return ratelimit.WithGranted(ctx, sync.OnceFunc(c.RaiseVersion)), &c, highWater, nil
}

// newPullID returns the id of one try of a pull, for the fence.
func newPullID() string { return uuid.NewString() }

// errFencedOpen defers a pull whose days another pull has claimed but not yet completed: that one may still fail.
var errFencedOpen = &media.DeferError{After: 5 * time.Second, Reason: "another pull of the same scope is under way"}

// fenced turns a fence's refusal into the outcome of the subtask. The subtask is superseded when a newer pull is
// whole. Otherwise it is deferred, as the newer pull may fail.
func fenced(err error) error {
	refusal, ok := results.IsFenced(err)
	switch {
	case !ok:
		return err
	case refusal.Complete && refusal.Own:
		return nil // another delivery of this subtask has done the work
	case refusal.Complete:
		return fmt.Errorf("%w: %w", media.ErrSuperseded, err)
	default:
		return errFencedOpen
	}
}

// account loads the work's account.
func (p *puller) account(ctx context.Context, id int64) (media.Account, error) {
	account, err := p.Accounts.Account(ctx, id)
	if err != nil {
		return media.Account{}, err
	}
	if account.Media != p.platform.Name() {
		return media.Account{}, &media.Error{Class: media.Bug,
			Message: fmt.Sprintf("account %d belongs to %s, this handler to %s", id, account.Media, p.platform.Name())}
	}
	return account, nil
}

var errNotWhole = errors.New("the pull was not whole")

// notWhole is the error of a pull that was not whole and is to be retried. Its rows may have been written.
func notWhole(note string) error {
	return &media.Error{Class: media.Transient, Message: note, Err: errNotWhole}
}
