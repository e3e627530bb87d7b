package ledger

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
)

// Outcome is the outcome of a call in addition to its answer's code.
type Outcome uint8

// The outcomes of a call.
const (
	Answered Outcome = iota
	Refused          // by a limit
	Injected         // an ordered fault replaced or changed the answer
)

// Cell is the key of the ledger's counts within a second.
type Cell struct {
	Media    string  `json:"m"`
	App      string  `json:"a"`
	Endpoint string  `json:"e"`
	Code     int     `json:"c"` // of the envelope; an HTTP status where there is no envelope; -1 for a cut connection
	Outcome  Outcome `json:"o"`
}

type secondCell struct {
	Second int64 `json:"s"`
	Cell
}

type accountCell struct {
	Account string `json:"k"`
	Cell
}

const (
	// ledgerDetailMax bounds the counts by second; the oldest are folded into their hour.
	ledgerDetailMax = 200_000
	foldedSecond    = 3600
)

// Ledger counts every call by second of real time, app, endpoint and answer, and by account without the time. Its
// size is bounded by the kinds of calls and the number of accounts, not by the number of calls.
type Ledger struct {
	mu       sync.Mutex
	seconds  map[secondCell]int64
	accounts map[accountCell]int64
	// Counts that are not on disk yet, in the same form; nil when nothing is kept on disk.
	newSeconds  map[secondCell]int64
	newAccounts map[accountCell]int64
}

// New returns an empty ledger. With kept it also tracks the counts that are not on disk yet.
func New(kept bool) *Ledger {
	l := &Ledger{seconds: map[secondCell]int64{}, accounts: map[accountCell]int64{}}
	if kept {
		l.newSeconds, l.newAccounts = map[secondCell]int64{}, map[accountCell]int64{}
	}
	return l
}

// Record counts a call at a second of real time; account may be empty.
func (l *Ledger) Record(second int64, account string, c Cell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := secondCell{second, c}
	l.seconds[at]++
	if l.newSeconds != nil {
		l.newSeconds[at]++
	}
	if account != "" {
		of := accountCell{account, c}
		l.accounts[of]++
		if l.newAccounts != nil {
			l.newAccounts[of]++
		}
	}
	if len(l.seconds) > ledgerDetailMax {
		l.fold()
	}
}

// fold moves the older half of the seconds into hours.
func (l *Ledger) fold() {
	moments := make([]int64, 0, len(l.seconds))
	for at := range l.seconds {
		moments = append(moments, at.Second)
	}
	slices.Sort(moments)
	middle := moments[len(moments)/2]
	for at, n := range l.seconds {
		if at.Second < middle && at.Second%foldedSecond != 0 {
			delete(l.seconds, at)
			at.Second -= at.Second % foldedSecond
			l.seconds[at] += n
		}
	}
}

// Counts are the totals of some calls.
type Counts struct {
	Calls   int64 `json:"calls"`
	Refused int64 `json:"refused_limit"`
	Inject  int64 `json:"injected"`
}

func (c *Counts) add(o Outcome, n int64) {
	c.Calls += n
	switch o {
	case Refused:
		c.Refused += n
	case Injected:
		c.Inject += n
	}
}

// Group is a line of the ledger's answer: the fields that were grouped by, and the counts.
type Group struct {
	Second   int64  `json:"second,omitempty"`
	Media    string `json:"media,omitempty"`
	App      string `json:"app,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	Account  string `json:"account,omitempty"`
	Answer   *int   `json:"answer,omitempty"`
	Counts
}

// Query selects calls; an empty field selects all. Times are Unix seconds, from included and to excluded.
type Query struct {
	Media, App, Endpoint, Account string
	Answer                        *int
	From, To                      int64
	Group                         map[string]bool
}

func (q *Query) matches(c *Cell) bool {
	return (q.Media == "" || q.Media == c.Media) && (q.App == "" || q.App == c.App) &&
		(q.Endpoint == "" || q.Endpoint == c.Endpoint) && (q.Answer == nil || *q.Answer == c.Code)
}

// NeedsAccounts reports whether the query needs the counts by account, which have no time.
func (q *Query) NeedsAccounts() bool { return q.Account != "" || q.Group["account"] }

type groupKey struct {
	second                        int64
	media, app, endpoint, account string
	code                          int
}

// Query adds up the selected calls, and groups them if the query has groups.
func (l *Ledger) Query(q Query) (total Counts, groups []Group) {
	sums := map[groupKey]*Counts{}
	count := func(second int64, account string, c *Cell, n int64) {
		total.add(c.Outcome, n)
		var k groupKey
		if q.Group["second"] {
			k.second = second
		}
		if q.Group["media"] {
			k.media = c.Media
		}
		if q.Group["app"] {
			k.app = c.App
		}
		if q.Group["endpoint"] {
			k.endpoint = c.Endpoint
		}
		if q.Group["account"] {
			k.account = account
		}
		if q.Group["answer"] {
			k.code = c.Code
		}
		if sums[k] == nil {
			sums[k] = &Counts{}
		}
		sums[k].add(c.Outcome, n)
	}
	l.mu.Lock()
	if q.NeedsAccounts() {
		for of, n := range l.accounts {
			if q.matches(&of.Cell) && (q.Account == "" || q.Account == of.Account) {
				count(0, of.Account, &of.Cell, n)
			}
		}
	} else {
		for at, n := range l.seconds {
			if q.matches(&at.Cell) && at.Second >= q.From && (q.To == 0 || at.Second < q.To) {
				count(at.Second, "", &at.Cell, n)
			}
		}
	}
	l.mu.Unlock()
	if len(q.Group) == 0 {
		return total, nil
	}
	groups = make([]Group, 0, len(sums))
	for k, c := range sums {
		g := Group{Second: k.second, Media: k.media, App: k.app, Endpoint: k.endpoint, Account: k.account, Counts: *c}
		if q.Group["answer"] {
			g.Answer = &k.code
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		answer := func(g Group) int {
			if g.Answer == nil {
				return 0
			}
			return *g.Answer
		}
		return cmp.Or(cmp.Compare(a.Second, b.Second), cmp.Compare(a.Media, b.Media), cmp.Compare(a.App, b.App),
			cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Account, b.Account), cmp.Compare(answer(a), answer(b)))
	})
	return total, groups
}

// ledgerLine is a line of the ledger's file: the number of calls of a second or of an account.
type ledgerLine struct {
	Second  int64  `json:"s,omitempty"`
	Account string `json:"k,omitempty"`
	Cell
	Count int64 `json:"n"`
}

// Load adds a kept ledger. A last line without a line end was cut off, and is dropped.
func (l *Ledger) Load(r *bufio.Reader) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		raw, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // a line without an end was cut off
		}
		if err != nil {
			return err
		}
		var line ledgerLine
		if err := json.Unmarshal(raw, &line); err != nil {
			return err
		}
		if line.Account != "" {
			l.accounts[accountCell{line.Account, line.Cell}] += line.Count
		} else {
			l.seconds[secondCell{line.Second, line.Cell}] += line.Count
		}
	}
}

// TakeAll returns all counts, including those since the last call.
func (l *Ledger) TakeAll() []byte {
	l.mu.Lock()
	seconds, accounts := maps.Clone(l.seconds), maps.Clone(l.accounts)
	l.newSeconds, l.newAccounts = map[secondCell]int64{}, map[accountCell]int64{}
	l.mu.Unlock()
	return ledgerLines(seconds, accounts)
}

// TakeNew returns the counts since the last call.
func (l *Ledger) TakeNew() []byte {
	l.mu.Lock()
	seconds, accounts := l.newSeconds, l.newAccounts
	l.newSeconds, l.newAccounts = map[secondCell]int64{}, map[accountCell]int64{}
	l.mu.Unlock()
	return ledgerLines(seconds, accounts)
}

func ledgerLines(seconds map[secondCell]int64, accounts map[accountCell]int64) (lines []byte) {
	add := func(line ledgerLine) {
		raw, err := json.Marshal(line)
		if err == nil { // strings and numbers can always be encoded
			lines = append(append(lines, raw...), '\n')
		}
	}
	for at, n := range seconds {
		add(ledgerLine{Second: at.Second, Cell: at.Cell, Count: n})
	}
	for of, n := range accounts {
		add(ledgerLine{Account: of.Account, Cell: of.Cell, Count: n})
	}
	return lines
}
