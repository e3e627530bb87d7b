package grant

import (
	"cmp"
	"math"
	"slices"
)

// claimant shares a limit with others: the calls of one importance to one endpoint of an app, in one process.
type claimant struct {
	process    string
	importance int
	group      string
}

// claim is how much a claimant wants, and how far it was served.
type claim struct {
	demand int   // calls within the horizon
	most   int   // how many of them its other limits allow, as last computed
	paid   int64 // the moment up to which it has had its share
	seen   int64 // when it last sent a request
}

func (c *claim) wants() float64 { return float64(min(c.demand, c.most)) }

// weight returns the weight of an importance: ten more weigh ten times as much. Spare calls weigh nothing.
func weight(importance int) float64 {
	if importance < 0 {
		return 0
	}
	importance = min(max(importance, 0), 100)
	w := 1.0
	for ; importance >= 10; importance -= 10 {
		w *= 10
	}
	return w * float64(10+9*importance) / 10
}

func claimOf(b *usage, now int64, who claimant) *claim {
	c := b.claims[who]
	if c == nil {
		c = &claim{most: math.MaxInt32, paid: now}
		b.claims[who] = c
	}
	return c
}

// class holds the claims of one weight.
type class struct{ weight, demand float64 }

func (c class) perWeight() float64 {
	if c.weight == 0 {
		return math.Inf(1)
	}
	return c.demand / c.weight
}

// share returns how many of all calls of the horizon a claimant may have next to what the others want, whatever it
// wants itself.
func (b *usage) share(me claimant, all float64) float64 {
	var classes []class
	mine := weight(me.importance)
	var peers []float64 // the demands in my class
	for who, c := range b.claims {
		w, demand := weight(who.importance), c.wants()
		if who == me {
			continue
		}
		if w == mine {
			peers = append(peers, demand)
			continue
		}
		i := slices.IndexFunc(classes, func(c class) bool { return c.weight == w })
		if i < 0 {
			classes = append(classes, class{weight: w})
			i = len(classes) - 1
		}
		classes[i].demand += demand
	}
	left, weights := all, mine
	slices.SortFunc(classes, func(a, b class) int { return cmp.Compare(a.weight, b.weight) })
	for _, c := range classes { // in a fixed order: sums of floats depend on it
		weights += c.weight
	}
	slices.SortFunc(classes, func(a, b class) int {
		return cmp.Or(cmp.Compare(a.perWeight(), b.perWeight()), cmp.Compare(a.weight, b.weight))
	})
	// This class wants more than all others. It gets what is left after the others.
	for _, c := range classes {
		part := min(c.demand, left*c.weight/weights)
		left -= part
		weights -= c.weight
	}
	slices.Sort(peers)
	for i, demand := range peers {
		left -= min(demand, left/float64(len(peers)+1-i))
	}
	return left
}

// demand returns how many calls all claimants want within the horizon.
func (b *usage) demand() int64 {
	all := int64(0)
	for _, c := range b.claims {
		all += int64(min(c.demand, c.most))
	}
	return all
}

// processes returns how many processes share the limit.
func (b *usage) processes() int64 {
	seen := map[string]bool{}
	for who := range b.claims {
		seen[who.process] = true
	}
	return int64(max(1, len(seen)))
}
