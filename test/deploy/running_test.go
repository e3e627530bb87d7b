package deploy

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/redis/redistest"
	"adsync/base/store/storetest"
	"adsync/client"
	"adsync/test/compose"
)

// up starts the services of docker-compose.yml with the image's program.
func up(t *testing.T, accounts int) *compose.Deployment {
	t.Helper()
	o := compose.Options{
		Root: root, Dir: t.TempDir(), Name: "deploy-" + strings.ToLower(rand.Text()[:8]), Accounts: accounts, Say: t.Logf,
		Kafka: os.Getenv("ADSYNC_TEST_KAFKA"), MySQL: os.Getenv(storetest.ServerEnv), Redis: os.Getenv(redistest.Env),
	}
	if o.Kafka == "" || o.MySQL == "" || o.Redis == "" {
		t.Skip("a deployment of several processes needs Kafka, a MySQL and Redis: make test-services")
	}
	o.Program = buildAsImage(t)
	requireAlone(t, o.Program)
	d, err := compose.Up(t.Context(), o)
	t.Cleanup(func() {
		require.NoError(t, d.Close())
		if logs, _ := filepath.Glob(o.Dir + "/*.log"); t.Failed() {
			for _, log := range logs {
				text, _ := os.ReadFile(log)
				t.Logf("%s:\n%s", filepath.Base(log), text[max(0, len(text)-2000):])
			}
		}
	})
	require.NoError(t, err)
	return d
}

// The command line of each service runs against real servers, and one task of each lane succeeds.
func TestCompose_EveryServiceWorksByItsCommandLine(t *testing.T) {
	t.Parallel()
	d := up(t, 6)
	require.Len(t, d.Producers, 2)
	require.Len(t, d.Consumers, 2+2+1+1)
	require.Len(t, d.Queues, 1)
	tasks, err := d.API().ListTasks(t.Context())
	require.NoError(t, err)
	lanes := map[string]string{} // a task of each lane of each platform
	for i := range tasks.Tasks {
		task := &tasks.Tasks[i]
		lanes[task.Media+":"+task.Lane] = task.Name
	}
	require.Greater(t, len(lanes), 4)
	errs := make(chan error)
	for _, task := range lanes {
		go func() { errs <- d.Run(context.WithoutCancel(t.Context()), task, client.OrderRequest{Scope: "all"}) }()
	}
	for range lanes {
		require.NoError(t, <-errs)
	}
}
