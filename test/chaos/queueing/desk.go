package queueing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
	"adsync/test/services/local"
)

// desk is a running job queue: two processes, and their tables.
type desk struct {
	Trial
	name      string
	random    *rand.Rand
	instances []*stage.Instance
	queues    []string // http://host:port/api/NAMESPACE, by instance

	mu       sync.Mutex
	struck   map[string]int
	problems []judge.Problem
}

const (
	namespace = "chaos"
	// processes is how many serve the queue.
	processes = 2
)

// open creates the tables and starts the processes.
func (d *desk) open(ctx context.Context) (err error) {
	d.name = fmt.Sprintf("chaos_%d_%d", time.Now().UnixMilli(), d.Seed)
	if d.Dir, err = filepath.Abs(d.Dir); err != nil {
		return err
	}
	if err := d.Stack.CreateDatabases(ctx, d.name); err != nil {
		return err
	}
	for n, seat := range d.Stack.Seats[:processes] {
		// The proxies are the seat's.
		own := *seat
		own.Name, own.Role = fmt.Sprint("j", n+1), "jobs"
		i, address, err := d.install(&own)
		if err != nil {
			return err
		}
		if n == 0 {
			if _, err := rig.Run(ctx, d.Program, "migrate", "up", "--topics=false", "--config", i.Config); err != nil {
				return err
			}
		}
		d.instances = append(d.instances, i)
		d.queues = append(d.queues, "http://"+address+"/api/"+namespace)
		if err := i.Start(); err != nil {
			return err
		}
	}
	for _, i := range d.instances {
		if err := i.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// install writes the settings of a process.
func (d *desk) install(seat *stage.Seat) (i *stage.Instance, address string, err error) {
	var ports [3]int
	for n := range ports {
		if ports[n], err = d.Stack.Ports.Take(); err != nil {
			return nil, "", err
		}
	}
	i = &stage.Instance{Seat: seat, Program: d.Program, Config: filepath.Join(d.Dir, seat.Name+".yaml"),
		Api: "http://" + local.Loopback(ports[0]), Points: filepath.Join(d.Dir, "points", seat.Name), Logs: d.Dir}
	if err := os.MkdirAll(i.Points, 0o755); err != nil {
		return nil, "", err
	}
	databases := stage.Databases(d.name, stage.Root, seat.MariaDB.Addr())
	at := func(writer string) map[string]any { return map[string]any{"driver": "mysql", "writer": writer} }
	address = local.Loopback(ports[1])
	err = rig.WriteSettings(i.Config, map[string]any{
		"api": map[string]any{"listen": local.Loopback(ports[0])},
		"store": map[string]any{"config": at(databases.Config.Writer.Reveal()),
			"data": at(databases.Data.Writer.Reveal())},
		"redis": map[string]any{"addrs": []string{seat.Redis.Addr()}, "key_prefix": d.name, "read_timeout": "3s"},
		"jobs": map[string]any{"listen": address, "admin_listen": local.Loopback(ports[2]), "tokens": "none",
			"store": map[string]any{"driver": "mysql", "writer": databases.Data.Writer.Reveal()}},
	})
	return i, address, err
}

// repair lets everything run again.
func (d *desk) repair(ctx context.Context) error {
	for _, i := range d.instances {
		for _, point := range i.Armed() {
			i.Disarm(point)
		}
		i.Resume()
	}
	if err := d.Stack.Heal(ctx); err != nil {
		return err
	}
	for _, i := range d.instances {
		if err := i.Ensure(); err != nil {
			return err
		}
		if err := i.AwaitReady(ctx); err != nil {
			return err
		}
		if n := i.Before + len(i.Struck()); n > 0 {
			d.strike("fail points", n)
		}
		if n := i.Seat.Struck(); n > 0 {
			d.strike("connections", n)
		}
	}
	return nil
}

// drain waits until no queue has a job that is ready, delayed or claimed.
func (d *desk) drain(ctx context.Context, patience time.Duration) error {
	return rig.Await(ctx, patience, "all queues are empty", func(ctx context.Context) (bool, error) {
		var list struct {
			Queues []struct{ Ready, Waiting int64 }
		}
		status, text, err := rig.Get(ctx, d.queues[0])
		if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &list) != nil {
			return false, nil //nolint:nilerr // It is asked again.
		}
		left := int64(0)
		for _, q := range list.Queues {
			left += q.Ready + q.Waiting
		}
		return left == 0, nil
	})
}

// dead returns the ids of the dead letters.
func (d *desk) dead(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	for _, queue := range queueNames {
		for after := ""; ; {
			var page struct {
				Jobs []struct {
					JobID string `json:"job_id"`
				}
				Next string
			}
			path := d.queues[0] + "/" + queue + "/deadletter/jobs?after=" + after
			if err := rig.Send(ctx, http.MethodGet, path, nil, &page); err != nil {
				return nil, err
			}
			for _, j := range page.Jobs {
				all[j.JobID] = true
			}
			if after = page.Next; after == "" {
				break
			}
		}
	}
	return all, nil
}

// close ends the processes and removes what is on the servers.
func (d *desk) close(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, i := range d.instances {
		wg.Go(i.Close)
	}
	wg.Wait()
	return errors.Join(d.Stack.Heal(ctx), d.Stack.Forget(ctx, d.name))
}

func (d *desk) strike(what string, times int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.struck[what] += times
}

func (d *desk) tell(kind judge.Kind, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.problems = append(d.problems, judge.Problem{Kind: kind, Text: fmt.Sprintf(format, args...), At: time.Now()})
}

// between returns a random time.
func (d *desk) between(low, high time.Duration) time.Duration {
	return low + time.Duration(d.random.Int64N(int64(high-low)))
}

// any returns one of the processes.
func (d *desk) any() *stage.Instance { return d.instances[d.random.IntN(len(d.instances))] }

// striking reports whether a process has passed one of its armed fail points.
func striking(i *stage.Instance, point string) bool { return slices.Contains(i.Struck(), point) }
