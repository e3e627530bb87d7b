package overview

import (
	"cmp"
	"context"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/store"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/store/overview"
	"adsync/base/store/publishing"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer"
)

// The tables of accounts, by reader.
type (
	accountNames interface {
		AccountsByID(ctx context.Context, ids []int64) (map[int64]settings.Account, error)
	}
	accountCounts interface {
		CountAccounts(ctx context.Context) ([]overview.AccountCount, error)
		CountParked(ctx context.Context, limit int) ([]overview.ParkedCount, error)
		LoginEnds(ctx context.Context, before time.Time, limit int) ([]overview.LoginEnd, error)
		PulledAccounts(ctx context.Context, media string, after int64, limit int) ([]overview.PulledAccount, error)
	}
	accountTables interface {
		ParkedAccounts(ctx context.Context, media, reason string, limit int) ([]int64, error)
		UnknownGames(ctx context.Context, from day.Day, limit int) ([]overview.UnknownGame, error)
		ImpossibleBindings(ctx context.Context, limit int) ([]overview.ImpossibleBinding, error)
	}
	loginTables interface {
		AccountsOfLogin(ctx context.Context, tokenID int64, limit int) ([]int64, error)
		RestingLogins(ctx context.Context, media string, limit int) ([]ledger.RestingLogin, error)
	}
)

// Other tables that are not read as of one moment.
type (
	deadTables interface {
		Healed(ctx context.Context, dead []dead.DeadSubtask) (map[task.Key]bool, error)
	}
	fieldTables interface {
		ReportFields(ctx context.Context, media string) ([]settings.ReportField, error)
	}
	fileTables interface {
		Destinations(ctx context.Context) ([]publishing.Destination, error)
		DestinationStates(ctx context.Context) (map[string]publishing.DestinationState, error)
		FileCounts(ctx context.Context, since, now time.Time) ([]publishing.FileCount, error)
		SearchFiles(ctx context.Context, f publishing.Search) ([]publishing.Publication, error)
	}
)

// Store is what a Reader needs of the store.
type Store interface {
	accountNames
	accountCounts
	accountTables
	loginTables
	deadTables
	fieldTables
	fileTables
	whyTables
	// Glance reads the tables of the data database as of one moment.
	Glance(ctx context.Context, look func(g *overview.Glance) error) error
}

var _ Store = (*store.Store)(nil)

// Options are the sources of a Reader.
type Options struct {
	Store Store
	// Platforms are the names of the platforms, in the order in which they are shown.
	Platforms []string
	// Tasks returns the rows of cron_task as this process last loaded them; nil: none are known.
	Tasks func() []producer.Task
	// Limits may be nil: then no limits are shown.
	Limits Limits
	// Consumers may be nil: then slow endpoints are not shown.
	Consumers Consumers
	// Clock is that of ticks and business days.
	Clock clock.Clock
	// Checks returns the conditions of readiness that fail, such as a server that does not answer; nil: none are known.
	Checks func(ctx context.Context) []httpapi.FailedCheck
	// Theirs returns the platforms' own figures; nil: the totals of days as last pulled.
	Theirs TheirsFunc
	// Real converts a duration of Clock to the database's time; nil: both are the same.
	Real func(time.Duration) time.Duration
}

// Reader reads overviews.
type Reader struct{ Options }

// NewReader makes a reader. It reads nothing yet.
func NewReader(o Options) *Reader {
	if o.Real == nil {
		o.Real = func(d time.Duration) time.Duration { return d }
	}
	if o.Tasks == nil {
		o.Tasks = func() []producer.Task { return nil }
	}
	return &Reader{o}
}

// How much is read and shown.
const (
	runsShown      = 100
	endedRunsShown = 12
	newestRunsRead = 80
	limitsShown    = 12
	// groupRowsMax is the number of rows that are read where they are grouped: beyond it figures are "at least".
	groupRowsMax = 2000
	// stakeAccountsMax is the number of accounts of a group whose spend is read.
	stakeAccountsMax = 500
	accountsPage     = 500
	pulledPage       = 5000
)

// reading is one read of an overview.
type reading struct {
	*Reader
	*facts
}

// Read reads an overview. It never fails: what cannot be read is left out and named in Troubles.
func (r *Reader) Read(ctx context.Context) Overview {
	l := &reading{Reader: r, facts: newFacts(r.Tasks(), r.Real)}
	l.o.Business, l.o.Theirs = r.Clock.Now(), DayTotals
	for _, name := range r.Platforms {
		l.periods[name] = hoursPeriod(l.tasks, name, settings.TierActive, l.o.Business)
		l.o.Media = append(l.o.Media, client.MediaOverview{Name: name, LateSeconds: l.lateAfter(name).Seconds()})
	}
	if r.Checks != nil {
		for _, c := range r.Checks(ctx) {
			l.o.Troubles = append(l.o.Troubles, client.Trouble{What: c.Name, Why: c.Reason})
		}
	}
	(&callLimits{l.facts, r.Platforms, r.Limits}).readLimits(ctx)
	if err := l.readTables(ctx); err != nil {
		l.trouble(Tables, err)
		l.o.At = time.Time{}
	}
	if r.Theirs != nil && !l.o.At.IsZero() {
		l.readTheirs(ctx, r.Theirs)
	}
	slices.SortStableFunc(l.items, func(a, b item) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), cmp.Compare(b.Accounts, a.Accounts))
	})
	for i := range l.items {
		l.o.Attention = append(l.o.Attention, l.items[i].Attention)
	}
	return l.o
}

func rank(severity string) int { return slices.Index([]string{Bad, Warn, Note}, severity) }

// readTables reads the accounts of the config database first, then the data database as of one moment.
func (l *reading) readTables(ctx context.Context) error {
	if err := l.readAccounts(ctx); err != nil {
		return err
	}
	return l.Store.Glance(ctx, func(g *overview.Glance) error {
		var err error
		if l.o.At, err = g.Now(); err != nil {
			return err
		}
		if l.holder, l.leads, err = g.Leader(); err != nil {
			return err
		}
		if l.stops, err = g.Stops(groupRowsMax); err != nil {
			return err
		}
		if err := (&spending{l.facts, g}).readSpend(); err != nil {
			return err
		}
		if err := (&runList{l.facts, l.Platforms, g}).readRuns(); err != nil {
			return err
		}
		fresh := &freshness{l.facts, g}
		for i := range l.o.Media {
			if err := fresh.readFreshness(&l.o.Media[i]); err != nil {
				return err
			}
		}
		return l.addItems(ctx, g)
	})
}

func (l *reading) readAccounts(ctx context.Context) (err error) {
	counts, err := l.Store.CountAccounts(ctx)
	if err != nil {
		return err
	}
	if l.parked, err = l.Store.CountParked(ctx, groupRowsMax); err != nil {
		return err
	}
	if l.logins, err = l.Store.LoginEnds(ctx, l.o.Business.Add(loginEndsSoon), groupRowsMax); err != nil {
		return err
	}
	for i := range l.o.Media {
		m := &l.o.Media[i]
		for _, c := range counts {
			if c.Media != m.Name || !c.Bound {
				continue
			}
			m.Accounts += c.N
			switch {
			case c.Parked:
				m.Parked += c.N
			case c.Tier != settings.TierActive:
				m.Quiet += c.N
			}
		}
		m.ParkedReasons = l.parkedReasons(m.Name, m.Parked)
		after := int64(0)
		for {
			page, err := l.Store.PulledAccounts(ctx, m.Name, after, pulledPage)
			if err != nil {
				return err
			}
			l.pulled[m.Name] = append(l.pulled[m.Name], page...)
			if len(page) < pulledPage {
				break
			}
			after = page[len(page)-1].ID
		}
	}
	return nil
}
