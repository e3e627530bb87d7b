package overview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/ratelimit/grant"
	"adsync/base/roster"
	"adsync/base/schedule"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/media"
	"adsync/producer"
)

// Limits tells how the call limits stand.
type Limits interface {
	State(ctx context.Context, media string) ([]grant.LimitState, []grant.PauseState, error)
}

// Consumers tells which consumers live, and what is slow for them.
type Consumers interface {
	List(ctx context.Context) ([]roster.Process, error)
}

// TheirsFunc tells what a platform says that its accounts with a currency have spent on a day.
type TheirsFunc func(ctx context.Context, media, currency string, d day.Day) (int64, error)

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

// hoursPeriod is the time between two pulls of the present hours of a media's active accounts, as the tasks in cron_task have it; 0 when none does.
func hoursPeriod(tasks []producer.Task, platform string, now time.Time) time.Duration {
	least := time.Duration(0)
	for i := range tasks {
		t := &tasks[i]
		params, err := media.ReadPullParams(t.Params)
		if err != nil || !t.Usable || !t.Enabled || t.Handler != platform+".report_hourly" || params.Level != "account" {
			continue
		}
		s, err := schedule.Parse(t.Cron, t.Timezone, t.Name)
		if err != nil || !s.Recurs() || (t.Scope != "all" && !slices.Contains(t.Tiers(), store.TierActive)) {
			continue
		}
		if next := s.NextN(now, 2); len(next) == 2 && (least == 0 || next[1].Sub(next[0]) < least) {
			least = next[1].Sub(next[0])
		}
	}
	return least
}

// periodDefault is that of the tasks that an installation begins with.
const periodDefault = 2 * time.Minute

// lateAfter is from which age on figures of a media are late, by the database's time: two pulls have failed to come.
func (l *look) lateAfter(media string) time.Duration {
	return l.Real(2 * cmp.Or(l.periods[media], periodDefault))
}

func (l *look) readLimits(ctx context.Context) {
	if l.Limits == nil {
		return
	}
	for _, name := range l.Platforms {
		states, pauses, err := l.Limits.State(ctx, name)
		if err != nil {
			l.trouble("limits", err)
			return
		}
		for i := range states {
			l.o.Limits = append(l.o.Limits, limitOf(&states[i]))
		}
		for _, p := range pauses {
			if !p.Until.IsZero() {
				l.o.Pauses = append(l.o.Pauses, Pause{Media: p.Media, Endpoint: p.Endpoint, Scope: string(p.Scope), Subject: p.Subject, Until: p.Until, Times: p.Times})
			}
		}
	}
	slices.SortStableFunc(l.o.Limits, func(a, b Limit) int {
		return cmp.Or(cmp.Compare(b.Full, a.Full), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Minute, a.Minute))
	})
	l.o.Limits = l.o.Limits[:min(len(l.o.Limits), limitsShown)]
}

func limitOf(s *grant.LimitState) Limit {
	allowed := float64(s.Limit) * s.Share * s.Part
	limit := Limit{
		Media: s.Media, Endpoint: s.Endpoint, Scope: string(s.Scope), Subject: s.Subject, Unit: string(cmp.Or(s.Unit, grant.UnitCalls)),
		Allowed: int(allowed), Period: s.Period.String(), Window: s.Window, Ahead: s.Ahead, Full: float64(s.Window) / max(1, allowed), Minute: s.LastMinute, Tight: s.Part < 1,
	}
	for _, lane := range s.Lanes {
		limit.Waiting += lane.Wanted
	}
	return limit
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

// readSpend reads the hours of the present days: somewhere in the world it may be the day before or after.
func (l *look) readSpend() error {
	today := day.Of(l.o.Business, time.UTC)
	hours, err := l.glance.HourlySpend(today.Add(-2), today.Add(1))
	if err != nil {
		return err
	}
	days, err := l.glance.DailySpend(today.Add(-1), today.Add(1))
	if err != nil {
		return err
	}
	for i := range l.o.Media {
		m := &l.o.Media[i]
		for _, h := range hours {
			if h.Media == m.Name {
				l.addHour(m, h)
			}
		}
		for _, d := range days {
			if present, _ := l.todayIn(d.Zone); d.Media == m.Name && d.Day == present {
				l.spendOf(m, d).Theirs = &d.Cost
			}
		}
		slices.SortStableFunc(m.Spend, func(a, b Spend) int { return cmp.Compare(max(b.Ours, b.before()), max(a.Ours, a.before())) })
	}
	return nil
}

func (l *look) addHour(m *Media, h store.Spend) {
	present, _ := l.todayIn(h.Zone)
	if h.Hour < 0 || h.Hour > 23 || (h.Day != present && h.Day != present.Add(-1)) {
		return
	}
	s := l.spendOf(m, h)
	if h.Day == present {
		s.Ours += h.Cost
		s.Unassigned += h.Unassigned
		s.Hours[h.Hour] += h.Cost
	} else {
		s.Before[h.Hour] += h.Cost
	}
}

// spendOf is the row of a currency and zone.
func (l *look) spendOf(m *Media, of store.Spend) *Spend {
	for i := range m.Spend {
		if m.Spend[i].Currency == of.Currency && m.Spend[i].Zone == of.Zone {
			return &m.Spend[i]
		}
	}
	present, zone := l.todayIn(of.Zone)
	m.Spend = append(m.Spend, Spend{Currency: of.Currency, Zone: of.Zone, Day: present, Hour: l.o.Business.In(zone).Hour()})
	return &m.Spend[len(m.Spend)-1]
}

// before is what was spent on the day before.
func (s *Spend) before() (all int64) {
	for _, h := range s.Before {
		all += h
	}
	return all
}

func (l *look) readRuns() error {
	for _, state := range []task.RunState{task.RunFanningOut, task.RunRunning} {
		open, err := l.glance.RunsIn(state, 0, runsShown+1)
		if err != nil {
			return err
		}
		for i := range open {
			l.o.Open = append(l.o.Open, l.runOf(&open[i]))
		}
	}
	slices.SortFunc(l.o.Open, func(a, b Run) int { return cmp.Compare(b.ID, a.ID) })
	if l.o.OpenMore = len(l.o.Open) > runsShown; l.o.OpenMore {
		l.o.Open = l.o.Open[:runsShown]
	}
	newest, err := l.glance.NewestRuns(newestLooked)
	if err != nil {
		return err
	}
	for i := range newest {
		if r := &newest[i]; !r.State.Open() && slices.Contains(l.Platforms, r.Media) {
			l.o.Ended = append(l.o.Ended, l.runOf(r))
		}
	}
	slices.SortStableFunc(l.o.Ended, func(a, b Run) int { return b.EndedAt.Compare(a.EndedAt) })
	l.o.Ended = l.o.Ended[:min(len(l.o.Ended), endedShown)]
	return nil
}

func (l *look) runOf(r *store.RunLook) Run {
	run := Run{ID: r.ID, Task: r.Task, Media: r.Media, State: r.State, Total: r.Total, Ended: r.Ended, Failed: r.Failed, Error: r.Error, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
	end := r.EndedAt
	if end.IsZero() {
		end = l.o.At
	}
	if seconds := end.Sub(r.CreatedAt).Seconds(); seconds > 0 {
		run.PerSecond = float64(r.Ended) / seconds
	}
	return run
}

// readFreshness looks how old the figures of the present day are, of the accounts that are pulled all the time.
func (l *look) readFreshness(m *Media) error {
	byZone, lately, young := map[string][]int64{}, map[int64]bool{}, false
	for _, a := range l.pulled[m.Name] {
		byZone[a.Timezone] = append(byZone[a.Timezone], a.ID)
		lately[a.ID] = l.o.At.Sub(a.Changed.Time) <= l.lateAfter(m.Name)
		young = young || lately[a.ID]
	}
	m.Pulled = len(l.pulled[m.Name])
	spent := slices.ContainsFunc(m.Spend, func(s Spend) bool { return s.Unassigned != 0 })
	for timezone, ids := range byZone {
		today, zone := l.todayIn(timezone)
		for page := range slices.Chunk(ids, accountsPage) {
			pulled, err := l.glance.Pulled(page, []day.Day{today.Add(-1), today})
			if err != nil {
				return err
			}
			l.judge(m, page, today, l.Real(l.o.Business.Sub(today.Start(zone))), pulled, lately)
			if spent {
				bare, err := l.glance.Unassigned(page, today)
				if err != nil {
					return err
				}
				l.bare[m.Name] = append(l.bare[m.Name], bare...)
			}
		}
	}
	return l.readFirstPull(m, young)
}

// readFirstPull finds out whether the first figures are still to come: of new accounts, or into the summaries, which are built after the
// pulls, while nothing is known of today. Where accounts are young that is also so while what is known is 0: a summary that was built
// between the first pulls has only the accounts that had come.
func (l *look) readFirstPull(m *Media, young bool) error {
	m.FirstPull = m.New > 0
	known := slices.ContainsFunc(m.Spend, func(s Spend) bool { return !young || s.Ours != 0 })
	if m.FirstPull || known || m.Fresh == 0 {
		return nil
	}
	waiting, err := l.glance.Unsummed(m.Name, l.o.At, 1)
	m.FirstPull = len(waiting) > 0
	return err
}

// judge sorts accounts into fresh, late and new. The day began so long ago: figures that are missing are that old at the most. Those
// whose rows have lately changed are new if nothing was pulled of them yet.
func (l *look) judge(m *Media, ids []int64, today day.Day, began time.Duration, pulled []store.Pulled, lately map[int64]bool) {
	age, before := map[int64]time.Duration{}, map[int64]bool{}
	for _, p := range pulled {
		if p.Report == "report_hourly" && !p.PulledAt.IsZero() {
			before[p.AccountID] = true
		}
		if p.Report == "report_hourly" && p.Day == today && !p.PulledAt.IsZero() {
			age[p.AccountID] = max(l.o.At.Sub(p.PulledAt.Time), 0)
		}
	}
	lateAfter := l.lateAfter(m.Name)
	for _, id := range ids {
		of, known := age[id]
		if lately[id] && !before[id] {
			m.OldestSeconds = -1
			m.New++
			continue
		}
		if !known && began <= lateAfter {
			of, known = began, true
		}
		switch {
		case !known:
			m.OldestSeconds = -1
		case m.OldestSeconds >= 0:
			m.OldestSeconds = max(m.OldestSeconds, of.Seconds())
		}
		if known && of <= lateAfter {
			m.Fresh++
			continue
		}
		m.Late++
		l.late[m.Name] = append(l.late[m.Name], id)
	}
}

func (l *look) readTheirs(ctx context.Context) {
	l.o.Theirs = Ledger
	for i := range l.o.Media {
		m := &l.o.Media[i]
		for j := range m.Spend {
			s := &m.Spend[j]
			s.Theirs = nil
			if slices.ContainsFunc(m.Spend, func(o Spend) bool { return o.Currency == s.Currency && o.Zone != s.Zone }) {
				continue // The platform's figure is of all of them.
			}
			theirs, err := l.Theirs(ctx, m.Name, s.Currency, s.Day)
			if err != nil {
				l.trouble(m.Name, fmt.Errorf("what the platform says: %w", err))
				return
			}
			s.Theirs = &theirs
		}
	}
}
