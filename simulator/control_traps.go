package simulator

import (
	"net/http"
	"slices"
)

// trapList are the traps that this world has now: of days of 23 or 25 hours it has none but in spring and autumn, and too much for
// one query a giant alone has.
func (c *control) trapList() []Trap {
	missing := map[string]bool{trapCatalogue[trapOddDay].name: !c.sim.world.hasOddDays(dayOf(c.sim.clock.Now().Unix()))}
	for _, id := range []trapID{trapBeyondPages, trapRowsOverCap} {
		missing[trapCatalogue[id].name] = !slices.ContainsFunc(c.sim.world.specs, func(p *spec) bool {
			most, has := p.giantTraps[id]
			return has && c.sim.world.giant > most
		})
	}
	return slices.DeleteFunc(c.traps.all(), func(t Trap) bool { return missing[t.Name] })
}

func (c *control) serveTraps(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, c.trapList())
}

// orderTraps sets a trap or takes it away, or all of them if none is named.
func (c *control) orderTraps(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Name string `json:"name"`
		On   *bool  `json:"on"`
	}
	if !readOrder(w, r, &order) {
		return
	}
	if order.On == nil {
		writeProblem(w, http.StatusBadRequest, "on is missing: true or false")
		return
	}
	if !c.traps.turn(order.Name, *order.On) {
		writeProblem(w, http.StatusBadRequest, "there is no trap \""+order.Name+"\": GET /_sim/traps lists them")
		return
	}
	c.serveTraps(w, r)
}

// serveMisled lists the latest queries whose figures are not as they were published, the oldest first.
func (c *control) serveMisled(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, c.traps.misleadings())
}
