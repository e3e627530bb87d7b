package control

import (
	"net/http"
	"slices"

	"adsync/simulator/fault/trap"
	"adsync/simulator/world"
)

// trapList are the traps that this world has now: of days of 23 or 25 hours it has none but in spring and autumn, and
// too much for one query a giant alone has.
func (c *control) trapList() []trap.Trap {
	missing := map[string]bool{trap.Catalogue[trap.OddDay].Name: !c.sim.World.HasOddDays(
		world.DayOf(c.sim.Clock.Now().Unix()))}
	for _, id := range []trap.ID{trap.BeyondPages, trap.RowsOverCap} {
		missing[trap.Catalogue[id].Name] = !slices.ContainsFunc(c.sim.World.Specs, func(p *world.Spec) bool {
			most, has := p.GiantTraps[id]
			return has && c.sim.World.Giant > most
		})
	}
	return slices.DeleteFunc(c.traps.All(), func(t trap.Trap) bool { return missing[t.Name] })
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
		WriteProblem(w, http.StatusBadRequest, "on is missing: true or false")
		return
	}
	if !c.traps.Turn(order.Name, *order.On) {
		WriteProblem(w, http.StatusBadRequest, "there is no trap \""+order.Name+"\": GET /_sim/traps lists them")
		return
	}
	c.serveTraps(w, r)
}

// serveMisled lists the latest queries whose figures are not as they were published, the oldest first.
func (c *control) serveMisled(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, c.traps.Misleadings())
}
