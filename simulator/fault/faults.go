package fault

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"adsync/simulator/ledger"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// Kinds of faults.
const (
	Latency    = "latency"     // the answer comes MS later
	Status     = "status"      // an HTTP status 500..599 and no envelope
	Hang       = "hang"        // no answer until the caller gives up, the fault ends, or MS have passed
	HalfBody   = "half_body"   // half of the answer, then the connection is cut
	LostRow    = "lost_row"    // a list lacks its last row, which its total counts: it moved while pages were read
	WrongSum   = "wrong_sum"   // a report's own sums count one more than its rows add up to
	WrongRow   = "wrong_row"   // a report's first row counts one less than its own sums say
	OverLimit  = "over_limit"  // the platform's answer to a call over the limit
	TokenDeath = "token_death" // tokens end before their time, once, when it is ordered
	Alter      = "alter"       // one thing served differs from the truth, until the fault is taken back
)

// Fault is an ordered misbehaviour. Empty selectors match all calls.
type Fault struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`

	Media    string `json:"media,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	Account  string `json:"account,omitempty"`

	MS         int64   `json:"ms,omitempty"`
	Status     int     `json:"status,omitempty"`
	Count      int64   `json:"count,omitempty"`       // how many calls it spoils; 0 is no bound
	Once       bool    `json:"once,omitempty"`        // it spoils no query twice: who asks again is answered rightly
	ForSeconds float64 `json:"for_seconds,omitempty"` // of real time; 0 is no bound
	Token      string  `json:"token,omitempty"`       // of token_death: access (default) or pair
	Field      string  `json:"field,omitempty"`       // of retire_field and add_field, as the platform names it

	Alteration *Alteration `json:"alteration,omitempty"`

	Until time.Time `json:"until,omitzero"` // when ForSeconds end
	// how many calls it spoiled: answers with nothing to spoil are not counted, nor are alterations
	Met int64 `json:"met"`
}

// Check completes an order for a fault, and returns what is wrong with it.
func (f *Fault) Check(known func(media string) bool) error {
	if f.Media != "" && !known(f.Media) {
		return fmt.Errorf("media %q is unknown", f.Media)
	}
	if f.MS < 0 || f.Count < 0 || f.ForSeconds < 0 || f.ForSeconds > 1e6 || f.MS > 3_600_000 {
		return fmt.Errorf("ms (up to 3600000), count and for_seconds (up to 1000000) cannot be negative")
	}
	switch f.Kind {
	case Latency:
		if f.MS == 0 {
			return fmt.Errorf("latency needs ms")
		}
	case Status:
		if f.Status == 0 {
			f.Status = 500
		}
		if f.Status < 500 || f.Status > 599 {
			return fmt.Errorf("status is 500 to 599, not %d", f.Status)
		}
	case TokenDeath:
		if f.Token == "" {
			f.Token = "access"
		}
		if f.Token != "access" && f.Token != "pair" {
			return fmt.Errorf("token is access or pair, not %q", f.Token)
		}
		if f.Media == "" {
			return fmt.Errorf("token_death needs media")
		}
	case Hang, HalfBody, LostRow, WrongSum, WrongRow, OverLimit, Alter, RetireField, AddField:
	default:
		return fmt.Errorf(
			"kind is latency, status, hang, half_body, lost_row, wrong_sum, wrong_row, over_limit, token_death, retire_field, "+
				"add_field or alter, not %q", f.Kind)
	}
	if f.Once && !f.spoilsCalls() {
		return fmt.Errorf("once is for faults that spoil calls, not for %s", f.Kind)
	}
	return f.checkField()
}

// spoilsCalls tells the kinds that each strike a call by itself.
func (f *Fault) spoilsCalls() bool {
	return f.Kind != Alter && f.Kind != TokenDeath && !f.IsOfField()
}

// Active is a fault that waits for calls.
type Active struct {
	Fault
	met   atomic.Int64
	ended chan struct{} // closed when the fault is taken back, to release calls that hang

	mu      sync.Mutex
	spoiled map[world.Key]bool // queries, of one that spoils none twice
}

func (f *Active) snapshot() Fault {
	x := f.Fault
	x.Met = f.met.Load()
	return x
}

// claim takes a call for the fault, unless it has had its count, its time or the call's query.
func (f *Active) claim(c *platform.Call) bool {
	if !f.Until.IsZero() && !time.Now().Before(f.Until) {
		return false
	}
	if f.Once && !f.first(c) {
		return false
	}
	if n := f.met.Add(1); f.Count > 0 && n > f.Count {
		f.release(c)
		return false
	}
	return true
}

// first notes a call's query, and tells whether it is new.
func (f *Active) first(c *platform.Call) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.spoiled[c.QueryKey()] {
		return false
	}
	f.spoiled[c.QueryKey()] = true
	return true
}

// release gives a call back that was claimed and is not spoiled.
func (f *Active) release(c *platform.Call) {
	f.met.Add(-1)
	if f.Once {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.spoiled, c.QueryKey())
	}
}

func (f *Active) matches(media, endpoint, account string) bool {
	return f.spoilsCalls() && f.selects(media, endpoint, account)
}

func (f *Active) selects(media, endpoint, account string) bool {
	return (f.Media == "" || f.Media == media) && (f.Endpoint == "" || f.Endpoint == endpoint) &&
		(f.Account == "" || f.Account == account)
}

// Faults holds the ordered ones.
type Faults struct {
	any     atomic.Bool     // whether a call can meet one at all: it spares calls the lock
	closing <-chan struct{} // closed when the simulator ends, to release calls that hang
	served  atomic.Pointer[alterations]

	mu   sync.RWMutex
	next int
	list []*Active
}

// NewFaults returns no faults. Calls that hang are released when closing is closed.
func NewFaults(closing <-chan struct{}) *Faults { return &Faults{closing: closing} }

// Add makes an ordered fault hold, and returns it with its id and end.
func (s *Faults) Add(f Fault) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	f.ID = fmt.Sprintf("f%d", s.next)
	f.Met = 0
	if f.ForSeconds > 0 {
		f.Until = time.Now().UTC().Add(time.Duration(f.ForSeconds * float64(time.Second)))
	}
	s.list = append(s.list, newActiveFault(f))
	s.any.Store(true)
	return f
}

func newActiveFault(f Fault) *Active {
	x := &Active{Fault: f, ended: make(chan struct{}), spoiled: map[world.Key]bool{}}
	x.met.Store(f.Met)
	return x
}

// Remove takes back the fault with an id, or all for "".
func (s *Faults) Remove(id string) (removed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.list[:0:0]
	for _, f := range s.list {
		if id != "" && f.ID != id {
			kept = append(kept, f)
			continue
		}
		close(f.ended)
		removed++
	}
	s.list = kept
	s.any.Store(len(kept) > 0)
	return removed
}

// All returns the ordered faults with how many calls each has spoiled.
func (s *Faults) All() []Fault {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]Fault, len(s.list))
	for i, f := range s.list {
		list[i] = f.snapshot()
	}
	return list
}

func (s *Faults) alterations() (list []*Alteration) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, f := range s.list {
		if f.Alteration != nil {
			list = append(list, f.Alteration)
		}
	}
	return list
}

// Restore takes over kept faults. The next one has an id after next.
func (s *Faults) Restore(kept []Fault, next int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = next
	for _, f := range kept {
		s.list = append(s.list, newActiveFault(f))
	}
	s.any.Store(len(s.list) > 0)
}

// LastID returns the number of the newest fault.
func (s *Faults) LastID() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.next
}

// Claimed are the faults that a call has met, one of a kind at most.
func (s *Faults) Claimed(c *platform.Call) map[string]*Active {
	if !s.any.Load() {
		return nil
	}
	account := c.Query.Get(c.Spec.AccountParam)
	s.mu.RLock()
	defer s.mu.RUnlock()
	var met map[string]*Active
	for _, f := range s.list {
		if !f.matches(c.Spec.Name, c.Endpoint, account) || met[f.Kind] != nil || !f.claim(c) {
			continue
		}
		if met == nil {
			met = map[string]*Active{}
		}
		met[f.Kind] = f
	}
	return met
}

// Wait lets a call of a fault wait for its time, the fault's end, the caller's patience or the simulator's end.
func (s *Faults) Wait(c *platform.Call, f *Active, d time.Duration) {
	var timeout <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-timeout:
	case <-f.ended:
	case <-c.Request.Context().Done():
	case <-s.closing:
	}
}

// Disturb applies what comes before or in the place of the platform's answer; it tells whether the answer is made.
func (s *Faults) Disturb(c *platform.Call, met map[string]*Active) (answered bool) {
	if f := met[Hang]; f != nil {
		s.Wait(c, f, time.Duration(f.MS)*time.Millisecond)
		c.Outcome, c.Cut = ledger.Injected, platform.CutAll
		return true
	}
	if f := met[Status]; f != nil {
		c.Outcome, c.Status, c.Code = ledger.Injected, f.Status, f.Status
		c.Header.Set("Content-Type", "text/html")
		c.Body = append(c.Body[:0], "<html><body><h1>Service Unavailable</h1></body></html>\n"...)
		return true
	}
	return false
}

// spoilers are the faults that change what stands in an answer; they tell whether there was something to change.
var spoilers = []struct {
	kind   string
	change func(*platform.Call) bool
}{{LostRow, loseRow}, {WrongSum, wrongSum}, {WrongRow, wrongRow}}

// Spoil changes the answer as the faults say that were met. One that finds nothing to change waits for another call.
func Spoil(c *platform.Call, met map[string]*Active) {
	for _, s := range spoilers {
		if f := met[s.kind]; f != nil && !s.change(c) {
			f.release(c)
		}
	}
}

// loseRow takes the last row out of an answer's list.
func loseRow(c *platform.Call) bool {
	return rewrite(c, func(data map[string]json.RawMessage) bool {
		for _, name := range []string{"list", "rows"} {
			var rows []json.RawMessage
			if json.Unmarshal(data[name], &rows) == nil && len(rows) > 0 {
				data[name], _ = json.Marshal(rows[:len(rows)-1]) // What was read can be written again.
				return true
			}
		}
		return false
	})
}

// wrongSum makes the counts of an answer's own sums one more than they are; money stays.
func wrongSum(c *platform.Call) bool {
	return rewrite(c, func(data map[string]json.RawMessage) bool {
		var sums map[string]string
		if json.Unmarshal(data["total_metrics"], &sums) != nil {
			return false
		}
		changed := false
		for name, value := range sums {
			if n, err := strconv.Atoi(value); err == nil {
				sums[name], changed = strconv.Itoa(n+1), true
			}
		}
		data["total_metrics"], _ = json.Marshal(sums)
		return changed
	})
}

// wrongRow makes the counts of an answer's first row one less than they are, where the answer tells sums that its
// rows add up to.
func wrongRow(c *platform.Call) bool {
	if c.Spec.IsSum != nil && !c.Spec.IsSum(c.Query) {
		return false
	}
	return rewrite(c, func(data map[string]json.RawMessage) bool {
		var rows []map[string]json.RawMessage
		var figures map[string]string
		if data["total_metrics"] == nil || json.Unmarshal(data["rows"], &rows) != nil || len(rows) == 0 ||
			json.Unmarshal(rows[0]["metrics"], &figures) != nil {
			return false
		}
		changed := false
		for name, value := range figures {
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				figures[name], changed = strconv.Itoa(n-1), true
			}
		}
		rows[0]["metrics"], _ = json.Marshal(figures) // What was read can be written again.
		data["rows"], _ = json.Marshal(rows)
		return changed
	})
}

// rewrite changes the data of an answer, and tells whether change says that it did.
func rewrite(c *platform.Call, change func(data map[string]json.RawMessage) bool) bool {
	var answer, data map[string]json.RawMessage
	if json.Unmarshal(c.Body, &answer) != nil || json.Unmarshal(answer["data"], &data) != nil || !change(data) {
		return false
	}
	answer["data"], _ = json.Marshal(data)
	body, _ := json.Marshal(answer)
	c.Body, c.Outcome = append(c.Body[:0], body...), ledger.Injected
	return true
}

// Recompile makes the ordered alterations hold for calls from now on.
func (s *Faults) Recompile(w *world.World) { s.served.Store(compileAlterations(w, s.alterations())) }

// Altered is what is served otherwise than the truth; nil if nothing is.
func (s *Faults) Altered() world.Altering {
	if x := s.served.Load(); x != nil {
		return x
	}
	return nil
}
