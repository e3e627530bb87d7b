package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/publishing"
)

// client/example orders a file and waits for its message, as a program outside of adsync does.
func TestExample_OrdersAFileAndWaitsForItsMessage(t *testing.T) {
	t.Parallel()
	example := filepath.Join(t.TempDir(), "example")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", example,
		"adsync/client/example").CombinedOutput()
	require.NoError(t, err, "%s", output)
	w := newWorld(t, 4, 171, onePlatform)
	d := deploy(t, w, func(_ services, settings map[string]any) {
		settings["files"] = map[string]any{"dir": t.TempDir()}
	})
	day := w.now.In(zone).AddDate(0, 0, -2).Format(time.DateOnly)
	d.requireSucceeded(t, d.await(t, []int64{d.order(t, onePlatform+".report_daily.account",
		map[string]any{"scope": "all", "from": day, "to": day})}))

	shelf := t.TempDir()
	put := func(path string, body map[string]any) {
		status, answer := call(t, http.MethodPut, d.api+path, body)
		require.Equal(t, http.StatusOK, status, string(answer))
	}
	put("/destinations/shelf", map[string]any{"kind": "dir", "address": shelf})
	subscription := map[string]any{"destination": "shelf", "path": "{subscription}/{period}{ext}", "cron": "0 9 * * *",
		"application": "shop", "format": map[string]any{"format": "csv"}, "on_empty": "skip",
		"query": "SELECT day, account_id, cost FROM report_daily_account WHERE day = :day ORDER BY day, account_id, level, " +
			"object_id"}
	put("/subscriptions/spend", subscription)
	subscription["path"], subscription["on_empty"] = "none/{period}{ext}", "fail"
	subscription["query"] = strings.Replace(subscription["query"].(string), "WHERE", "WHERE cost < 0 AND", 1)
	put("/subscriptions/none", subscription)
	delete(subscription, "application")
	subscription["path"] = "quiet/{period}{ext}"
	put("/subscriptions/quiet", subscription)

	kafka := d.settings["broker"].(map[string]any)
	run := func(name string) (stdout, stderr string, err error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), example, "-server", strings.TrimSuffix(d.api, "/api/v1"),
			"-brokers", strings.Join(kafka["brokers"].([]string), ","), "-topic", kafka["prefix"].(string)+".outcomes",
			"-subscription", name, "-day", day)
		var out, problems bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &problems
		require.NoError(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// Crons are off: the file's run is ordered when the file is planned.
		require.Eventually(t, func() bool {
			files, err := d.store.SearchFiles(t.Context(), publishing.Search{Subscription: name, Limit: 1})
			return len(ended) > 0 || err == nil && len(files) > 0
		}, patience, poll)
		d.await(t, []int64{d.order(t, "system.files", d.whole)})
		err = <-ended
		return out.String(), problems.String(), err
	}
	printed, problems, err := run("spend")
	require.NoError(t, err, problems)
	text, err := os.ReadFile(filepath.Join(shelf, "spend", day+".csv"))
	require.NoError(t, err)
	rows := bytes.Count(text, []byte("\n")) - 1
	require.Positive(t, rows)
	require.Equal(t, fmt.Sprintf("ordered spend/%s.csv\ndelivered spend/%s.csv to shelf: %d rows, SHA-256 %x\n",
		day, day, rows, sha256.Sum256(text)), printed)

	_, problems, err = run("none")
	require.Error(t, err)
	require.Contains(t, problems, "example: none/"+day+".csv: its subtask is failed: ")
	require.Contains(t, problems, "on_empty is fail")

	_, problems, err = run("quiet")
	require.Error(t, err)
	require.Contains(t, problems, "example: the subscription quiet has no application")

	// One message for each end, and none of the planning.
	for _, o := range d.follow(t, "shop", 2) {
		require.Contains(t, []string{"spend/" + day + "/r1", "none/" + day + "/r1"}, o.Part)
		require.EqualValues(t, 1, o.Seq)
	}
}
