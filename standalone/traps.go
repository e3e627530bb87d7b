package standalone

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// trap is a way in which the simulated platforms mislead who believes them.
type trap struct {
	Name     string `json:"name"`
	What     string `json:"what"`
	Met      int64  `json:"met"`
	Survived string `json:"survived"` // what who is not misled does
}

// springTraps has the simulated platforms spring all the traps that they have. A simulator without any is none the worse for it.
func springTraps(ctx context.Context, address string) error {
	_, err := askTraps(ctx, http.MethodPost, address, `{"on":true}`)
	return err
}

// readTraps returns the traps of the world and how often they were met; none if the simulator has none.
func readTraps(ctx context.Context, address string) ([]trap, error) {
	return askTraps(ctx, http.MethodGet, address, "")
}

func askTraps(ctx context.Context, method, address, body string) ([]trap, error) {
	req, err := http.NewRequestWithContext(ctx, method, address+"/_sim/traps", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the simulator for its traps: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the simulator for its traps: %s", resp.Status)
	}
	var traps []trap
	if err := json.NewDecoder(resp.Body).Decode(&traps); err != nil {
		return nil, fmt.Errorf("read the simulator's traps: %w", err)
	}
	return traps, nil
}
