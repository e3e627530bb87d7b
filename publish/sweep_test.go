package publish

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/store/publishing"
	"adsync/base/task"
	"adsync/media"
)

// leave writes a temporary file of a delivery that began at a moment, and returns its name.
func (r *rig) leave(name string, delivery int64) string {
	r.t.Helper()
	dir, base := filepath.Split(name)
	temporary := fmt.Sprintf("%s.%s.adsync-%d.part", dir, base, delivery)
	require.NoError(r.t, os.MkdirAll(filepath.Join(r.shelf, dir), 0o755))
	require.NoError(r.t, os.WriteFile(filepath.Join(r.shelf, temporary), []byte("x"), 0o600))
	return temporary
}

// planAt runs the planning of a moment.
func (r *rig) planAt(moment time.Time) {
	r.t.Helper()
	work := media.Work{Params: []byte(`{}`), PlannedAt: moment}
	work.Part = partPlan
	_, err := Handler(r.deps).Run(r.t.Context(), work)
	require.NoError(r.t, err)
}

// orders returns the orders that no leader has taken.
func (r *rig) orders() []ledger.RunOrder {
	r.t.Helper()
	all, err := r.store.OpenOrders(r.t.Context(), 100)
	require.NoError(r.t, err)
	return all
}

func TestSweep_IsOrderedOnceAnHourForEachDestination(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *publishing.Subscription) { s.Enabled = false })
	r.put(&publishing.Destination{Name: "away", Kind: "dir", Address: "/srv"})
	r.put(&publishing.Destination{Name: "bucket", Kind: "dir", Address: "/srv", Enabled: true})
	for minute := range 60 {
		r.planAt(now.Add(time.Duration(minute) * time.Minute))
	}
	all := r.orders()
	require.Len(t, all, 1)
	require.Equal(t, []string{"sweep/bucket", "sweep/shelf"}, all[0].Request.Parts, "those that are switched on")
	require.Equal(t, Lane, all[0].Request.Lane)
}

func TestSweep_DeletesWhatClosedFilesHaveLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.plan()
	p := r.file(1)
	old, young := task.NewRunID(now.Add(-sweepAge-time.Second)), task.NewRunID(now.Add(-sweepAge+time.Second))
	for _, name := range []string{"2026-11-01/sales.csv", "2026-11-01/sales.csv.manifest.json", "a-2026-11-20/sales.csv"} {
		r.leave(name, old)
	}
	kept := []string{
		r.leave("2026-11-01/sales.csv", young),
		r.leave(p.Name, old),                            // It is open, of another destination of the same directory too:
		r.leave("above/"+p.Name, old),                   // of one with a prefix
		r.leave("sales.csv", old),                       // or without
		r.leave(p.Name+manifestSuffix, old),             // and its manifest.
		r.leave("2026-11-20/sales-2.csv", p.Delivery+7), // Its try has another name by now.
	}
	require.NoError(t, r.store.Data.Writer(t.Context()).Exec("UPDATE publication SET delivery = ?", p.Delivery+7).Error)
	require.NoError(t, os.WriteFile(filepath.Join(r.shelf, "2026-11-01", "sales.csv"), nil, 0o600))
	require.NoError(t, r.run("sweep/shelf"))
	require.ElementsMatch(t, append(kept, "2026-11-01/sales.csv"), r.names())

	ended, err := r.store.EndFile(t.Context(), p.ID, publishing.Cancelled, "", now)
	require.NoError(t, err)
	require.True(t, ended)
	require.NoError(t, r.run("sweep/shelf"))
	require.ElementsMatch(t, []string{kept[0], "2026-11-01/sales.csv"}, r.names())
}

func TestSweep_SparesADestinationThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	left := r.leave("2026-11-01/sales.csv", 1)
	require.NoError(t, r.store.DestinationFailed(t.Context(), "shelf", "away", now, now))
	require.NoError(t, r.run("sweep/shelf"))
	require.Equal(t, []string{left}, r.names())
	_, may, err := r.store.MayUseDestination(t.Context(), "shelf", now, now.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, may, "the sweep has not used the turn to try it again")
	require.NoError(t, r.store.DestinationWorked(t.Context(), "shelf", time.Time{}))

	r.exec(`UPDATE destination SET options = '{"connections": 1}'`)
	taken, err := r.store.TakeConnection(t.Context(), "shelf", 1, 1, now, now.Add(time.Hour))
	require.NoError(t, err)
	require.True(t, taken)
	var deferred *media.DeferError
	require.ErrorAs(t, r.run("sweep/shelf"), &deferred, "it waits for a connection")
	require.NoError(t, r.store.ReturnConnection(t.Context(), "shelf", 1, now))

	r.exec("UPDATE destination SET enabled = 0")
	require.NoError(t, r.run("sweep/shelf"))
	require.Equal(t, []string{left}, r.names())
	r.exec("UPDATE destination SET enabled = 1, options = '{'")
	require.NoError(t, r.run("sweep/shelf"), "it is left to the next sweep")
	r.exec("UPDATE destination SET options = ''")
	require.NoError(t, r.run("sweep/shelf"))
	require.Empty(t, r.names())
	taken, err = r.store.TakeConnection(t.Context(), "shelf", 1, 2, now, now.Add(time.Hour))
	require.NoError(t, err)
	require.True(t, taken, "it has returned its connection")
	require.NoError(t, r.run("sweep/gone"))
}
