package control

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"adsync/simulator/fault"
	"adsync/simulator/limit"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// orderCorrection changes the truth of some days of an account from now on.
func (c *control) orderCorrection(w http.ResponseWriter, r *http.Request) {
	var order world.Correction
	if !readOrder(w, r, &order) {
		return
	}
	c.ordering.Lock()
	defer c.ordering.Unlock()
	now := c.sim.Clock.Now().Unix()
	if order.At = cmp.Or(order.At, now); order.At < now {
		WriteProblem(w, http.StatusBadRequest,
			fmt.Sprintf("at must be in Unix seconds, now (%d) or later, not %d: published figures do not change", now, order.At))
		return
	}
	if err := c.sim.World.Correct(order); err != nil {
		WriteProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	c.keep(w, http.StatusOK, order)
}

// orderLife freezes or opens an account, revokes its login's permission, or wakes a sleeping account, whose ads run
// from now on.
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
	x := world.Life{Media: order.Media, Account: order.Account, State: order.State}
	if order.Wake {
		x.Woken = c.sim.Clock.Now().Unix()
	}
	x, err := c.sim.World.Live(x)
	if err != nil {
		WriteProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	c.keep(w, http.StatusOK, x)
}

func (c *control) serveLives(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"accounts": c.sim.World.Lives.All()})
}

// orderEdit changes an account's ads, from now or from a later moment on.
func (c *control) orderEdit(w http.ResponseWriter, r *http.Request) {
	var order world.AdEdit
	if !readOrder(w, r, &order) {
		return
	}
	c.ordering.Lock()
	defer c.ordering.Unlock()
	now := c.sim.Clock.Now().Unix()
	order.At = cmp.Or(order.At, now)
	if order.Shown = cmp.Or(order.Shown, order.At); order.Shown < max(order.At, now) {
		WriteProblem(w, http.StatusBadRequest,
			fmt.Sprintf("shown must be in Unix seconds, not before at (%d) nor now (%d), not %d: visible changes stay", order.At,
				now, order.Shown))
		return
	}
	if err := c.sim.World.Edit(order); err != nil {
		WriteProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	c.keep(w, http.StatusOK, order)
}

// limitView is the answer of the limits call: the rules, and the switches of optional behaviour of platforms.
type limitView struct {
	limit.Settings
	OldAccessSurvives map[string]bool `json:"old_access_survives"`
	// HoursKept is for how many days platforms that drop old hours serve them; older hours become whole days. 0 is no
	// limit.
	HoursKept int64 `json:"hours_kept_days"`
	// Assumed is behaviour that the platforms' documents do not state, by platform and name.
	Assumed map[string]map[string]int64 `json:"assumed"`
	// Shared lists the platforms where calls of all endpoints count against the rule for "*" together.
	Shared []string `json:"shared"`
}

func (c *control) serveLimits(w http.ResponseWriter, _ *http.Request) {
	v := limitView{c.sim.Limits.Settings(), map[string]bool{}, c.sim.HoursKept.Load(),
		c.sim.Assumed.All(), []string{}}
	for _, p := range c.sim.World.Specs {
		if p.SharedLimits {
			v.Shared = append(v.Shared, p.Name)
		}
		v.OldAccessSurvives[p.Name] = c.sim.Vault.OldAccessSurvives(p.Name)
	}
	writeJSON(w, http.StatusOK, v)
}

func (c *control) orderLimits(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Rules             []limit.Rule    `json:"rules"`
		Penalties         *bool           `json:"penalties"`
		OldAccessSurvives map[string]bool `json:"old_access_survives"`
		HoursKept         *int64          `json:"hours_kept_days"`

		Assumed map[string]map[string]int64 `json:"assumed"`
	}
	if !readOrder(w, r, &order) {
		return
	}
	for i, rule := range order.Rules {
		if rule.Endpoint != "*" {
			order.Rules[i].Endpoint = platform.EndpointName(rule.Endpoint)
		}
		err := order.Rules[i].Check()
		if err == nil && c.sim.World.Spec(rule.Media) == nil {
			err = fmt.Errorf("media must be one of %v, not %q", c.sim.World.Names(), rule.Media)
		}
		if err != nil {
			WriteProblem(w, http.StatusBadRequest, fmt.Sprintf("rule %d: %v", i+1, err))
			return
		}
	}
	for media := range order.OldAccessSurvives {
		if c.sim.World.Spec(media) == nil {
			WriteProblem(w, http.StatusBadRequest, fmt.Sprintf("media must be one of %v, not %q", c.sim.World.Names(), media))
			return
		}
	}
	if order.HoursKept != nil && *order.HoursKept < 0 {
		WriteProblem(w, http.StatusBadRequest, "hours_kept_days must be 0 or more")
		return
	}
	if err := c.sim.Assumed.Check(order.Assumed); err != nil {
		WriteProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	c.ordering.Lock()
	defer c.ordering.Unlock()
	c.sim.Assumed.Set(order.Assumed)
	if order.HoursKept != nil {
		c.sim.HoursKept.Store(*order.HoursKept)
	}
	c.sim.Limits.Change(order.Rules, order.Penalties)
	for media, on := range order.OldAccessSurvives {
		c.sim.Vault.SetOldAccessSurvives(media, on)
	}
	if err := c.save(); err != nil {
		WriteProblem(w, http.StatusInternalServerError, err.Error())
		return
	}
	c.serveLimits(w, r)
}

func (c *control) serveFaults(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"faults": c.faults.All()})
}

// faultOrder is the order of a fault: the fields of an alteration are next to the others.
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
	f := fault.Fault{
		Kind: order.Kind, Media: order.Media, Endpoint: platform.EndpointName(order.Endpoint), Account: order.Account,
		MS:     order.MS,
		Status: order.Status, Count: order.Count, Once: order.Once, ForSeconds: order.ForSeconds, Token: order.Token,
	}
	if f.IsOfField() {
		f.Field = order.Field // an alteration has its own Field
	}
	if err := f.Check(func(media string) bool { return c.sim.World.Spec(media) != nil }); err != nil {
		WriteProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	if f.Kind != fault.Alter && order.What+order.Of+order.Level+order.Granularity+order.Day+order.Object != "" ||
		f.Kind != fault.Alter && !f.IsOfField() && order.Field != "" {
		WriteProblem(w, http.StatusBadRequest,
			"what, of, level, granularity, day, hour and object are for kind alter only, field for alter, retire_field and "+
				"add_field")
		return
	}
	c.ordering.Lock()
	defer c.ordering.Unlock()
	switch f.Kind {
	case fault.Alter:
		x := &fault.Alteration{
			What: order.What, Seed: order.Seed, Of: order.Of, Media: order.Media, Account: order.Account, Level: order.Level,
			Granularity: order.Granularity, Day: order.Day, Hour: order.Hour, Object: order.Object, Field: order.Field,
		}
		truth := world.View{Now: c.sim.Clock.Now().Unix(), Corrections: c.sim.World.Corrections}
		if err := fault.ChooseAlteration(c.sim.World, truth, x); err != nil {
			WriteProblem(w, http.StatusBadRequest, err.Error())
			return
		}
		f.Media, f.Account, f.Alteration = x.Media, x.Account, x
	case fault.TokenDeath:
		if err := c.killTokens(f); err != nil {
			WriteProblem(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	f = c.faults.Add(f)
	c.faults.Recompile(c.sim.World)
	c.keep(w, http.StatusCreated, f)
}

// killTokens ends the tokens of the login that reaches an account, or of all logins of a platform.
func (c *control) killTokens(f fault.Fault) error {
	p := c.sim.World.Spec(f.Media)
	var of *world.Account
	if f.Account != "" {
		a, err := c.sim.World.Named(f.Media, f.Account)
		if err != nil {
			return err
		}
		of = &a
	}
	now := c.sim.Clock.Now().Unix()
	for _, l := range c.sim.Vault.Find(p, of) {
		if err := c.sim.Vault.Kill(l, f.Token == "pair", now); err != nil {
			return err
		}
	}
	return nil
}

// cancelFaults removes one fault, or all.
func (c *control) cancelFaults(w http.ResponseWriter, r *http.Request) {
	c.ordering.Lock()
	defer c.ordering.Unlock()
	id := strings.TrimSpace(r.PathValue("id"))
	removed := c.faults.Remove(id)
	if id != "" && removed == 0 {
		WriteProblem(w, http.StatusNotFound, fmt.Sprintf("no fault has id %q", id))
		return
	}
	c.faults.Recompile(c.sim.World)
	c.keep(w, http.StatusOK, map[string]int{"removed": removed})
}
