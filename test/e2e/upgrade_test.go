package e2e

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/storetest"
	"adsync/engine"
	"adsync/standalone/verify"
	"adsync/test/platforms/simclient"
)

// lastRelease builds the program of the last release. The file names it by its tag or commit; the person who releases
// writes it there. The build is kept in the user's cache, since a release does not change.
func lastRelease(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/last-release")
	require.NoError(t, err)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	release := strings.TrimSpace(string(text))
	kept := filepath.Join(cache, "adsync", "release-"+release, "adsync")
	if _, err := os.Stat(kept); !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
		return kept
	}
	if err := exec.CommandContext(t.Context(), "git", "-C", "../..", "cat-file", "-e", release+
		"^{commit}").Run(); err != nil {
		t.Skipf("the sources of %s are not in this checkout: git fetch --unshallow --tags", release)
	}
	sources := t.TempDir()
	run := func(name string, args ...string) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = sources
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, string(output))
	}
	repository, err := filepath.Abs("../..")
	require.NoError(t, err)
	run("git", "-C", repository, "archive", "--output", filepath.Join(sources, "release.tar"), release)
	run("tar", "-xf", "release.tar")
	require.NoError(t, os.MkdirAll(filepath.Dir(kept), 0o750))
	run("go", "build", "-o", kept+".new", "./cmd/adsync")
	// The file is renamed into place, since other processes may build it at the same time.
	require.NoError(t, os.Rename(kept+".new", kept))
	return kept
}

// A deployment of the last release is upgraded to this program while it works, in the order of docs/deploying.md and
// in the opposite order. Work continues throughout, on tables that are newer than the processes that are not replaced
// yet.
func TestUpgrade_FromTheLastReleaseWithoutAStop(t *testing.T) {
	t.Parallel()
	if os.Getenv(storetest.ServerEnv) == "" {
		t.Skip("a deployment of several processes needs a MySQL")
	}
	old := lastRelease(t)
	w := newWorld(t, simclient.OfEach(6), 171)
	d := prepare(t, newServices(t), old, w)
	whole := d.whole
	d.whole = map[string]any{} // The last release does not know "scope".
	later := d.leaveOutLaterPlatforms(t)
	// It pulls the platform's materials in a way that the platform does not support.
	d.leftOut = func(task string) bool {
		media, _, _ := strings.Cut(task, ".")
		return slices.Contains(later, media) || ofMaterials(task)
	}
	d.startAll(t)
	producer, first, second := 0, 1, 2
	w.slowDown(t, 20*time.Millisecond) // This leaves work for each consumer.

	// From here on the tables are this program's, while processes of the last release run.
	ids := d.orderAll(t, false)
	d.awaitMiddle(t, ids)
	command(t, "migrate", "up", "--config", d.config)
	d.requireSucceeded(t, d.await(t, ids))

	// The old processes have read their settings.
	d.program = program
	d.writeSettings(t)
	d.replace(t, first)
	d.workTogether(t, first, second) // This program's consumer and the last release's for the last release's producer.

	d.replace(t, producer)
	d.whole = whole
	d.workTogether(t, first, second) // The same two for this program's producer.

	ids = d.orderAll(t, false)
	d.awaitMiddle(t, ids)
	d.replace(t, second) // In the middle of its work.
	d.requireSucceeded(t, d.await(t, ids))

	// The platforms that the release brings have the tasks that the migration wrote.
	command(t, "bind", "--config", d.config, "--simulator", w.address)
	d.awaitBindings(t)
	d.leftOut = nil
	d.requireSucceeded(t, d.await(t, d.orderAll(t, false)))
	d.summarise(t)
	d.requireTruth(t)
	d.stop(t)
}

// leaveOutLaterPlatforms removes the platforms that the deployment's program does not know from its settings, until its
// processes are replaced, and from its tables. It returns their names.
func (d *deployment) leaveOutLaterPlatforms(t *testing.T) (later []string) {
	t.Helper()
	var known []string
	require.NoError(t, d.store.Config.Writer(t.Context()).Table("cron_task").Distinct().Pluck("media", &known).Error)
	all := d.settings
	d.settings = maps.Clone(all)
	media := maps.Clone(all["media"].(map[string]any))
	for name, urls := range media {
		if urls, ok := urls.(map[string]any); ok {
			urls = maps.Clone(urls)
			maps.DeleteFunc(urls, func(platform string, _ any) bool { return !slices.Contains(known, platform) })
			media[name] = urls
		}
	}
	d.settings["media"] = media
	d.writeSettings(t)
	d.settings = all
	for _, statement := range []string{
		"DELETE FROM account_binding WHERE account_id IN (SELECT id FROM media_account WHERE media NOT IN ?)",
		"DELETE FROM media_account WHERE media NOT IN ?", "DELETE FROM media_token WHERE media NOT IN ?",
		"DELETE FROM media_app WHERE media NOT IN ?", "DELETE FROM rate_limit WHERE media NOT IN ?",
	} {
		require.NoError(t, d.store.Config.Writer(t.Context()).Exec(statement, known).Error)
	}
	return slices.DeleteFunc(engine.PlatformNames(), func(name string) bool { return slices.Contains(known, name) })
}

// ofMaterials reports whether a task pulls creatives that are not separate objects, but what an ad shows.
func ofMaterials(task string) bool {
	media, name, _ := strings.Cut(task, ".")
	p := engine.Platform(media)
	if p == nil {
		return false
	}
	for _, list := range p.Lists() {
		kind, named := verify.Kind(list.Table.Name)
		if kind == "creative" && !named && (strings.HasPrefix(name, list.Name) || strings.HasPrefix(name, "report_") &&
			strings.Contains(name, ".creative")) {
			return true
		}
	}
	return false
}

// workTogether orders all work, and does so again until each of the processes has done some of it: a consumer that
// has just joined its groups may get its partitions when the others have done everything.
func (d *deployment) workTogether(t *testing.T, processes ...int) {
	t.Helper()
	const rounds = 5
	for range rounds {
		ids := d.orderAll(t, false)
		d.requireSucceeded(t, d.await(t, ids))
		if !slices.ContainsFunc(processes, func(i int) bool { return d.doneBy(t, ids, d.processes[i]) == 0 }) {
			return
		}
	}
	require.Fail(t, "one of the processes never does any of the work")
}

// replace ends a process and starts the deployment's present program in its place.
func (d *deployment) replace(t *testing.T, i int) {
	t.Helper()
	d.processes[i].stop(t)
	d.start(t, i)
	d.awaitReady(t, i)
}
