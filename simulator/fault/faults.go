package fault

import (
	"encoding/json"
	"fmt"
	"slices"
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
	Latency    = "latency"     // the answer is delayed by MS
	Status     = "status"      // an HTTP status 500..599 and no envelope
	Hang       = "hang"        // no answer until the caller stops waiting, the fault ends, or MS have passed
	HalfBody   = "half_body"   // half of the answer, then the connection is cut
	LostRow    = "lost_row"    // a list lacks its last row, which its total counts, as if rows moved while pages were read
	WrongSum   = "wrong_sum"   // the counts in a report's own sums are one more than the sum of its rows
	WrongRow   = "wrong_row"   // the counts in a report's first row are one less than its own sums require
	OverLimit  = "over_limit"  // the platform's answer to a call over the limit
	TokenDeath = "token_death" // tokens end early, once, at the time of the order
	Alter      = "alter"       // served data differ from the truth until the fault is removed
)

// Fault is an order to disturb calls. Empty selectors match all calls.
type Fault struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`

	Media    string `json:"media,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	Account  string `json:"account,omitempty"`

	MS         int64   `json:"ms,omitempty"`
	Status     int     `json:"status,omitempty"`
	Count      int64   `json:"count,omitempty"`       // how many calls it disturbs; 0 is no bound
	Once       bool    `json:"once,omitempty"`        // it disturbs no query twice: a repeated query gets the right answer
	ForSeconds float64 `json:"for_seconds,omitempty"` // seconds of real time; 0 is no bound
	Token      string  `json:"token,omitempty"`       // for token_death: access (default) or pair
	Field      string  `json:"field,omitempty"`       // for retire_field and add_field: the platform's name of the field

	Alteration *Alteration `json:"alteration,omitempty"`

	Until time.Time `json:"until,omitzero"` // the end of ForSeconds
	// how many calls it disturbed; answers with nothing to change are not counted, nor are alterations
	Met int64 `json:"met"`
}

// Check completes an order for a fault, and returns an error if the order is invalid.
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
			return fmt.Errorf("status must be 500 to 599, not %d", f.Status)
		}
	case TokenDeath:
		if f.Token == "" {
			f.Token = "access"
		}
		if f.Token != "access" && f.Token != "pair" {
			return fmt.Errorf("token must be access or pair, not %q", f.Token)
		}
		if f.Media == "" {
			return fmt.Errorf("token_death needs media")
		}
	case Hang, HalfBody, LostRow, WrongSum, WrongRow, OverLimit, Alter, RetireField, AddField, FailTask, ExpireTask,
		CutTask, BareTask, string(platform.FormOther), string(platform.FormFull), string(platform.FormPart):
	default:
		return fmt.Errorf(
			"kind must be latency, status, hang, half_body, lost_row, wrong_sum, wrong_row, over_limit, token_death, "+
				"retire_field, add_field, fail_task, expire_task, cut_task, bare_task, other_form, full_page, part_fails or "+
				"alter, not %q", f.Kind)
	}
	if f.Once && !f.spoilsCalls() && !f.isOfForm() {
		return fmt.Errorf("once is for faults that disturb single calls, not for %s", f.Kind)
	}
	return f.checkField()
}

// spoilsCalls reports whether the kind disturbs single calls.
func (f *Fault) spoilsCalls() bool {
	return f.Kind != Alter && f.Kind != TokenDeath && !f.IsOfField() && !f.isOfTask() && !f.isOfForm()
}

// Active is a fault that is in force.
type Active struct {
	Fault
	met   atomic.Int64
	ended chan struct{} // closed when the fault is removed, to release calls that hang

	mu      sync.Mutex
	spoiled map[world.Key]bool // disturbed queries, for faults with Once
}

func (f *Active) snapshot() Fault {
	x := f.Fault
	x.Met = f.met.Load()
	return x
}

// claim reserves a call for the fault, unless its count, its time or the call's query is used up.
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

// first records a call's query and reports whether it is new.
func (f *Active) first(c *platform.Call) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.spoiled[c.QueryKey()] {
		return false
	}
	f.spoiled[c.QueryKey()] = true
	return true
}

// release returns a claimed call that was not disturbed.
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

// Faults holds the ordered faults.
type Faults struct {
	any     atomic.Bool     // whether any fault is in force, so that calls need no lock otherwise
	closing <-chan struct{} // closed when the simulator ends, to release calls that hang
	served  atomic.Pointer[alterations]

	mu   sync.RWMutex
	next int
	list []*Active
}

// NewFaults returns an empty Faults. Calls that hang are released when closing is closed.
func NewFaults(closing <-chan struct{}) *Faults { return &Faults{closing: closing} }

// Add puts a fault in force, and returns it with its id and end.
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

// Remove removes the fault with an id, or all for "".
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

// All returns the faults with the number of calls that each has disturbed.
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

// Restore puts kept faults in force. The next new one gets an id after next.
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

// Claimed returns the faults that a call meets, at most one of each kind.
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

// Wait makes a call wait until d has passed, or until the fault, the caller or the simulator ends.
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

// Disturb applies the faults that delay or replace the platform's answer, and reports whether one has answered.
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

// spoilers holds the faults that change an answer. Each returns whether there was something to change.
var spoilers = []struct {
	kind   string
	change func(*platform.Call) bool
}{{LostRow, loseRow}, {WrongSum, wrongSum}, {WrongRow, wrongRow}}

// Spoil applies the met faults to the answer. A fault that finds nothing to change waits for another call.
func Spoil(c *platform.Call, met map[string]*Active) {
	for _, s := range spoilers {
		if f := met[s.kind]; f != nil && !s.change(c) {
			f.release(c)
		}
	}
}

// rowsFields are the names of lists of rows on all platforms.
var rowsFields = []string{"list", "rows", "details", "data"}

// loseRow removes the last row of an answer's list.
func loseRow(c *platform.Call) bool {
	return rewrite(c, func(data map[string]json.RawMessage) bool {
		for _, name := range rowsFields {
			var rows []json.RawMessage
			if json.Unmarshal(data[name], &rows) == nil && len(rows) > 0 {
				data[name], _ = json.Marshal(rows[:len(rows)-1]) // Decoded JSON can be encoded again.
				return true
			}
		}
		return false
	})
}

// wrongSum adds one to the counts in an answer's own sums; money stays.
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

// wrongRow subtracts one from the counts in an answer's first row, if the answer has sums to which its rows add up.
func wrongRow(c *platform.Call) bool {
	if c.Spec.IsSum != nil && !c.Spec.IsSum(c.Query) {
		return false
	}
	return rewrite(c, func(data map[string]json.RawMessage) bool {
		var rows []map[string]json.RawMessage
		at := slices.IndexFunc(rowsFields, func(name string) bool {
			return json.Unmarshal(data[name], &rows) == nil && len(rows) > 0
		})
		var figures map[string]string
		if data["total_metrics"] == nil || at < 0 || json.Unmarshal(rows[0]["metrics"], &figures) != nil {
			return false
		}
		changed := false
		for name, value := range figures {
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				figures[name], changed = strconv.Itoa(n-1), true
			}
		}
		rows[0]["metrics"], _ = json.Marshal(figures) // Decoded JSON can be encoded again.
		data[rowsFields[at]], _ = json.Marshal(rows)
		return changed
	})
}

// rewrite changes the data of an answer, and returns the result of change. The data are in the body of some answers,
// and the only element of a list in some.
func rewrite(c *platform.Call, change func(data map[string]json.RawMessage) bool) bool {
	var answer map[string]json.RawMessage
	if json.Unmarshal(c.Body, &answer) != nil {
		return false
	}
	path := []string{"data"}
	if answer["body"] != nil {
		path = []string{"body", "data"}
	}
	if !rewriteAt(answer, path, change) {
		return false
	}
	body, _ := json.Marshal(answer) // Decoded JSON can be encoded again.
	c.Body, c.Outcome = append(c.Body[:0], body...), ledger.Injected
	return true
}

func rewriteAt(in map[string]json.RawMessage, path []string, change func(map[string]json.RawMessage) bool) bool {
	if len(path) == 0 {
		return change(in)
	}
	var object map[string]json.RawMessage
	var list []map[string]json.RawMessage
	switch raw := in[path[0]]; {
	case json.Unmarshal(raw, &object) == nil && rewriteAt(object, path[1:], change):
		in[path[0]], _ = json.Marshal(object)
		return true
	case json.Unmarshal(raw, &list) == nil && len(list) == 1 && rewriteAt(list[0], path[1:], change):
		in[path[0]], _ = json.Marshal(list)
		return true
	}
	return false
}

// Recompile applies the ordered alterations to calls from now on.
func (s *Faults) Recompile(w *world.World) { s.served.Store(compileAlterations(w, s.alterations())) }

// Altered returns the alterations of served data; nil if there are none.
func (s *Faults) Altered() world.Altering {
	if x := s.served.Load(); x != nil {
		return x
	}
	return nil
}
