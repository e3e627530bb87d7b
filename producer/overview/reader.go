package overview

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/schedule"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/producer"
)

// Options are what a Reader reads.
type Options struct {
	Store *store.Store
	// Platforms are the names of the platforms, in the order in which they are shown.
	Platforms []string
	// Tasks returns the rows of cron_task as this process last loaded them; nil: none are known.
	Tasks func() []producer.Task
	// Limits may be nil: then none are shown.
	Limits Limits
	// Consumers may be nil: then nobody tells what is slow.
	Consumers Consumers
	// Clock is that of ticks and business days.
	Clock clock.Clock
	// Checks tells which conditions of readiness fail, such as a server that does not answer; nil: nobody knows.
	Checks func(ctx context.Context) []httpapi.FailedCheck
	// Theirs is asked for the platforms' own figures; nil takes the totals of days that they told last.
	Theirs TheirsFunc
	// Real is how long a duration of Clock is in the time of the database; nil: as long.
	Real func(time.Duration) time.Duration
}

// Reader reads how everything stands.
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

// How much is looked at.
const (
	runsShown    = 100
	endedShown   = 12
	newestLooked = 80
	limitsShown  = 12
	// groupLooked is how many rows are looked at where they are grouped: beyond it figures are "at least".
	groupLooked = 2000
	// accountsLooked is how many accounts of a group are looked up for their spend.
	accountsLooked = 500
	accountsPage   = 500
	pulledPage     = 5000
)

// look is what one read gathers.
type look struct {
	*Reader
	o       Overview
	glance  *store.Glance
	periods map[string]time.Duration // of the pulls of a media's hours, by Clock
	pulled  map[string][]store.PulledAccount
	counts  []store.AccountCount
	parked  []store.ParkedCount
	logins  []store.LoginEnd
	stops   []task.Stop
	waiting []store.Waiting // retrying
	held    []store.Waiting // deferred
	late    map[string][]int64
	bare    map[string][]int64 // accounts without a game, by media
	holder  string
	leads   bool
}

// Read reads how everything stands. What cannot be read is left out and named in Troubles: it never fails.
func (r *Reader) Read(ctx context.Context) Overview {
	l := &look{Reader: r, periods: map[string]time.Duration{}, pulled: map[string][]store.PulledAccount{}, late: map[string][]int64{}, bare: map[string][]int64{}}
	l.o.Business, l.o.Theirs = r.Clock.Now(), DayTotals
	for _, name := range r.Platforms {
		l.periods[name] = hoursPeriod(r.Tasks(), name, l.o.Business)
		l.o.Media = append(l.o.Media, Media{Name: name, LateSeconds: l.lateAfter(name).Seconds()})
	}
	if r.Checks != nil {
		for _, c := range r.Checks(ctx) {
			l.o.Troubles = append(l.o.Troubles, Trouble{What: c.Name, Why: c.Reason})
		}
	}
	l.readLimits(ctx)
	if err := l.readTables(ctx); err != nil {
		l.trouble(Tables, err)
		l.o.At = time.Time{}
	}
	if r.Theirs != nil && !l.o.At.IsZero() {
		l.readTheirs(ctx)
	}
	slices.SortStableFunc(l.o.Attention, func(a, b Attention) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), cmp.Compare(b.Accounts, a.Accounts))
	})
	return l.o
}

func rank(s Severity) int { return slices.Index([]Severity{Bad, Warn, Note}, s) }

func (l *look) trouble(what string, err error) {
	l.o.Troubles = append(l.o.Troubles, Trouble{What: what, Why: err.Error()})
}

// readTables reads both databases: first the accounts of the config database, then all of the data database as of one moment.
func (l *look) readTables(ctx context.Context) error {
	if err := l.readAccounts(ctx); err != nil {
		return err
	}
	return l.Store.Glance(ctx, func(g *store.Glance) error {
		l.glance = g
		var err error
		if l.o.At, err = g.Now(); err != nil {
			return err
		}
		if l.holder, l.leads, err = g.Leads(); err != nil {
			return err
		}
		if l.stops, err = g.Stops(groupLooked); err != nil {
			return err
		}
		if err := l.readSpend(); err != nil {
			return err
		}
		if err := l.readRuns(); err != nil {
			return err
		}
		for i := range l.o.Media {
			if err := l.readFreshness(&l.o.Media[i]); err != nil {
				return err
			}
		}
		return l.attend(ctx)
	})
}

func (l *look) readAccounts(ctx context.Context) (err error) {
	if l.counts, err = l.Store.CountAccounts(ctx); err != nil {
		return err
	}
	if l.parked, err = l.Store.CountParked(ctx, groupLooked); err != nil {
		return err
	}
	if l.logins, err = l.Store.LoginEnds(ctx, l.o.Business.Add(loginEndsSoon), groupLooked); err != nil {
		return err
	}
	for i := range l.o.Media {
		m := &l.o.Media[i]
		for _, c := range l.counts {
			if c.Media != m.Name || !c.Bound {
				continue
			}
			m.Accounts += int(c.N)
			switch {
			case c.Parked:
				m.Parked += int(c.N)
			case c.Tier != store.TierActive:
				m.Quiet += int(c.N)
			}
		}
		m.Why = l.parkedReasons(m.Name, m.Parked)
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

// parkedReasons are the reasons in a word each, as they begin, those of most accounts first.
func (l *look) parkedReasons(media string, all int) []ParkedReason {
	var reasons []ParkedReason
	add := func(reason string, n int) {
		i := slices.IndexFunc(reasons, func(r ParkedReason) bool { return r.Reason == reason })
		if i < 0 {
			reasons, i = append(reasons, ParkedReason{Reason: reason}), len(reasons)
		}
		reasons[i].Accounts += n
	}
	for _, p := range l.parked {
		if p.Media == media {
			word, _, _ := strings.Cut(p.Reason, ":")
			add(word, int(p.N))
			all -= int(p.N)
		}
	}
	if all > 0 { // Nobody has parked them yet.
		add("login", all)
	}
	slices.SortStableFunc(reasons, func(a, b ParkedReason) int { return cmp.Compare(b.Accounts, a.Accounts) })
	return reasons
}

// todayIn is the present day in a time zone; an account with one that is not known cannot be pulled, and is late in UTC.
func (l *look) todayIn(timezone string) (day.Day, *time.Location) {
	zone, err := schedule.Zone(timezone)
	if err != nil {
		zone = time.UTC
	}
	return day.Of(l.o.Business, zone), zone
}
