// Package pull turns a platform's lists and reports into handlers: it plans parts, fetches pages, judges whether a
// pull is whole, and writes raw and public rows under the coverage fence.
package pull

import (
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

// Fields chooses the fields that a report is asked for.
type Fields interface {
	// Ask calls do with the query completed by the report's extra fields and by those to go without, and with the report
	// by which do is to ask. It calls do again, for the whole query anew, without a field that the platform refuses. It
	// returns what the last call of do returned.
	Ask(ctx context.Context, report media.Report, query media.ReportQuery,
		do func(media.Report, media.ReportQuery) error) error
	// Try asks for a field that was added and that no report is asked for yet, if it is time to try one. It is called at
	// the end of a pull that has gone well, with the pull's API.
	Try(ctx context.Context, api media.API)
}

// Store is what the handlers need of *store.Store.
type Store interface {
	BeginPull(ctx context.Context, scope results.Scope, pullID string, runID int64) (claim results.Claim, highWater int64,
		err error)
	WriteReport(ctx context.Context, w results.ReportWrite) (results.ReportResult, error)
	WriteFunds(ctx context.Context, w results.FundWrite) (results.ReportResult, error)
	WriteObjects(ctx context.Context, w results.ObjectWrite) (int, error)
}

// Deps are what the handlers work with.
type Deps struct {
	Store    Store
	Accounts Accounts
	Caller   Caller
	// Fields chooses what reports are asked for; nil leaves it at what the platform's package says.
	Fields     Fields
	Clock      clock.Clock
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// restartsMax is how often a pull begins again when its pages disagree: rows move while a platform is being paged.
const restartsMax = 3

// emptyMax is how many pages without rows may follow one another: some platforms cut pages before they leave out what
// was not asked for.
const emptyMax = 20

// windowOverlap is how far a pull of changes reaches back before the newest modification seen: platforms show a
// change some minutes after its time stamp.
const windowOverlap = 10 * time.Minute

type puller struct {
	Deps
	platform media.Platform
	metrics  *metrics
	causes   *telemetry.CauseLog   // of what a platform does to all accounts at a time
	whole    []results.ReportLevel // the reports and levels that hold all of an account's spend
}

// Handlers returns a platform's handlers: one per list, one per report name with its levels as the param "level", and
// those of the accounts' money.
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
		if !r.Overlaps {
			p.whole = append(p.whole, results.ReportLevel{Report: r.Name, Level: r.Level})
		}
	}
	for _, name := range names {
		handlers = append(handlers, p.reportHandler(name, byName[name]))
	}
	return append(handlers, p.fundHandlers(platform.Funds())...)
}

// fetched is what came of paging through one query.
type fetched struct {
	rows  []media.Row
	lost  []media.Row  // those that cannot be used: they count
	apart []wire.Fault // what cannot be used and stands in no row
	note  string       // why the pull is not whole; "" when it is, but for what cannot be used
}

// came is how many rows there are.
func (f *fetched) came() int { return len(f.rows) + len(f.lost) }

// pageFunc fetches a page by its name.
type pageFunc func(ctx context.Context, token string) (media.Page, error)

// fetch pages through a query until its pages agree: the same total on every page, distinct keys, as many as the
// total, and figures that add up to the platform's own sums where it tells them. It begins again at the first page
// that does not agree. After a few restarts it returns what came, with the reason in note. It gives up with
// *overCapError when there are more rows than rowsMax; 0 is any number.
func fetch(ctx context.Context, rowsMax int, page pageFunc) (fetched, error) {
	var f fetched
	for try := range restartsMax {
		var err error
		if f, err = fetchOnce(ctx, rowsMax, page, try == restartsMax-1); err != nil {
			return fetched{}, err
		}
		if f.note == "" {
			return f, nil
		}
	}
	return f, nil
}

type rowKey struct {
	day    day.Day
	hour   int
	object string
}

func keyOf(row media.Row) rowKey { return rowKey{day: row.Day, hour: row.Hour, object: row.Object} }

func (k rowKey) String() string { return fmt.Sprintf("%s %02d %s", k.day, k.hour, k.object) }

// fetchOnce reads the pages of a query up to the first that does not agree with those before it, or all of them.
func fetchOnce(ctx context.Context, rowsMax int, page pageFunc, all bool) (fetched, error) {
	f := paging{total: -1, byRows: true, seen: map[rowKey]bool{}, tokens: map[string]bool{}, counted: map[string]bool{}}
	for token := ""; f.note == "" || all; {
		p, err := page(ctx, token)
		if err != nil {
			return fetched{}, err
		}
		if rowsMax > 0 && p.Total > rowsMax {
			return fetched{}, &overCapError{total: p.Total, rowsMax: rowsMax}
		}
		f.compare(p)
		f.take(p)
		if p.Next == "" {
			break
		}
		if err := f.turn(p); err != nil {
			return fetched{}, err
		}
		token = p.Next
	}
	f.judge()
	return f.fetched, nil
}

// paging is the reading of one query's pages.
type paging struct {
	fetched
	seen    map[rowKey]bool
	tokens  map[string]bool // of the pages read
	total   int             // as the pages say; -1 before the first
	sums    *metric.Values  // the platform's own, of all pages
	empty   int             // pages in a row that hold nothing
	byRows  bool            // whether the total is that of the rows
	counted map[string]bool // else: the objects that it is of
	unnamed int             // and how many of them came without an id
}

// compare notes what a page says of the whole query that differs from what the pages before it said.
func (f *paging) compare(p media.Page) {
	if f.total == -1 {
		f.total = p.Total
	} else if f.total != p.Total {
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

// take keeps a page's rows and counts its objects.
func (f *paging) take(p media.Page) {
	f.apart = append(f.apart, p.Faults...)
	for _, row := range p.Rows {
		if fit(&row); row.Lost {
			f.lost = append(f.lost, row)
			continue
		}
		k := keyOf(row)
		if f.seen[k] {
			f.note = fmt.Sprintf("row %s came twice", k)
			continue
		}
		f.seen[k] = true
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
}

// turn refuses to go to the page after p when the paging does not end.
func (f *paging) turn(p media.Page) error {
	if f.empty++; len(p.Rows) > 0 || len(p.Counted) > 0 {
		f.empty = 0
	} else if f.empty > emptyMax {
		return &media.Error{Class: media.Transient, Message: "the platform's pages are empty, and lead to more"}
	}
	if f.tokens[p.Next] {
		return &media.Error{Class: media.Transient, Message: "the platform's paging goes in circles"}
	}
	f.tokens[p.Next] = true
	return nil
}

// judge notes whether what came is less or more than the platform's total and sums, unless a note stands already.
func (f *paging) judge() {
	came := f.came()
	if !f.byRows {
		came = len(f.counted) + f.unnamed
	}
	if f.note == "" && came != f.total {
		f.note = fmt.Sprintf("%s came of a total of %d", plural.Count(came, "row", "rows"), f.total)
	}
	if f.note == "" && f.sums != nil {
		f.note = difference(slices.Concat(f.rows, f.lost), f.sums)
	}
}

// begin claims a scope for a pull, which makes its calls with the context returned: with the first that may go out
// the claim has its version. Before it the version is that of now, and the calls may wait for their grants for
// minutes. highWater is the scope's.
func (p *puller) begin(ctx context.Context, scope results.Scope, work media.Work) (calls context.Context,
	claim *results.Claim, highWater int64, err error) {
	c, highWater, err := p.Store.BeginPull(ctx, scope, newPullID(), work.RunID)
	if err != nil {
		return nil, nil, 0, err
	}
	return ratelimit.WithGranted(ctx, sync.OnceFunc(c.Asks)), &c, highWater, nil
}

// newPullID names one try of a pull, for the fence.
func newPullID() string { return uuid.NewString() }

// errFencedOpen sends a pull back whose days another pull has claimed but not yet made whole: that one may still fail.
var errFencedOpen = &media.DeferError{After: 5 * time.Second, Reason: "another pull of the same scope is under way"}

// fenced turns a fence's refusal into what becomes of the subtask: superseded when a newer pull is whole, else
// deferred, or nobody might pull.
func fenced(err error) error {
	refusal, ok := results.IsFenced(err)
	switch {
	case !ok:
		return err
	case refusal.Complete && refusal.Own:
		return nil // another delivery of this subtask has done its work
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
			Message: fmt.Sprintf("account %d is of %s, the handler of %s", id, account.Media, p.platform.Name())}
	}
	return account, nil
}

var errNotWhole = errors.New("the pull was not whole")

// notWhole is the error of a pull whose rows were kept though its pages disagreed: it is pulled again.
func notWhole(note string) error {
	return &media.Error{Class: media.Transient, Message: note, Err: errNotWhole}
}
