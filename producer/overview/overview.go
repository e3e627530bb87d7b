// Package overview tells how everything stands at one moment: for the first page, the screen of standalone and GET /api/v1/overview.
//
// A Reader reads the tables and Redis. A Cache hands what it read to all who look, so that many viewers cost no more than one.
package overview

import (
	"encoding/json"
	"fmt"
	"time"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/task"
)

// Overview is how everything stands. Money is in millionths of a currency, and never added up over currencies.
type Overview struct {
	// At is the moment of the database at which the tables were read; zero when they never could be.
	At time.Time `json:"at"`
	// Business is the time by which ticks are made and days begin. In a deployment it is At.
	Business time.Time `json:"business"`
	// Troubles are why the rest is incomplete, or older than it should be.
	Troubles []Trouble `json:"troubles"`
	// Attention is what somebody should look at, the worst first.
	Attention []Attention `json:"attention"`
	Media     []Media     `json:"media"`
	// Open and Ended are runs: those under way, and those of the platforms that were made last and have ended.
	Open     []Run `json:"open"`
	OpenMore bool  `json:"open_more"` // there are more
	Ended    []Run `json:"ended"`
	// Limits are those of the platforms' calls that were asked for of late, the fullest first.
	Limits []Limit `json:"limits"`
	// Pauses are where platforms take no calls now.
	Pauses []Pause `json:"pauses"`
	// Theirs says what Spend.Theirs is.
	Theirs Source `json:"theirs"`
	// Stakes are what all items of Attention of a kind and media are about together; for metrics.
	Stakes []Stake `json:"-"`
}

// MarshalJSON implements json.Marshaler. A list without anything in it is written as one.
func (o Overview) MarshalJSON() ([]byte, error) {
	type plain Overview
	p := plain(o)
	p.Troubles, p.Attention, p.Media, p.Open, p.Ended, p.Limits, p.Pauses = list(o.Troubles), list(o.Attention), list(o.Media), list(o.Open), list(o.Ended), list(o.Limits), list(o.Pauses)
	return json.Marshal(p)
}

// MarshalJSON implements json.Marshaler, likewise.
func (m Media) MarshalJSON() ([]byte, error) {
	type plain Media
	p := plain(m)
	p.Spend, p.Why = list(m.Spend), list(m.Why)
	return json.Marshal(p)
}

func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// Source is where the platforms' own figures of today's spend come from.
type Source string

// The sources.
const (
	// Ledger is the platforms' truth: simulated ones tell it.
	Ledger Source = "ledger"
	// DayTotals are the totals of the accounts' days that platforms told last; ours are sums of hours, which are pulled by themselves.
	DayTotals Source = "day_totals"
)

// Tables is the What of a Trouble with the tables: everything but the limits is then of At, or not there.
const Tables = "tables"

// Trouble is a part of the overview that could not be read.
type Trouble struct {
	What string `json:"what"` // such as "data database"
	Why  string `json:"why"`
}

// Media is how one platform stands.
type Media struct {
	Name  string  `json:"name"`
	Spend []Spend `json:"spend"`
	// Accounts are those that are bound; Pulled of them are pulled all the time, and are Fresh, Late or New.
	Accounts int `json:"accounts"`
	Pulled   int `json:"pulled"`
	Fresh    int `json:"fresh"`
	Late     int `json:"late"`
	// New are those that were bound so lately that their first figures are still to come.
	New int `json:"new"`
	// FirstPull reports that the first figures of the media, or of new accounts, are still on their way into the summaries.
	FirstPull bool `json:"first_pull"`
	// Quiet are those that are looked at now and then: nothing happens in them.
	Quiet  int            `json:"quiet"`
	Parked int            `json:"parked"`
	Why    []ParkedReason `json:"parked_reasons"`
	// OldestSeconds is the age of the oldest of the present day's figures that are pulled all the time; -1 when those of an account were never
	// pulled.
	OldestSeconds float64 `json:"oldest_seconds"`
	// LateSeconds is from which age on figures are late.
	LateSeconds float64 `json:"late_seconds"`
}

// FirstPull returns, over all platforms whose first pull is under way, how many of the accounts have figures, and a text that
// says so; "" if none is under way.
func (o *Overview) FirstPull() string {
	pulled, all := 0, 0
	for i := range o.Media {
		if m := &o.Media[i]; m.FirstPull {
			pulled, all = pulled+m.Pulled-m.New, all+m.Pulled
		}
	}
	if all == 0 {
		return ""
	}
	return firstPull(pulled, all)
}

// FirstPullText says how far the first pull of the platform is.
func (m *Media) FirstPullText() string { return firstPull(m.Pulled-m.New, m.Pulled) }

func firstPull(pulled, all int) string {
	return fmt.Sprintf("First pull under way, %d of %s", pulled, plural.Count(all, "account", "accounts"))
}

// ParkedReason is how many accounts are parked for a reason.
type ParkedReason struct {
	Reason   string `json:"reason"` // frozen, revoked, login, or what a person wrote
	Accounts int    `json:"accounts"`
}

// Spend is what the accounts of a platform with one currency and time zone spent on their present day.
type Spend struct {
	Currency string  `json:"currency"`
	Zone     string  `json:"zone"`
	Day      day.Day `json:"day"`
	Ours     int64   `json:"ours"`
	// Theirs is what the platform says; null when that is not known.
	Theirs *int64 `json:"theirs"`
	// Hours are ours by hour, and Before those of the day before.
	Hours  [24]int64 `json:"hours"`
	Before [24]int64 `json:"before"`
	// Hour is the present one.
	Hour int `json:"hour"`
	// Unassigned is how much of Ours is of accounts that belong to no game.
	Unassigned int64 `json:"unassigned"`
}

// Run is a run under way, or one that has ended.
type Run struct {
	ID        int64         `json:"id,string"`
	Task      string        `json:"task"`
	Media     string        `json:"media"`
	State     task.RunState `json:"state"`
	Total     int64         `json:"total"` // -1 while it is fanned out
	Ended     int64         `json:"ended"`
	Failed    int64         `json:"failed"`
	PerSecond float64       `json:"per_second"` // subtasks ended, from the run's beginning
	Error     string        `json:"error,omitempty"`
	CreatedAt time.Time     `json:"created_at"`
	EndedAt   time.Time     `json:"ended_at,omitzero"`
}

// Limit is how a limit of a platform's calls stands, for all processes together.
type Limit struct {
	Media    string  `json:"media"`
	Endpoint string  `json:"endpoint"`
	Scope    string  `json:"scope"`
	Subject  string  `json:"subject,omitempty"`
	Unit     string  `json:"unit"`
	Allowed  int     `json:"allowed"` // in a period, of what we allow ourselves
	Period   string  `json:"period"`
	Window   int     `json:"window"` // granted in the period before now
	Ahead    int     `json:"ahead"`  // and beyond, up to 2 s
	Full     float64 `json:"full"`   // Window by Allowed
	Waiting  int     `json:"waiting"`
	Minute   int     `json:"last_minute"`
	Tight    bool    `json:"tight"` // used less than allowed for a while, since the platform refused calls
}

// fullFrom is from which part of a limit on its calls are scarce.
const fullFrom = 0.9

// Scarce tells whether calls are scarce: what is granted ahead is gone too.
func (l *Limit) Scarce() bool { return float64(l.Window+l.Ahead) >= fullFrom*float64(l.Allowed) }

// Pause is where a platform takes no calls until a moment.
type Pause struct {
	Media    string    `json:"media"`
	Endpoint string    `json:"endpoint,omitempty"`
	Scope    string    `json:"scope"`
	Subject  string    `json:"subject,omitempty"`
	Until    time.Time `json:"until"`
	Times    int       `json:"times"` // that calls there were paused, as far back as is known
}

// Severity says how bad something is.
type Severity string

// The severities, the worst first.
const (
	Bad  Severity = "bad"  // figures are wrong or missing, and stay so until somebody acts
	Warn Severity = "warn" // figures are late or in doubt
	Note Severity = "note" // known, and goes by itself or was ordered
)

// Attention is something that somebody should look at.
type Attention struct {
	Kind     string   `json:"kind"`
	Severity Severity `json:"severity"`
	Media    string   `json:"media,omitempty"`
	Title    string   `json:"title"`
	Cause    string   `json:"cause"`
	// Accounts is how many are concerned; 0 where it is about none. AtLeast says that only the first were counted.
	Accounts int      `json:"accounts"`
	AtLeast  bool     `json:"at_least,omitempty"`
	Examples []string `json:"examples,omitempty"` // media/external id of some of them
	// Money is what is at stake, by currency, and MoneyOf in words what it is.
	Money   []Money   `json:"money,omitempty"`
	MoneyOf string    `json:"money_of,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Remedy  string    `json:"remedy"`
	Command string    `json:"command,omitempty"`

	ids []int64
}

// Stake is how many accounts and how much money something is about.
type Stake struct {
	Kind, Media string
	Accounts    int
	Money       []Money
}

// Money is an amount.
type Money struct {
	Currency string `json:"currency"`
	Micros   int64  `json:"micros"`
}
