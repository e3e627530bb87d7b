package outside

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"adsync/test/chaos/judge"
	"adsync/test/chaos/queueing"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
	"adsync/test/services/local"
)

// The roles of processes.
const (
	producer = "producer"
	consumer = "consumer"
	server   = "jobs"
)

// desk is a running deployment: two producers, two consumers and two servers of jobs.
type desk struct {
	queueing.Trial
	name      string
	random    *rand.Rand
	world     *stage.World
	db        *sql.DB // the data database, not through a proxy of a process
	instances []*stage.Instance
	queues    []string // http://host:port/api/NAMESPACE, by server of jobs

	mu       sync.Mutex
	struck   map[string]int
	problems []judge.Problem
}

const namespace = "warehouse"

// taskNames are the tasks, each with a queue of its name.
var taskNames = []string{"sales", "stock", "costs"}

// open creates the tables and the tasks and starts the processes.
func (d *desk) open(ctx context.Context) (err error) {
	d.name = fmt.Sprintf("chaos_%d_%d", time.Now().UnixMilli(), d.Seed)
	if d.Dir, err = filepath.Abs(d.Dir); err != nil {
		return err
	}
	if err := d.Stack.CreateDatabases(ctx, d.name); err != nil {
		return err
	}
	// No platform is called, but a deployment is made with one.
	if d.world, err = stage.StartWorld(ctx, d.Program, d.Dir, d.Stack, d.Seed, stage.UsualSpeed); err != nil {
		return err
	}
	all, err := d.Stack.Install(ctx, d.Program, d.Dir, d.name, d.world.Address, stage.Settings(d.name), nil)
	if err != nil {
		return err
	}
	// The last consumer's seat, and that of another, are those of the servers of jobs.
	d.instances = all[:len(all)-1]
	for n, seat := range d.Stack.Seats[len(d.Stack.Seats)-2:] {
		i, err := d.install(n, seat)
		if err != nil {
			return err
		}
		d.instances = append(d.instances, i)
	}
	if d.db, err = sql.Open("mysql", d.Stack.DSN()+stage.Database(d.name, "data")+"?parseTime=true"); err != nil {
		return err
	}
	if err := d.putTasks(ctx); err != nil {
		return err
	}
	for _, i := range d.instances {
		if err := i.Start(); err != nil {
			return err
		}
	}
	return d.ready(ctx)
}

// install writes the settings of a server of jobs, which uses the proxies of a seat.
func (d *desk) install(n int, seat *stage.Seat) (i *stage.Instance, err error) {
	own := *seat
	own.Name, own.Role = fmt.Sprint("j", n+1), server
	var ports [3]int
	for n := range ports {
		if ports[n], err = d.Stack.Ports.Take(); err != nil {
			return nil, err
		}
	}
	i = &stage.Instance{Seat: &own, Program: d.Program, Config: filepath.Join(d.Dir, own.Name+".yaml"),
		Api: "http://" + local.Loopback(ports[0]), Points: filepath.Join(d.Dir, "points", own.Name), Logs: d.Dir}
	if err := os.MkdirAll(i.Points, 0o755); err != nil {
		return nil, err
	}
	databases := stage.Databases(d.name, stage.Root, seat.MariaDB.Addr())
	at := func(writer string) map[string]any { return map[string]any{"driver": "mysql", "writer": writer} }
	d.queues = append(d.queues, "http://"+local.Loopback(ports[1])+"/api/"+namespace)
	return i, rig.WriteSettings(i.Config, map[string]any{
		"api": map[string]any{"listen": local.Loopback(ports[0])},
		"store": map[string]any{"config": at(databases.Config.Writer.Reveal()),
			"data": at(databases.Data.Writer.Reveal())},
		"redis": map[string]any{"addrs": []string{seat.Redis.Addr()}, "key_prefix": d.name, "read_timeout": "3s"},
		"jobs": map[string]any{"listen": local.Loopback(ports[1]), "admin_listen": local.Loopback(ports[2]),
			"tokens": "none"},
	})
}

// putTasks switches the default tasks off and writes those of the workers, which run by order only.
func (d *desk) putTasks(ctx context.Context) error {
	config := stage.Database(d.name, "config")
	_, err := d.db.ExecContext(ctx, "UPDATE "+config+".cron_task SET enabled = 0, revision = revision + 1")
	if err != nil {
		return err
	}
	_, month, today := time.Now().AddDate(0, 6, 0).Date()
	for _, name := range taskNames {
		params, err := json.Marshal(map[string]any{"namespace": namespace, "queue": name, "ttr": int(ttr.Seconds())})
		if err != nil {
			return err
		}
		_, err = d.db.ExecContext(ctx, "INSERT INTO "+config+`.cron_task
  (name, media, handler, cron, timezone, lane, scope, params, timeout_seconds, retry_max, retry_base_seconds, catch_up)
VALUES (?, 'system', 'system.external', ?, 'UTC', 'normal', 'all', ?, 20, 30, 1, 'all')`, name,
			fmt.Sprintf("0 0 %d %d *", min(today, 28), month), string(params))
		if err != nil {
			return err
		}
	}
	return nil
}

// ready waits until all processes work.
func (d *desk) ready(ctx context.Context) error {
	for _, i := range d.instances {
		if err := i.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// of returns the instances of a role.
func (d *desk) of(role string) []*stage.Instance {
	return slices.DeleteFunc(slices.Clone(d.instances), func(i *stage.Instance) bool { return i.Role != role })
}

// withdraw deletes the ready jobs of the queues, as people do.
func (d *desk) withdraw(ctx context.Context, h *history) error {
	h.deletes()
	for _, name := range taskNames {
		if err := rig.Send(ctx, http.MethodDelete, d.queues[0]+"/"+name, nil, nil); err != nil {
			return err
		}
		d.strike("queues emptied", 1)
	}
	return nil
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
		if n := i.Before + len(i.Struck()); n > 0 {
			d.strike("fail points", n)
		}
	}
	return d.ready(ctx)
}

// close ends the processes and removes what is on the servers.
func (d *desk) close(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, i := range d.instances {
		wg.Go(i.Close)
	}
	wg.Wait()
	if d.world != nil && d.world.Process != nil {
		_ = d.world.Process.Stop(0)
	}
	if d.db != nil {
		_ = d.db.Close()
	}
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

// orders orders runs of the tasks from time to time.
type orders struct {
	d        *desk
	random   *rand.Rand
	cancel   context.CancelFunc
	done     sync.WaitGroup
	accepted map[int64][]string // the parts of orders that were accepted, by run
}

const (
	orderEvery = 2 * time.Second
	partsMost  = 10
)

func newOrders(d *desk) *orders {
	return &orders{d: d, random: rand.New(rand.NewPCG(uint64(d.Seed), 1)), accepted: map[int64][]string{}}
}

func (o *orders) start(ctx context.Context) {
	ctx, o.cancel = context.WithCancel(ctx)
	o.done.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			// The end must not hide an answer.
			o.order(context.WithoutCancel(ctx), n)
			_ = wait(ctx, orderEvery/2+time.Duration(o.random.Int64N(int64(orderEvery))))
		}
	})
}

func (o *orders) stop() {
	o.cancel()
	o.done.Wait()
}

// order orders a run of parts of its own. A process that is being killed may refuse it.
func (o *orders) order(ctx context.Context, n int) {
	parts := make([]string, 1+o.random.IntN(partsMost))
	for i := range parts {
		parts[i] = fmt.Sprintf("%d-%d", n, i)
	}
	var answer struct {
		RunID string `json:"run_id"`
	}
	all := o.d.of(producer)
	err := rig.Send(ctx, http.MethodPost, all[o.random.IntN(len(all))].Api+"/api/v1/tasks/"+
		taskNames[o.random.IntN(len(taskNames))]+"/run", map[string]any{"scope": "all",
		"params": map[string]any{"parts": parts, "params": map[string]any{"order": n}}}, &answer)
	if err != nil {
		o.d.Log("order %d: %v", n, err)
		return
	}
	if run, err := strconv.ParseInt(answer.RunID, 10, 64); err == nil {
		o.accepted[run] = parts
	}
}
