package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/store/overview"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer"
)

// item is something that needs an operator, with our ids of the affected accounts.
type item struct {
	client.Attention

	ids []int64
}

// count drops duplicates of an item's accounts, and sets their number.
func (i *item) count() {
	i.ids = unique(i.ids)
	i.Accounts = int64(len(i.ids))
}

// facts is what one read collects.
type facts struct {
	o           Overview
	items       []item // of o.Attention
	tasks       []producer.Task
	real        func(time.Duration) time.Duration // converts a duration of the business clock to the database's clock
	periods     map[string]time.Duration          // between the pulls of a media's hours, by the business clock
	pulled      map[string][]overview.PulledAccount
	parked      []overview.ParkedCount
	logins      []overview.LoginEnd
	stops       []task.Stop
	waiting     []overview.Waiting // retrying
	held        []overview.Waiting // deferred
	late        map[string][]int64
	withoutGame map[string][]int64 // accounts without a game, by media
	holder      string
	leads       bool
}

func newFacts(tasks []producer.Task, real func(time.Duration) time.Duration) *facts {
	return &facts{
		tasks: tasks, real: real, periods: map[string]time.Duration{}, pulled: map[string][]overview.PulledAccount{},
		late: map[string][]int64{}, withoutGame: map[string][]int64{},
	}
}

func (l *facts) trouble(what string, err error) {
	l.o.Troubles = append(l.o.Troubles, client.Trouble{What: what, Why: err.Error()})
}

// todayIn returns the present day in a time zone, and the zone. For an unknown zone it is that in UTC: such an account
// cannot be pulled, and is late.
func (l *facts) todayIn(timezone string) (day.Day, *time.Location) {
	zone, err := schedule.Zone(timezone)
	if err != nil {
		zone = time.UTC
	}
	return day.Of(l.o.Business, zone), zone
}

// parkedReasons returns the first words of a media's parking reasons, those of most accounts first. all is the number
// of its parked accounts.
func (l *facts) parkedReasons(media string, all int64) []client.ParkedReason {
	var reasons []client.ParkedReason
	add := func(reason string, n int64) {
		i := slices.IndexFunc(reasons, func(r client.ParkedReason) bool { return r.Reason == reason })
		if i < 0 {
			reasons, i = append(reasons, client.ParkedReason{Reason: reason}), len(reasons)
		}
		reasons[i].Accounts += n
	}
	for _, p := range l.parked {
		if p.Media == media {
			word, _, _ := strings.Cut(p.Reason, ":")
			add(word, p.N)
			all -= p.N
		}
	}
	if all > 0 { // Their login is not usable, and their rows are not parked yet.
		add("login", all)
	}
	slices.SortStableFunc(reasons, func(a, b client.ParkedReason) int { return cmp.Compare(b.Accounts, a.Accounts) })
	return reasons
}

func (l *facts) add(a item) { l.items = append(l.items, a) }
