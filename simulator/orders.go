package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
)

// orderCorrection changes the truth of some days of an account from now on.
func (c *control) orderCorrection(w http.ResponseWriter, r *http.Request) {
	var order correction
	if !readOrder(w, r, &order) {
		return
	}
	c.ordering.Lock()
	defer c.ordering.Unlock()
	now := c.sim.clock.Now().Unix()
	if order.At = cmp.Or(order.At, now); order.At < now {
		writeProblem(w, http.StatusBadRequest, fmt.Sprintf("at is in Unix seconds, now (%d) or later, not %d: what was published was published", now, order.At))
		return
	}
	if err := c.sim.world.correct(order); err != nil {
		writeProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	c.keep(w, http.StatusOK, order)
}

// orderLife freezes or opens an account, takes a login's permission for it away, or wakes a sleeping one: from now on the
// ads that it has run.
func (c *control) orderLife(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Media   string `json:"media"`
		Account string `json:"account"`
		State   string `json:"state"`
		Wake    bool   `json:"wake"`
	}
	if !readOrder(w, r, &order) {
		return
	}
	c.ordering.Lock()
	defer c.ordering.Unlock()
	x := life{Media: order.Media, Account: order.Account, State: order.State}
	if order.Wake {
		x.Woken = c.sim.clock.Now().Unix()
	}
	x, err := c.sim.world.live(x)
	if err != nil {
		writeProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	c.keep(w, http.StatusOK, x)
}

func (c *control) serveLives(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"accounts": c.sim.world.lives.all()})
}

// orderEdit changes an account's ads, from now on or from a coming moment on.
func (c *control) orderEdit(w http.ResponseWriter, r *http.Request) {
	var order adEdit
	if !readOrder(w, r, &order) {
		return
	}
	c.ordering.Lock()
	defer c.ordering.Unlock()
	now := c.sim.clock.Now().Unix()
	order.At = cmp.Or(order.At, now)
	if order.Shown = cmp.Or(order.Shown, order.At); order.Shown < max(order.At, now) {
		writeProblem(w, http.StatusBadRequest, fmt.Sprintf("shown is in Unix seconds, not before at (%d) nor now (%d), not %d: what was shown was shown", order.At, now, order.Shown))
		return
	}
	if err := c.sim.world.edit(order); err != nil {
		writeProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	c.keep(w, http.StatusOK, order)
}

// limitView is what the limits call shows: the rules, and the switches of what platforms may or may not do.
type limitView struct {
	limitSettings
	OldAccessSurvives map[string]bool `json:"old_access_survives"`
	// HoursKept is for how many days platforms that forget hours tell them; older ones come as whole days. 0 is for ever.
	HoursKept int64 `json:"hours_kept_days"`
}

func (c *control) serveLimits(w http.ResponseWriter, _ *http.Request) {
	v := limitView{c.sim.limits.settings(), map[string]bool{}, c.sim.hoursKept.Load()}
	for _, p := range c.sim.world.specs {
		v.OldAccessSurvives[p.name] = c.sim.vault.oldAccessSurvives(p.name)
	}
	writeJSON(w, http.StatusOK, v)
}

func (c *control) orderLimits(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Rules             []LimitRule     `json:"rules"`
		Penalties         *bool           `json:"penalties"`
		OldAccessSurvives map[string]bool `json:"old_access_survives"`
		HoursKept         *int64          `json:"hours_kept_days"`
	}
	if !readOrder(w, r, &order) {
		return
	}
	for i, rule := range order.Rules {
		if rule.Endpoint != "*" {
			order.Rules[i].Endpoint = endpointName(rule.Endpoint)
		}
		err := order.Rules[i].check()
		if err == nil && c.sim.world.spec(rule.Media) == nil {
			err = fmt.Errorf("media is one of %v, not %q", c.sim.world.names(), rule.Media)
		}
		if err != nil {
			writeProblem(w, http.StatusBadRequest, fmt.Sprintf("rule %d: %v", i+1, err))
			return
		}
	}
	for media := range order.OldAccessSurvives {
		if c.sim.world.spec(media) == nil {
			writeProblem(w, http.StatusBadRequest, fmt.Sprintf("media is one of %v, not %q", c.sim.world.names(), media))
			return
		}
	}
	if order.HoursKept != nil && *order.HoursKept < 0 {
		writeProblem(w, http.StatusBadRequest, "hours_kept_days is 0 or more")
		return
	}
	c.ordering.Lock()
	defer c.ordering.Unlock()
	if order.HoursKept != nil {
		c.sim.hoursKept.Store(*order.HoursKept)
	}
	c.sim.limits.change(order.Rules, order.Penalties)
	for media, on := range order.OldAccessSurvives {
		c.sim.vault.setOldAccessSurvives(media, on)
	}
	if err := c.save(); err != nil {
		writeProblem(w, http.StatusInternalServerError, err.Error())
		return
	}
	c.serveLimits(w, r)
}

func (c *control) serveFaults(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"faults": c.faults.all()})
}

// faultOrder is how a fault is ordered: the fields of an alteration stand beside the others.
type faultOrder struct {
	Kind       string  `json:"kind"`
	Media      string  `json:"media"`
	Endpoint   string  `json:"endpoint"`
	Account    string  `json:"account"`
	MS         int64   `json:"ms"`
	Status     int     `json:"status"`
	Count      int64   `json:"count"`
	Once       bool    `json:"once"`
	ForSeconds float64 `json:"for_seconds"`
	Token      string  `json:"token"`

	What        string `json:"what"`
	Seed        uint64 `json:"seed"`
	Of          string `json:"of"`
	Level       string `json:"level"`
	Granularity string `json:"granularity"`
	Day         string `json:"day"`
	Hour        *int   `json:"hour"`
	Object      string `json:"object"`
	Field       string `json:"field"`
}

func (c *control) orderFault(w http.ResponseWriter, r *http.Request) {
	var order faultOrder
	if !readOrder(w, r, &order) {
		return
	}
	f := Fault{
		Kind: order.Kind, Media: order.Media, Endpoint: endpointName(order.Endpoint), Account: order.Account, MS: order.MS,
		Status: order.Status, Count: order.Count, Once: order.Once, ForSeconds: order.ForSeconds, Token: order.Token,
	}
	if f.isOfField() {
		f.Field = order.Field // that of an alteration stands in it
	}
	if err := f.check(func(media string) bool { return c.sim.world.spec(media) != nil }); err != nil {
		writeProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	if f.Kind != FaultAlter && order.What+order.Of+order.Level+order.Granularity+order.Day+order.Object != "" || f.Kind != FaultAlter && !f.isOfField() && order.Field != "" {
		writeProblem(w, http.StatusBadRequest, "what, of, level, granularity, day, hour and object are for kind alter only, field for alter, retire_field and add_field")
		return
	}
	c.ordering.Lock()
	defer c.ordering.Unlock()
	switch f.Kind {
	case FaultAlter:
		x := &Alteration{
			What: order.What, Seed: order.Seed, Of: order.Of, Media: order.Media, Account: order.Account, Level: order.Level,
			Granularity: order.Granularity, Day: order.Day, Hour: order.Hour, Object: order.Object, Field: order.Field,
		}
		truth := view{now: c.sim.clock.Now().Unix(), corrections: c.sim.world.corrections}
		if err := chooseAlteration(c.sim.world, truth, x); err != nil {
			writeProblem(w, http.StatusBadRequest, err.Error())
			return
		}
		f.Media, f.Account, f.Alteration = x.Media, x.Account, x
	case FaultTokenDeath:
		if err := c.killTokens(f); err != nil {
			writeProblem(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	f = c.faults.add(f)
	c.faults.recompile(c.sim.world)
	c.keep(w, http.StatusCreated, f)
}

// killTokens ends the tokens of the login that reaches an account, or of all logins of a platform.
func (c *control) killTokens(f Fault) error {
	p := c.sim.world.spec(f.Media)
	var of *account
	if f.Account != "" {
		a, err := c.sim.world.named(f.Media, f.Account)
		if err != nil {
			return err
		}
		of = &a
	}
	now := c.sim.clock.Now().Unix()
	for _, l := range c.sim.vault.find(p, of) {
		if err := c.sim.vault.kill(l, f.Token == "pair", now); err != nil {
			return err
		}
	}
	return nil
}

// cancelFaults takes back one fault, or all.
func (c *control) cancelFaults(w http.ResponseWriter, r *http.Request) {
	c.ordering.Lock()
	defer c.ordering.Unlock()
	id := strings.TrimSpace(r.PathValue("id"))
	removed := c.faults.remove(id)
	if id != "" && removed == 0 {
		writeProblem(w, http.StatusNotFound, fmt.Sprintf("there is no fault %q", id))
		return
	}
	c.faults.recompile(c.sim.world)
	c.keep(w, http.StatusOK, map[string]int{"removed": removed})
}
