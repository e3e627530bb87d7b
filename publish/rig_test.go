package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/publishing"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/mediatest/invented"
)

// hand is a clock that the test moves.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) Until(t time.Time) time.Duration { return t.Sub(h.Now()) }

func (h *hand) add(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// rig is the kind with a store, and a directory as the destination shelf.
type rig struct {
	t     testing.TB
	store *store.Store
	clock *hand
	shelf string
	deps  Deps
}

func newRig(t testing.TB, change func(*publishing.Subscription)) *rig {
	t.Helper()
	r := &rig{t: t, store: storetest.NewResults(t), clock: &hand{now: now}, shelf: t.TempDir()}
	spool, err := OpenSpool(filepath.Join(t.TempDir(), "spool"), 1<<30)
	require.NoError(t, err)
	box, err := secret.NewBox(secret.NewKey("k1"))
	require.NoError(t, err)
	db, err := r.store.Data.SQL()
	require.NoError(t, err)
	r.deps = Deps{Store: r.store, Database: Database{DB: db, Dialect: r.store.Data.Dialect()}, Box: box, Clock: r.clock,
		Platforms: []media.Platform{invented.New()}, Spool: spool, LargeBytes: 1 << 30, Node: "n1",
		Logger: slog.New(slog.DiscardHandler)}
	r.exec("INSERT INTO cron_task (name, media, handler, cron, params) VALUES ('files', 'system', 'system.files', "+
		"'* * * * *', '{}'), ('daily', 'tulip', 'tulip.report_daily', '@daily', ?)", `{"level":"account","days":7}`)
	r.put(&publishing.Destination{Name: "shelf", Kind: "dir", Address: r.shelf, Enabled: true})
	row := sales()
	row.Since = now.AddDate(0, 0, -1)
	if change != nil {
		change(&row)
	}
	r.put(&row)
	return r
}

func (r *rig) exec(text string, args ...any) {
	r.t.Helper()
	require.NoError(r.t, r.store.Config.Writer(context.Background()).Exec(text, args...).Error)
}

func (r *rig) put(row any) {
	r.t.Helper()
	require.NoError(r.t, r.store.Config.Writer(context.Background()).Save(row).Error)
}

// pull is pullOf account 7.
func (r *rig) pull(on day.Day, cost int64, at time.Time) {
	r.t.Helper()
	r.pullOf(7, on, cost, at)
}

// pullOf writes the cost, in millionths, of an account on a day, as a run at a moment pulled it.
func (r *rig) pullOf(account int64, on day.Day, cost int64, at time.Time) {
	r.t.Helper()
	ctx := context.Background()
	claim, _, err := r.store.BeginPull(ctx, results.Scope{AccountID: account, Media: "tulip", Report: "report_daily",
		Level: "account", Days: []day.Day{on}}, fmt.Sprint("p", task.NewRunID(at)), task.NewRunID(at))
	require.NoError(r.t, err)
	_, err = r.store.WriteReport(ctx, storetest.ReportOf(claim, storetest.CostRow(on, "", cost, fmt.Sprintf(`{"c":%d}`,
		cost))))
	require.NoError(r.t, err)
}

// run runs a subtask.
func (r *rig) run(part string) error {
	r.t.Helper()
	_, err := r.result(part)
	return err
}

// result runs a subtask, and returns its result too.
func (r *rig) result(part string) (media.Result, error) {
	r.t.Helper()
	work := media.Work{Params: json.RawMessage(`{}`)}
	work.Part = part
	return Handler(r.deps).Run(context.Background(), work)
}

func (r *rig) plan() {
	r.t.Helper()
	require.NoError(r.t, r.run(partPlan))
}

// files returns all rows, the oldest first.
func (r *rig) files() []publishing.Publication {
	r.t.Helper()
	all, err := r.store.SearchFiles(context.Background(), publishing.Search{Limit: 100})
	require.NoError(r.t, err)
	for i := range len(all) / 2 {
		all[i], all[len(all)-1-i] = all[len(all)-1-i], all[i]
	}
	return all
}

// file returns the row of a revision of the file of 20 November.
func (r *rig) file(revision int) publishing.Publication {
	r.t.Helper()
	for _, p := range r.files() {
		if p.ToDay == "2026-11-20" && p.Revision == revision && p.Subscription == "sales" {
			return p
		}
	}
	require.Failf(r.t, "no such file", "revision %d", revision)
	return publishing.Publication{}
}

// part is the subtask of the file of 20 November.
const part = "sales/2026-11-20/r1"

// visible returns the contents of the destination, by name, manifests and leftovers included.
func (r *rig) visible() map[string]string {
	r.t.Helper()
	all := map[string]string{}
	require.NoError(r.t, filepath.WalkDir(r.shelf, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(r.shelf, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return all
}

// names returns the names at the destination without those of manifests.
func (r *rig) names() (names []string) {
	r.t.Helper()
	for name := range r.visible() {
		if !strings.HasSuffix(name, manifestSuffix) {
			names = append(names, name)
		}
	}
	return names
}

// errKilled is what a store returns after its process was killed.
var errKilled = errors.New("killed")

// mortal is a store whose process is killed at its nth change of a row: before the change if early, else after it. From
// then on no call has an effect.
type mortal struct {
	Store
	at    int
	early bool

	dead bool
	hits int
}

// hit makes a change, unless the process is dead, and kills it around the chosen one.
func (m *mortal) hit(change func() error) error {
	if m.dead {
		return errKilled
	}
	m.hits++
	if m.hits == m.at && m.early {
		m.dead = true
		panic(errKilled)
	}
	err := change()
	if m.hits == m.at {
		m.dead = true
		panic(errKilled)
	}
	return err
}

func (m *mortal) ClaimFile(ctx context.Context, of *publishing.Publication, delivery int64, node string, at time.Time) (
	p publishing.Publication, ok bool, err error) {
	err = m.hit(func() (err error) { p, ok, err = m.Store.ClaimFile(ctx, of, delivery, node, at); return err })
	return p, ok, err
}

func (m *mortal) StepFile(ctx context.Context, p *publishing.Publication) (ok bool, err error) {
	err = m.hit(func() (err error) { ok, err = m.Store.StepFile(ctx, p); return err })
	return ok, err
}

func (m *mortal) TakeConnection(ctx context.Context, destination string, most int, delivery int64,
	at, until time.Time) (taken bool, err error) {
	err = m.hit(func() (err error) {
		taken, err = m.Store.TakeConnection(ctx, destination, most, delivery, at, until)
		return err
	})
	return taken, err
}

func (m *mortal) ReturnConnection(ctx context.Context, destination string, delivery int64, at time.Time) error {
	return m.hit(func() error { return m.Store.ReturnConnection(ctx, destination, delivery, at) })
}

func (m *mortal) DestinationWorked(ctx context.Context, name string, at time.Time) error {
	return m.hit(func() error { return m.Store.DestinationWorked(ctx, name, at) })
}

// kill runs the file's subtask with a store that dies, and reports whether it did.
func (r *rig) kill(at int, early bool) (died bool) {
	r.t.Helper()
	m := &mortal{Store: r.store, at: at, early: early}
	alive := r.deps
	defer func() {
		r.deps = alive
		if v := recover(); v != nil {
			require.Equal(r.t, errKilled, v)
			died = true
		}
	}()
	r.deps.Store = m
	require.NoError(r.t, r.run(part))
	return m.dead
}
