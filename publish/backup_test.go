package publish

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
)

// backUp runs a task with params as a run of a moment.
func (r *rig) backUp(params string, at time.Time) (media.Result, error) {
	r.t.Helper()
	work := media.Work{Params: json.RawMessage(params)}
	work.RunID, work.Part = task.FirstRunIDAt(at), "backup"
	return BackupHandler(r.deps).Run(r.t.Context(), work)
}

func (r *rig) requireIdle() {
	r.t.Helper()
	used, _ := r.deps.Spool.Usage()
	require.Zero(r.t, used, "nothing is left on this machine")
	require.Zero(r.t, storetest.Int(r.t, r.store, "SELECT COUNT(*) FROM destination_slot WHERE expires_at > ?",
		sqldb.At(r.clock.Now())), "the connection is free")
}

func TestBackup_CanBeRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	storetest.NewRun(t, r.store, now, storetest.Keys(2)...)
	result, err := r.backUp(`{"destination":"shelf","prefix":"prod"}`, now)
	require.NoError(t, err)
	require.Equal(t, []string{"prod/adsync-20261121T040000.000Z.ndjson.gz"}, r.names())
	r.requireIdle()

	file, err := os.Open(filepath.Join(r.shelf, filepath.FromSlash(r.names()[0])))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	to := storetest.New(t)
	done, err := to.Restore(t.Context(), file, false)
	require.NoError(t, err)
	require.EqualValues(t, result.Rows, done.Rows)
	require.EqualValues(t, "2026-11-19", done.Head.LedgerFrom, "three days with that of the backup")
	tasks, err := to.Subscription(t.Context(), "sales")
	require.NoError(t, err)
	want, err := r.store.Subscription(t.Context(), "sales")
	require.NoError(t, err)
	require.Equal(t, want, tasks)
	require.Equal(t, 2, storetest.RowsIn(t, to, "task_log_20261121"))
}

func TestBackup_KeepsTheNewest(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	others := []string{"adsync-20261101T000000.000Z.ndjson.gz.old", "report.csv", "adsync-2026.ndjson.gz",
		"below/adsync-20261101T000000.000Z.ndjson.gz"}
	for _, name := range append(slices.Clone(others), "adsync-20261118T000000.000Z.ndjson.gz",
		"adsync-20261119T000000.000Z.ndjson.gz", "adsync-20261120T000000.000Z.ndjson.gz") {
		path := filepath.Join(r.shelf, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	_, err := r.backUp(`{"destination":"shelf","keep":2}`, now)
	require.NoError(t, err)
	require.ElementsMatch(t, append(others, "adsync-20261120T000000.000Z.ndjson.gz",
		"adsync-20261121T040000.000Z.ndjson.gz"), r.names())
}

func TestBackup_IsMadeOnceForARun(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	_, err := r.backUp(`{"destination":"shelf"}`, now)
	require.NoError(t, err)
	path := filepath.Join(r.shelf, r.names()[0])
	require.NoError(t, os.WriteFile(path, []byte("the first one"), 0o600))
	_, err = r.backUp(`{"destination":"shelf"}`, now)
	require.NoError(t, err)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "the first one", string(content), "another try of the run finds it")
	_, err = r.backUp(`{"destination":"shelf"}`, now.Add(time.Hour))
	require.NoError(t, err)
	require.Len(t, r.names(), 2)
}

func TestBackup_WaitsForItsDestination(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	_, err := r.backUp(`{"destination":"shelves"}`, now)
	require.ErrorContains(t, err, "there is no destination shelves")

	shelf := &publishing.Destination{Name: "shelf", Kind: "dir", Address: r.shelf, Options: `{"connections":1}`}
	r.put(shelf)
	var wait *media.DeferError
	_, err = r.backUp(`{"destination":"shelf"}`, now)
	require.ErrorAs(t, err, &wait)
	require.Contains(t, wait.Reason, "switched off")

	shelf.Enabled = true
	r.put(shelf)
	taken, err := r.store.TakeConnection(t.Context(), "shelf", 1, 5, now, now.Add(time.Hour))
	require.NoError(t, err)
	require.True(t, taken)
	_, err = r.backUp(`{"destination":"shelf"}`, now)
	require.ErrorAs(t, err, &wait)
	require.Contains(t, wait.Reason, "in use")
	require.NoError(t, r.store.ReturnConnection(t.Context(), "shelf", 5, now))

	r.deps.Spool.max = 100
	_, err = r.backUp(`{"destination":"shelf"}`, now)
	require.ErrorAs(t, err, &wait)
	require.Contains(t, wait.Reason, "full")
	r.requireIdle()
	require.Empty(t, r.visible())
}

func TestBackup_LeavesNothingAfterAFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	// A directory has the name of the file: it is found when the file is to become visible.
	name := filepath.Join(r.shelf, backupFile(now))
	require.NoError(t, os.MkdirAll(filepath.Join(name, "taken"), 0o700))
	_, err := r.backUp(`{"destination":"shelf"}`, now)
	require.ErrorContains(t, err, "deliver the backup")
	require.Empty(t, r.visible())
	r.requireIdle()
}

func TestBackup_NamesWrongParams(t *testing.T) {
	t.Parallel()
	kind := BackupHandler(Deps{})
	for params, want := range map[string]string{
		`{}`: "params.destination", `{"destination":"a","prefix":"../b"}`: "params.prefix",
		`{"destination":"a","days":32}`: "params.days", `{"destination":"a","days":-1}`: "params.days",
		`{"destination":"a","keep":1001}`: "params.keep", `{"destination":"a","path":"b"}`: "params.path",
	} {
		require.ErrorContains(t, kind.Check(json.RawMessage(params)), want)
	}
	_, err := kind.Parts(media.Plan{From: "2026-11-20", Params: json.RawMessage(`{"destination":"a"}`)})
	require.ErrorContains(t, err, "remove from and to")
	parts, err := kind.Parts(media.Plan{Params: json.RawMessage(`{"destination":"a"}`)})
	require.NoError(t, err)
	require.Equal(t, []string{"backup"}, parts)
}
