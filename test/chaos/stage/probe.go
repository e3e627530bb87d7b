package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"adsync/test/rig"
)

const (
	probeInterval = time.Second
	// answerTime is the longest time that any answer of the API may take, whatever is broken.
	answerTime = 8 * time.Second
)

// Probe sends every live process the requests that people make when something is wrong: is it alive, is it ready and
// if not why, its metrics, its tasks.
type Probe struct {
	instances []*Instance

	mu       sync.Mutex
	problems map[string]int
	Asked    int            // how many requests were sent
	Unready  map[string]int // the reasons that /readyz gave
}

// NewProbe returns a probe of some processes.
func NewProbe(instances []*Instance) *Probe {
	return &Probe{instances: instances, problems: map[string]int{}, Unready: map[string]int{}}
}

// Run sends requests until the context ends. Nothing else may read the figures until it returns.
func (p *Probe) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, i := range p.instances {
		wg.Go(func() {
			ticker := time.NewTicker(probeInterval)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				if i.Alive() {
					p.ask(ctx, i)
				}
			}
		})
	}
	wg.Wait()
}

func (p *Probe) ask(ctx context.Context, i *Instance) {
	paths := []string{"/healthz", "/readyz", "/metrics"}
	if i.Role == "producer" {
		paths = append(paths, "/api/v1/tasks")
	}
	for _, path := range paths {
		ask, cancel := context.WithTimeout(ctx, answerTime)
		status, body, err := rig.Get(ask, i.Api+path)
		cancel()
		if ctx.Err() != nil || !i.Alive() {
			return // The process was hurt while it answered.
		}
		p.note(i, path, status, body, err)
	}
}

// note judges an answer. Without the database a list of tasks may be refused, with a reason. A missing answer is never
// right.
func (p *Probe) note(i *Instance, path string, status int, body string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Asked++
	complain := func(format string, args ...any) { p.problems[fmt.Sprintf(format, args...)]++ }
	switch {
	case err != nil:
		complain("%s does not answer %s within %s", i.Name, path, answerTime)
	case path == "/readyz" && status == http.StatusServiceUnavailable:
		reasons := reasonsOf(body)
		if len(reasons) == 0 {
			complain("%s is not ready and gives no reason: %s", i.Name, body)
		}
		for _, r := range reasons {
			p.Unready[i.Name+" "+r]++
		}
	case status >= http.StatusInternalServerError && path == "/api/v1/tasks":
		if !strings.Contains(body, `"detail"`) {
			complain("%s answers %s with %d and no reason: %s", i.Name, path, status, body)
		}
	case status != http.StatusOK:
		complain("%s answers %s with %d: %s", i.Name, path, status, body)
	}
}

// reasonsOf returns which checks of a verdict of /readyz fail, and why.
func reasonsOf(body string) []string {
	var verdict struct {
		Phase  string `json:"phase"`
		Checks []struct {
			Name   string `json:"name"`
			OK     bool   `json:"ok"`
			Reason string `json:"reason"`
		} `json:"checks"`
	}
	if json.Unmarshal([]byte(body), &verdict) != nil {
		return nil
	}
	var reasons []string
	if verdict.Phase != "" && verdict.Phase != "serving" {
		reasons = append(reasons, verdict.Phase)
	}
	for _, c := range verdict.Checks {
		if !c.OK && c.Reason != "" {
			reasons = append(reasons, c.Name)
		}
	}
	return reasons
}

// Complaints returns the wrong answers. One missing answer is excused: the process may have been hurt at that moment.
func (p *Probe) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for text, n := range p.problems {
		if n > 1 {
			all = append(all, fmt.Sprintf("%s (%d times)", text, n))
		}
	}
	return all
}
