package local

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPorts_TwoRunsNeverShareAPort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := &Ports{dir: dir, low: 32500, high: 32502}
	second := &Ports{dir: dir, low: 32500, high: 32502}
	t.Cleanup(second.Release)

	a, err := first.Take()
	require.NoError(t, err)
	b, err := second.Take()
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	_, err = second.Take()
	require.ErrorContains(t, err, "no spare port")

	started, err := syscall.Dup(int(first.locks[0].Fd()))
	require.NoError(t, err)
	defer syscall.Close(started)
	first.Release()
	again, err := second.Take()
	require.NoError(t, err)
	require.Equal(t, a, again, "a released port is spare again, also while another test starts a process")
}

func TestProcess_StopEndsTheWholeGroupAndNothingElse(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	bystander := exec.Command("sleep", "300")
	require.NoError(t, bystander.Start())
	defer func() {
		require.NoError(t, bystander.Process.Kill(), "the bystander was still alive")
		_ = bystander.Wait()
	}()

	// The shell and its child both ignore the first signal, and both hold the pipe open.
	cmd := exec.Command("sh", "-c", `trap "" TERM; sleep 300 & echo up >&3; wait; wait`)
	cmd.ExtraFiles = []*os.File{writer}
	p, err := StartProcess("stubborn", cmd)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	_, err = reader.Read(make([]byte, 3))
	require.NoError(t, err)

	require.NoError(t, p.Stop(10*time.Millisecond))
	_, err = io.ReadAll(reader)
	require.NoError(t, err, "the pipe ends when its last holder has ended")
	require.Error(t, p.Err())
	require.NoError(t, p.Stop(10*time.Millisecond))
}

func TestProcess_StopLetsAProgramEndByItself(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	cmd := exec.Command("sh", "-c", `trap 'echo tidy > "$0"; exit 0' TERM; echo up >&3; while :; do sleep 0.05; done`,
		mark)
	cmd.ExtraFiles = []*os.File{writer}
	p, err := StartProcess("polite", cmd)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	_, err = reader.Read(make([]byte, 3))
	require.NoError(t, err)

	require.NoError(t, p.Stop(time.Minute))
	require.NoError(t, p.Err())
	require.FileExists(t, mark)
}

func TestAwaitReady_GivesUpWhenTheServerEnds(t *testing.T) {
	t.Parallel()
	exited := make(chan struct{})
	tries := 0
	err := AwaitReady(t.Context(), "redis", func(context.Context) error {
		if tries++; tries == 2 {
			close(exited)
		}
		return errors.New("connection refused")
	}, exited)
	require.EqualError(t, err, "redis ended before it was ready")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = AwaitReady(ctx, "redis", func(context.Context) error { return errors.New("connection refused") }, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "connection refused")
}

func TestKafkaVersions_AreThoseThatTheDocumentsName(t *testing.T) {
	t.Parallel()
	for file, names := range map[string][]string{
		"../compose.yml":              {"apache/kafka:" + KafkaDefault},
		"../../../docker-compose.yml": {"apache/kafka:" + KafkaDefault},
		"../../../docs/servers.md":    {"Kafka " + KafkaDefault, "Kafka " + KafkaOldest, "Kafka " + KafkaNewest},
		"../../../README.md":          {"Kafka 2.4 or newer"},
		"kafka-zookeeper.pom.xml":     {"<version>3.5.9</version>"},
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range names {
			require.Contains(t, string(text), name, file)
		}
	}
	require.True(t, strings.HasPrefix(KafkaOldest, "2.4."))
}

// TestServices_AnswerAtTheirAddresses fails first, with a clear message, when a run of the service tests fails because
// of the servers.
func TestServices_AnswerAtTheirAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		variable string
		server   func(addr string) Kind
	}{
		{"ADSYNC_TEST_KAFKA", func(addr string) Kind { return KafkaAt(addr) }},
		{"ADSYNC_TEST_MYSQL", func(dsn string) Kind {
			return MariaDBAt(strings.TrimSuffix(strings.TrimPrefix(dsn, "root@tcp("), ")/"))
		}},
		{"ADSYNC_TEST_REDIS", func(addr string) Kind { return RedisAt(addr) }},
	}
	for _, tt := range tests {
		t.Run(tt.variable, func(t *testing.T) {
			t.Parallel()
			address := os.Getenv(tt.variable)
			if address == "" {
				t.Skip("not set: make test-services sets it")
			}
			require.NoError(t, tt.server(address).Ready(t.Context()))
		})
	}
}
