package standalone

import (
	"context"
	"net/http"
)

// trap is a way in which the simulated platforms mislead who believes them.
type trap struct {
	Name     string `json:"name"`
	What     string `json:"what"`
	Met      int64  `json:"met"`
	Survived string `json:"survived"` // what who is not misled does
}

// springTraps has the simulated platforms spring all the traps that they have.
func springTraps(ctx context.Context, address string) error {
	return postJSON(ctx, http.DefaultClient, address+"/_sim/traps", map[string]bool{"on": true})
}

// readTraps returns the traps of the world and how often they were met.
func readTraps(ctx context.Context, address string) (traps []trap, err error) {
	return traps, getJSON(ctx, http.DefaultClient, address+"/_sim/traps", &traps)
}
