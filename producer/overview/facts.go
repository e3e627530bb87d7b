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

// item is something that somebody should look at, with our ids of the accounts that it is about.
type item struct {
	client.Attention

	ids []int64
}

// count leaves each account of an item once, and sets how many they are.
func (i *item) count() {
	i.ids = unique(i.ids)
	i.Accounts = int64(len(i.ids))
}

// facts are what one read gathers.
type facts struct {
	o       Overview
	items   []item // of o.Attention
	tasks   []producer.Task
	real    func(time.Duration) time.Duration // how long a duration of the business's clock is by the database's
	periods map[string]time.Duration          // of the pulls of a media's hours, by the business's clock
	pulled  map[string][]overview.PulledAccount
	parked  []overview.ParkedCount
	logins  []overview.LoginEnd
	stops   []task.Stop
	waiting []overview.Waiting // retrying
	held    []overview.Waiting // deferred
	late    map[string][]int64
	bare    map[string][]int64 // accounts without a game, by media
	holder  string
	leads   bool
}

func newFacts(tasks []producer.Task, real func(time.Duration) time.Duration) *facts {
	return &facts{
		tasks: tasks, real: real, periods: map[string]time.Duration{}, pulled: map[string][]overview.PulledAccount{},
		late: map[string][]int64{}, bare: map[string][]int64{},
	}
}

func (l *facts) trouble(what string, err error) {
	l.o.Troubles = append(l.o.Troubles, client.Trouble{What: what, Why: err.Error()})
}

// todayIn is the present day in a time zone; an account with one that is not known cannot be pulled, and is late in
// UTC.
func (l *facts) todayIn(timezone string) (day.Day, *time.Location) {
	zone, err := schedule.Zone(timezone)
	if err != nil {
		zone = time.UTC
	}
	return day.Of(l.o.Business, zone), zone
}

// parkedReasons are the reasons in a word each, as they begin, those of most accounts first.
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
	if all > 0 { // Nobody has parked them yet.
		add("login", all)
	}
	slices.SortStableFunc(reasons, func(a, b client.ParkedReason) int { return cmp.Compare(b.Accounts, a.Accounts) })
	return reasons
}

func (l *facts) add(a item) { l.items = append(l.items, a) }
