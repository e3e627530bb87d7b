package control

import (
	"net/http"
	"slices"

	"adsync/simulator/fault/trap"
	"adsync/simulator/world"
)

// trapList returns the traps that this world can have now. Days of 23 or 25 hours exist only in spring and autumn,
// and only a giant has too many rows for one query.
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

// orderTraps switches a trap on or off, or all of them if none is named.
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
	if !c.traps.Set(order.Name, *order.On) {
		WriteProblem(w, http.StatusBadRequest, "no trap has the name \""+order.Name+"\": GET /_sim/traps lists them")
		return
	}
	c.serveTraps(w, r)
}

// serveMisled lists the latest queries with wrong figures, the oldest first.
func (c *control) serveMisled(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, c.traps.Misleadings())
}
