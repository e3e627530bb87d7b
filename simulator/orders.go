package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// orderCorrection changes the truth of some days of an account from now on.
func (s *Simulator) orderCorrection(w http.ResponseWriter, r *http.Request) {
	var order correction
	if !readOrder(w, r, &order) {
		return
	}
	s.ordering.Lock()
	defer s.ordering.Unlock()
	now := s.clock.Now().Unix()
	if order.At = cmp.Or(order.At, now); order.At < now {
		writeProblem(w, http.StatusBadRequest, fmt.Sprintf("at is in Unix seconds, now (%d) or later, not %d: what was published was published", now, order.At))
		return
	}
	if err := s.correct(order); err != nil {
		writeProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	s.keep(w, http.StatusOK, order)
}

func (s *Simulator) correct(x correction) error {
	a, err := s.world.named(x.Media, x.Account)
	if err != nil {
		return err
	}
	from, err := parseDay(x.From)
	if err != nil {
		return fmt.Errorf("from: %w", err)
	}
	to, err := parseDay(x.To)
	if err != nil {
		return fmt.Errorf("to: %w", err)
	}
	if to < from {
		return fmt.Errorf("to (%s) is before from (%s)", x.To, x.From)
	}
	if x.Percent < -100 || x.Percent > 1000 || x.Percent == 0 {
		return fmt.Errorf("percent is -100 to 1000 and not 0: %d", x.Percent)
	}
	days := correctedDays{from: from, to: to, percent: x.Percent, at: x.At}
	if x.Object != "" {
		if days.ad, err = strconv.ParseInt(x.Object, 10, 64); err != nil || days.ad <= 0 {
			return fmt.Errorf("object is the id of an ad, not %q", x.Object)
		}
	}
	s.corrections.add(&a, x, days)
	return nil
}

// limitView is what the limits call shows: the rules, and the switches of what platforms may or may not do.
type limitView struct {
	limitSettings
	OldAccessSurvives map[string]bool `json:"old_access_survives"`
	// HoursKept is for how many days Ocean Engine tells hours; older ones come as whole days. 0 is for ever.
	HoursKept int64 `json:"hours_kept_days"`
}

func (s *Simulator) serveLimits(w http.ResponseWriter, _ *http.Request) {
	v := limitView{s.limits.settings(), map[string]bool{}, s.hoursKept.Load()}
	for _, p := range s.world.specs {
		v.OldAccessSurvives[p.name] = s.vault.oldAccessSurvives(p.name)
	}
	writeJSON(w, http.StatusOK, v)
}

func (s *Simulator) orderLimits(w http.ResponseWriter, r *http.Request) {
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
		if err == nil && s.world.spec(rule.Media) == nil {
			err = fmt.Errorf("media is one of %v, not %q", s.world.names(), rule.Media)
		}
		if err != nil {
			writeProblem(w, http.StatusBadRequest, fmt.Sprintf("rule %d: %v", i+1, err))
			return
		}
	}
	for media := range order.OldAccessSurvives {
		if s.world.spec(media) == nil {
			writeProblem(w, http.StatusBadRequest, fmt.Sprintf("media is one of %v, not %q", s.world.names(), media))
			return
		}
	}
	if order.HoursKept != nil && *order.HoursKept < 0 {
		writeProblem(w, http.StatusBadRequest, "hours_kept_days is 0 or more")
		return
	}
	s.ordering.Lock()
	defer s.ordering.Unlock()
	if order.HoursKept != nil {
		s.hoursKept.Store(*order.HoursKept)
	}
	s.limits.change(order.Rules, order.Penalties)
	for media, on := range order.OldAccessSurvives {
		s.vault.setOldAccessSurvives(media, on)
	}
	if err := s.save(); err != nil {
		writeProblem(w, http.StatusInternalServerError, err.Error())
		return
	}
	s.serveLimits(w, r)
}

func (s *Simulator) serveFaults(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"faults": s.faults.all()})
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

func (s *Simulator) orderFault(w http.ResponseWriter, r *http.Request) {
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
	if err := f.check(func(media string) bool { return s.world.spec(media) != nil }); err != nil {
		writeProblem(w, http.StatusBadRequest, err.Error())
		return
	}
	if f.Kind != FaultAlter && order.What+order.Of+order.Level+order.Granularity+order.Day+order.Object != "" || f.Kind != FaultAlter && !f.isOfField() && order.Field != "" {
		writeProblem(w, http.StatusBadRequest, "what, of, level, granularity, day, hour and object are for kind alter only, field for alter, retire_field and add_field")
		return
	}
	s.ordering.Lock()
	defer s.ordering.Unlock()
	switch f.Kind {
	case FaultAlter:
		x := &Alteration{
			What: order.What, Seed: order.Seed, Of: order.Of, Media: order.Media, Account: order.Account, Level: order.Level,
			Granularity: order.Granularity, Day: order.Day, Hour: order.Hour, Object: order.Object, Field: order.Field,
		}
		truth := view{now: s.clock.Now().Unix(), corrections: s.corrections}
		if err := chooseAlteration(s.world, truth, x); err != nil {
			writeProblem(w, http.StatusBadRequest, err.Error())
			return
		}
		f.Media, f.Account, f.Alteration = x.Media, x.Account, x
	case FaultTokenDeath:
		if err := s.killTokens(f); err != nil {
			writeProblem(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	f = s.faults.add(f)
	s.recompile()
	s.keep(w, http.StatusCreated, f)
}

// killTokens ends the tokens of the login that reaches an account, or of all logins of a platform.
func (s *Simulator) killTokens(f Fault) error {
	p := s.world.spec(f.Media)
	var of *account
	if f.Account != "" {
		a, err := s.world.named(f.Media, f.Account)
		if err != nil {
			return err
		}
		of = &a
	}
	now := s.clock.Now().Unix()
	for _, l := range s.vault.find(p, of) {
		if err := s.vault.kill(l, f.Token == "pair", now); err != nil {
			return err
		}
	}
	return nil
}

// cancelFaults takes back one fault, or all.
func (s *Simulator) cancelFaults(w http.ResponseWriter, r *http.Request) {
	s.ordering.Lock()
	defer s.ordering.Unlock()
	id := strings.TrimSpace(r.PathValue("id"))
	removed := s.faults.remove(id)
	if id != "" && removed == 0 {
		writeProblem(w, http.StatusNotFound, fmt.Sprintf("there is no fault %q", id))
		return
	}
	s.recompile()
	s.keep(w, http.StatusOK, map[string]int{"removed": removed})
}
