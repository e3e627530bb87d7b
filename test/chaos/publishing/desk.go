package publishing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"adsync/base/day"
	"adsync/base/store"
	"adsync/base/store/publishing"
	"adsync/publish"
	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

// desk is a running adsync that makes files: its tables, a destination of each kind, and the processes.
type desk struct {
	Trial
	name      string
	random    *rand.Rand
	world     *stage.World
	instances []*stage.Instance
	store     *store.Store // a look at the tables, not through a proxy
	shelves   map[string]*shelf
	last      day.Day // the day of the next order

	mu       sync.Mutex
	struck   map[string]int
	problems []judge.Problem
	known    map[string]map[string]bool // the SHA-256 sums that a file's rows have had, by destination and name
}

// query gives the rows of a file. The judge writes the same rows in its own way.
const query = "SELECT day, account_id, cost FROM report_daily_account WHERE day = :day " +
	"ORDER BY day, account_id, level, object_id"

// open creates the tables, the destinations and the subscriptions, and starts the processes. Close the desk also after
// an error.
func open(ctx context.Context, t Trial, s *Scenario) (*desk, error) {
	d := &desk{Trial: t, name: fmt.Sprintf("chaos_%d_%d", time.Now().UnixMilli(), t.Seed),
		random: rand.New(rand.NewPCG(uint64(t.Seed), 0)), shelves: map[string]*shelf{}, struck: map[string]int{},
		known: map[string]map[string]bool{}}
	var err error
	if d.Dir, err = filepath.Abs(t.Dir); err != nil {
		return d, err
	}
	if err := d.Stack.CreateDatabases(ctx, d.name); err != nil {
		return d, err
	}
	if d.world, err = stage.StartWorld(ctx, t.Program, d.Dir, t.Stack, t.Seed, stage.UsualSpeed); err != nil {
		return d, err
	}
	d.instances, err = d.Stack.Install(ctx, t.Program, d.Dir, d.name, d.world.Address, stage.Settings(d.name),
		func(seat *stage.Seat) map[string]any {
			// Each process has the directory of a machine of its own.
			return map[string]any{"files": map[string]any{"dir": filepath.Join(d.Dir, "parts", seat.Name)}}
		})
	if err != nil {
		return d, err
	}
	if d.store, err = store.Open(ctx, stage.Databases(d.name, stage.Root, t.Stack.Tables.Addr()),
		slog.New(slog.DiscardHandler)); err != nil {
		return d, err
	}
	now, err := t.Stack.Now(ctx)
	if err != nil {
		return d, err
	}
	d.last = day.Of(now, time.UTC).Add(-2)
	config := d.store.Config.Writer(ctx)
	if err := errors.Join(
		config.Exec("UPDATE cron_task SET enabled = 0, revision = revision + 1 WHERE name <> ?", publish.FilesName).Error,
		config.Exec("UPDATE cron_task SET cron = '*/2 * * * * *', timeout_seconds = ?, retry_max = 30, "+
			"retry_base_seconds = 1, revision = revision + 1 WHERE name = ?", int(s.deadline().Seconds()),
			publish.FilesName).Error,
	); err != nil {
		return d, err
	}
	for _, i := range d.instances {
		if err := i.Start(); err != nil {
			return d, err
		}
	}
	if err := d.ready(ctx); err != nil {
		return d, err
	}
	return d, d.openShelves(ctx)
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

func (d *desk) openShelves(ctx context.Context) error {
	for _, kind := range slices.Concat([]string{onDir}, served) {
		s, err := openShelf(ctx, kind, filepath.Join(d.Dir, "shelves", kind), d.Stack.Ports)
		if err != nil {
			return err
		}
		d.shelves[kind] = s
		if err := d.send(ctx, http.MethodPut, "/destinations/"+kind, s.row); err != nil {
			return err
		}
		if err := d.send(ctx, http.MethodPut, "/subscriptions/"+kind, map[string]any{
			"query": query, "format": map[string]any{"format": "csv"}, "path": "{day}/{subscription}{ext}",
			"destination": kind, "cron": "0 0 1 1 *",
		}); err != nil {
			return err
		}
	}
	return nil
}

// send sends a request to a producer.
func (d *desk) send(ctx context.Context, method, path string, body any) error {
	producers := d.of("producer")
	return rig.Send(ctx, method, producers[d.random.IntN(len(producers))].Api+"/api/v1"+path, body, nil)
}

// of returns the instances of a role.
func (d *desk) of(role string) []*stage.Instance {
	return slices.DeleteFunc(slices.Clone(d.instances), func(i *stage.Instance) bool { return i.Role != role })
}

// others returns the consumers but one.
func (d *desk) others(but *stage.Instance) []*stage.Instance {
	return slices.DeleteFunc(d.of("consumer"), func(i *stage.Instance) bool { return i == but })
}

// close ends the processes and the destinations, and removes what is on the servers.
func (d *desk) close(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, i := range d.instances {
		wg.Go(i.Close)
	}
	wg.Wait()
	if d.world != nil && d.world.Process != nil {
		_ = d.world.Process.Stop(0)
	}
	for _, s := range d.shelves {
		s.close()
	}
	var err error
	if d.store != nil {
		err = d.store.Close()
	}
	return errors.Join(err, d.Stack.Forget(ctx, d.name))
}

func (d *desk) strike(what string, times int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.struck[what] += times
}

func (d *desk) tell(kind judge.Kind, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	if !slices.ContainsFunc(d.problems, func(p judge.Problem) bool { return p.Text == text }) {
		d.problems = append(d.problems, judge.Problem{Kind: kind, Text: text, At: time.Now()})
	}
}

// usualRows is how many rows a day has, unless a scenario needs more.
const usualRows = 3000

// fresh returns a day with figures of which nothing was ordered.
func (d *desk) fresh(ctx context.Context, rows int) (day.Day, error) {
	on := d.last
	d.last = on.Add(-1)
	return on, d.store.Data.Writer(ctx).Exec(fmt.Sprintf("INSERT INTO report_daily "+
		"(day, account_id, level, object_id, media, currency, day_zone, cost, version, updated_at) "+
		"SELECT ?, seq, 'account', '', 'tulip', 'CNY', 'UTC', %d + seq, 1, UTC_TIMESTAMP(3) FROM seq_1_to_%d",
		10*figureStep, rows), on).Error
}

// figureStep is the difference between two versions of a day's figures: each row's cost is its account's id and a
// multiple of this, the same in all rows.
const figureStep = 1_000_000

// revise changes all figures of a day in one transaction. All versions of a day have files of the same size.
func (d *desk) revise(ctx context.Context, on day.Day) error {
	return d.store.Data.Writer(ctx).Exec("UPDATE report_daily SET cost = CASE WHEN cost < ? THEN cost + ? "+
		"ELSE cost - ? END WHERE day = ?", 90*figureStep, figureStep, 80*figureStep, on).Error
}

// order orders the next revision of a file.
func (d *desk) order(ctx context.Context, kind string, on day.Day) error {
	return d.send(ctx, http.MethodPost, "/subscriptions/"+kind+"/publications", map[string]any{"from": on, "to": on})
}

// file returns the row of a revision, and false if there is none.
func (d *desk) file(ctx context.Context, kind string, on day.Day, revision int) (publishing.Publication, bool, error) {
	all, err := d.store.FilesOfPeriods(ctx, kind, string(on), string(on))
	for i := range all {
		if all[i].Revision == revision {
			return all[i], true, err
		}
	}
	return publishing.Publication{}, false, err
}

// awaitFile waits until a condition is true for a revision.
func (d *desk) awaitFile(ctx context.Context, kind string, on day.Day, revision int, what string,
	is func(publishing.Publication) bool) error {
	return rig.Await(ctx, stage.Patience, fmt.Sprintf("%s/%s/r%d is %s", kind, on, revision, what),
		func(ctx context.Context) (bool, error) {
			p, found, err := d.file(ctx, kind, on, revision)
			return found && is(p), err
		})
}

func (d *desk) awaitPublished(ctx context.Context, kind string, on day.Day, revision int) error {
	return d.awaitFile(ctx, kind, on, revision, "published",
		func(p publishing.Publication) bool { return p.State == publishing.Published })
}

// deliver orders a file and waits until it is published.
func (d *desk) deliver(ctx context.Context, kind string, on day.Day, revision int) error {
	if err := d.order(ctx, kind, on); err != nil {
		return err
	}
	return d.awaitPublished(ctx, kind, on, revision)
}

// arm arms a point in some consumers.
func arm(point, act string, among []*stage.Instance) error {
	for _, i := range among {
		i.ForgetStruck()
		if err := i.Arm(point, act); err != nil {
			return err
		}
	}
	return nil
}

// armAny arms a point in some consumers, and waits until it strikes in one.
func (d *desk) armAny(ctx context.Context, point, act string, among []*stage.Instance) (*stage.Instance, error) {
	if err := arm(point, act, among); err != nil {
		return nil, err
	}
	return d.awaitPoint(ctx, point, among)
}

// awaitPoint waits until a point strikes in one of some consumers, and disarms it in the others.
func (d *desk) awaitPoint(ctx context.Context, point string, among []*stage.Instance) (found *stage.Instance,
	err error) {
	err = rig.Await(ctx, stage.Patience, "the fail point "+point+" strikes", func(context.Context) (bool, error) {
		for _, i := range among {
			if slices.Contains(i.Struck(), point) {
				found = i
			}
		}
		return found != nil, nil
	})
	for _, i := range among {
		i.Disarm(point)
	}
	if err == nil {
		d.strike(point, 1)
		d.Log("%s struck in %s", point, found.Name)
	}
	return found, err
}

// orderAt orders a file, and waits until the consumer that makes it has met an act at a point.
func (d *desk) orderAt(ctx context.Context, kind string, on day.Day, point, act string) (*stage.Instance, error) {
	all := d.of("consumer")
	if err := errors.Join(arm(point, act, all), d.order(ctx, kind, on)); err != nil {
		return nil, err
	}
	return d.awaitPoint(ctx, point, all)
}

// hurry ends all waits: of subtasks, for the next look at a destination that cannot be used, and for the new order of
// an open file whose subtask has ended, which comes when the file did not change for 15 minutes.
func (d *desk) hurry(ctx context.Context) error {
	data := d.store.Data.Writer(ctx)
	return errors.Join(
		data.Exec("UPDATE subtask_due SET due_at = UTC_TIMESTAMP(3) WHERE due_at > UTC_TIMESTAMP(3)").Error,
		data.Exec("UPDATE destination_state SET probe_at = UTC_TIMESTAMP(3) WHERE probe_at > UTC_TIMESTAMP(3)").Error,
		data.Exec("UPDATE publication SET updated_at = UTC_TIMESTAMP(3) - INTERVAL 15 MINUTE "+
			"WHERE updated_at > UTC_TIMESTAMP(3) - INTERVAL 15 MINUTE").Error,
	)
}

// repair ends all faults, and brings back processes that are down or held.
func (d *desk) repair(ctx context.Context) error {
	for _, s := range d.shelves {
		s.faults.end()
	}
	for _, i := range d.instances {
		for _, point := range i.Armed() {
			i.Disarm(point)
		}
		i.Resume()
		if err := i.Ensure(); err != nil {
			return err
		}
	}
	return d.ready(ctx)
}

// settle waits until no file is open. It ends their waits.
func (d *desk) settle(ctx context.Context) error {
	hurried := time.Time{}
	return rig.Await(ctx, d.Patience, "no file is open", func(ctx context.Context) (bool, error) {
		if time.Since(hurried) > 3*time.Second {
			if err := d.hurry(ctx); err != nil {
				return false, err
			}
			hurried = time.Now()
		}
		all, err := d.rows(ctx)
		return err == nil && !slices.ContainsFunc(all,
			func(p publishing.Publication) bool { return p.State.Open() }), err
	})
}

// rows returns all files, in the order of their subscriptions, days and revisions.
func (d *desk) rows(ctx context.Context) (all []publishing.Publication, err error) {
	return all, d.store.Data.Writer(ctx).Order("subscription, from_day, revision").Find(&all).Error
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
