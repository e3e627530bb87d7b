// Package roster lists the running consumers, and the state of their pools.
//
// Each process reports itself every few seconds, in Redis. A report older than Life is not used: its process has
// ended, or is cut off. Only the display to users depends on it.
package roster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/redis"
)

const (
	// Interval is how often a process should report itself.
	Interval = 5 * time.Second
	// Life is how long a report is used. It allows for two missed reports.
	Life = 3 * Interval
	// forgetAfter is the age at which a report is deleted. It is long, so that a report that is being renewed is not
	// deleted.
	forgetAfter = 10 * time.Minute
)

// Process is the report of a consumer.
type Process struct {
	ID        string    `json:"id"`   // of this process alone
	Node      string    `json:"node"` // as the subtasks' rows name it
	Version   string    `json:"version"`
	Commit    string    `json:"commit"`
	StartedAt time.Time `json:"started_at"`
	Pools     []Pool    `json:"pools"`
	// Kinds are the kinds of work that it knows, sorted; nil from a release that does not report them.
	Kinds []string `json:"kinds,omitempty"`
	// Slow are the endpoints that answered it slowly within the last minute or two.
	Slow []Slow `json:"slow,omitempty"`
	// Age is the age of the report, by Redis's clock. It is not reported, but computed by List.
	Age time.Duration `json:"-"`
}

// Serves reports whether a process works on a kind of work that travels on a lane of a platform. One that does not
// report its kinds counts as knowing all.
func (p Process) Serves(kind, media, lane string) bool {
	_, known := slices.BinarySearch(p.Kinds, kind)
	return (known || p.Kinds == nil) &&
		slices.ContainsFunc(p.Pools, func(q Pool) bool { return q.Media == media && q.Lane == lane })
}

// Pool is a process's work on one lane of one platform.
type Pool struct {
	Media    string `json:"media"`
	Lane     string `json:"lane"`
	Running  int    `json:"running"`  // subtasks in progress
	Capacity int    `json:"capacity"` // the maximum, without those that wait for a call limit
	Limited  int    `json:"limited"`  // of Running, those that wait for a call limit
	// Partitions are those of the lane's topic that the process was given.
	Partitions []int `json:"partitions"`
	Careful    int   `json:"careful"` // of Partitions, those whose messages are processed one by one
}

// Slow is an endpoint of a platform that was slow for a process.
type Slow struct {
	Media    string  `json:"media"`
	Endpoint string  `json:"endpoint"`
	Calls    int     `json:"calls"`
	Slow     int     `json:"slow"`    // of Calls
	Seconds  float64 `json:"seconds"` // mean duration of a slow one
	// Accounts are our ids of some of those whose calls were slow.
	Accounts []string `json:"accounts,omitempty"`
}

// Roster holds the reports of the processes with the same keys. It is safe for concurrent use.
type Roster struct {
	client goredis.UniversalClient
	key    string
}

// New returns the roster of a deployment.
func New(client goredis.UniversalClient, keys redis.Keys) *Roster {
	return &Roster{client: client, key: keys.Of("roster", "consumers")}
}

// entry is a process with the time of its report, by Redis's clock, in milliseconds.
type entry struct {
	At int64 `json:"at"`
	Process
}

// Report stores the report of a process.
func (r *Roster) Report(ctx context.Context, p Process) error {
	now, err := redis.TimeOf(ctx, r.client, r.key)
	if err != nil {
		return fmt.Errorf("report consumer %s: %w", p.ID, err)
	}
	text, err := json.Marshal(entry{At: now.UnixMilli(), Process: p})
	if err != nil {
		return fmt.Errorf("report consumer %s: %w", p.ID, err)
	}
	_, err = r.client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
		pipe.HSet(ctx, r.key, p.ID, text)
		pipe.PExpire(ctx, r.key, forgetAfter)
		return nil
	})
	if err != nil {
		return fmt.Errorf("report consumer %s: %w", p.ID, err)
	}
	return nil
}

// Leave removes the report of a process that ends.
func (r *Roster) Leave(ctx context.Context, id string) error {
	if err := r.client.HDel(ctx, r.key, id).Err(); err != nil {
		return fmt.Errorf("remove consumer %s: %w", id, err)
	}
	return nil
}

// List returns the running processes, by node.
func (r *Roster) List(ctx context.Context) ([]Process, error) {
	all, err := r.client.HGetAll(ctx, r.key).Result()
	if err != nil {
		return nil, fmt.Errorf("list the consumers: %w", err)
	}
	now, err := redis.TimeOf(ctx, r.client, r.key)
	if err != nil {
		return nil, fmt.Errorf("list the consumers: %w", err)
	}
	living := []Process{}
	var dead []string
	for id, text := range all {
		var s entry
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			continue // A later release has another format.
		}
		switch s.Age = max(now.Sub(time.UnixMilli(s.At)), 0).Truncate(time.Millisecond); {
		case s.Age <= Life:
			living = append(living, s.Process)
		case s.Age > forgetAfter:
			dead = append(dead, id)
		}
	}
	if len(dead) > 0 {
		if err := r.client.HDel(ctx, r.key, dead...).Err(); err != nil {
			return nil, fmt.Errorf("remove old consumers: %w", err)
		}
	}
	slices.SortFunc(living, func(a, b Process) int { return strings.Compare(a.ID, b.ID) })
	return living, nil
}
