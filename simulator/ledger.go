package simulator

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

// outcome is what became of a call beside its answer's code.
type outcome uint8

const (
	outcomeAnswered outcome = iota
	outcomeRefused          // by a limit
	outcomeInjected         // an ordered fault took the answer's place or spoiled it
)

// cell is what the ledger counts apart within a second.
type cell struct {
	Media    string  `json:"m"`
	App      string  `json:"a"`
	Endpoint string  `json:"e"`
	Code     int     `json:"c"` // of the envelope; an HTTP status where there is no envelope; -1 for a cut connection
	Outcome  outcome `json:"o"`
}

type secondCell struct {
	Second int64 `json:"s"`
	cell
}

type accountCell struct {
	Account string `json:"k"`
	cell
}

const (
	// ledgerDetailMax bounds the seconds kept apart; the oldest are folded into the hour they lie in.
	ledgerDetailMax = 200_000
	foldedSecond    = 3600
)

// ledger counts every call by second of real time, app, endpoint and answer, and by account without the time: what is
// kept is bounded by the kinds of calls and the number of accounts, not by the number of calls.
type ledger struct {
	mu       sync.Mutex
	seconds  map[secondCell]int64
	accounts map[accountCell]int64
	// What is not on disk yet, in the same form; nil when nothing is kept on disk.
	newSeconds  map[secondCell]int64
	newAccounts map[accountCell]int64
}

func newLedger(kept bool) *ledger {
	l := &ledger{seconds: map[secondCell]int64{}, accounts: map[accountCell]int64{}}
	if kept {
		l.newSeconds, l.newAccounts = map[secondCell]int64{}, map[accountCell]int64{}
	}
	return l
}

func (l *ledger) record(second int64, account string, c cell) {
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
func (l *ledger) fold() {
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

func (c *Counts) add(o outcome, n int64) {
	c.Calls += n
	switch o {
	case outcomeRefused:
		c.Refused += n
	case outcomeInjected:
		c.Inject += n
	}
}

// LedgerGroup is a line of the ledger's answer: the fields that were grouped by, and the counts.
type LedgerGroup struct {
	Second   int64  `json:"second,omitempty"`
	Media    string `json:"media,omitempty"`
	App      string `json:"app,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	Account  string `json:"account,omitempty"`
	Answer   *int   `json:"answer,omitempty"`
	Counts
}

// ledgerQuery selects calls; an empty field selects all. Times are Unix seconds, from included and to excluded.
type ledgerQuery struct {
	media, app, endpoint, account string
	answer                        *int
	from, to                      int64
	group                         map[string]bool
}

func (q *ledgerQuery) matches(c *cell) bool {
	return (q.media == "" || q.media == c.Media) && (q.app == "" || q.app == c.App) &&
		(q.endpoint == "" || q.endpoint == c.Endpoint) && (q.answer == nil || *q.answer == c.Code)
}

func (q *ledgerQuery) needsAccounts() bool { return q.account != "" || q.group["account"] }

type groupKey struct {
	second                        int64
	media, app, endpoint, account string
	code                          int
}

func (l *ledger) query(q ledgerQuery) (total Counts, groups []LedgerGroup) {
	sums := map[groupKey]*Counts{}
	count := func(second int64, account string, c *cell, n int64) {
		total.add(c.Outcome, n)
		var k groupKey
		if q.group["second"] {
			k.second = second
		}
		if q.group["media"] {
			k.media = c.Media
		}
		if q.group["app"] {
			k.app = c.App
		}
		if q.group["endpoint"] {
			k.endpoint = c.Endpoint
		}
		if q.group["account"] {
			k.account = account
		}
		if q.group["answer"] {
			k.code = c.Code
		}
		if sums[k] == nil {
			sums[k] = &Counts{}
		}
		sums[k].add(c.Outcome, n)
	}
	l.mu.Lock()
	if q.needsAccounts() {
		for of, n := range l.accounts {
			if q.matches(&of.cell) && (q.account == "" || q.account == of.Account) {
				count(0, of.Account, &of.cell, n)
			}
		}
	} else {
		for at, n := range l.seconds {
			if q.matches(&at.cell) && at.Second >= q.from && (q.to == 0 || at.Second < q.to) {
				count(at.Second, "", &at.cell, n)
			}
		}
	}
	l.mu.Unlock()
	if len(q.group) == 0 {
		return total, nil
	}
	groups = make([]LedgerGroup, 0, len(sums))
	for k, c := range sums {
		g := LedgerGroup{Second: k.second, Media: k.media, App: k.app, Endpoint: k.endpoint, Account: k.account, Counts: *c}
		if q.group["answer"] {
			g.Answer = &k.code
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b LedgerGroup) int {
		answer := func(g LedgerGroup) int {
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

// ledgerLine is a line of the ledger's file: a number of calls of a second, or of an account.
type ledgerLine struct {
	Second  int64  `json:"s,omitempty"`
	Account string `json:"k,omitempty"`
	cell
	Count int64 `json:"n"`
}

func (l *ledger) load(r *bufio.Reader) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		raw, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what has no end of line was cut off
		}
		if err != nil {
			return err
		}
		var line ledgerLine
		if err := json.Unmarshal(raw, &line); err != nil {
			return err
		}
		if line.Account != "" {
			l.accounts[accountCell{line.Account, line.cell}] += line.Count
		} else {
			l.seconds[secondCell{line.Second, line.cell}] += line.Count
		}
	}
}

// takeAll is everything, what was counted since the last time with it.
func (l *ledger) takeAll() []byte {
	l.mu.Lock()
	seconds, accounts := maps.Clone(l.seconds), maps.Clone(l.accounts)
	l.newSeconds, l.newAccounts = map[secondCell]int64{}, map[accountCell]int64{}
	l.mu.Unlock()
	return ledgerLines(seconds, accounts)
}

// takeNew is what was counted since the last time.
func (l *ledger) takeNew() []byte {
	l.mu.Lock()
	seconds, accounts := l.newSeconds, l.newAccounts
	l.newSeconds, l.newAccounts = map[secondCell]int64{}, map[accountCell]int64{}
	l.mu.Unlock()
	return ledgerLines(seconds, accounts)
}

func ledgerLines(seconds map[secondCell]int64, accounts map[accountCell]int64) (lines []byte) {
	add := func(line ledgerLine) {
		raw, err := json.Marshal(line)
		if err == nil { // strings and numbers always marshal
			lines = append(append(lines, raw...), '\n')
		}
	}
	for at, n := range seconds {
		add(ledgerLine{Second: at.Second, cell: at.cell, Count: n})
	}
	for of, n := range accounts {
		add(ledgerLine{Account: of.Account, cell: of.cell, Count: n})
	}
	return lines
}
