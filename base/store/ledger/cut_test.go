package ledger_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// cutter is a proxy to a server that can lose one answer: that to the next statement that begins with a given text.
// The server has then executed the statement, and the connection is cut.
type cutter struct {
	upstream string
	text     atomic.Pointer[string]
	cuts     atomic.Int32
}

// cut arms the cutter.
func (c *cutter) cut(text string) {
	command := "\x03" + text // COM_QUERY
	c.text.Store(&command)
}

func (c *cutter) listen(t *testing.T) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go c.serve(client)
		}
	}()
	return listener.Addr().String()
}

func (c *cutter) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.upstream)
	if err != nil {
		return
	}
	defer server.Close()
	var lose atomic.Bool
	go func() {
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil || lose.Load() {
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	_, _ = io.Copy(writerFunc(func(b []byte) (int, error) {
		if text := c.text.Load(); text != nil && bytes.Contains(b, []byte(*text)) && c.text.CompareAndSwap(text, nil) {
			lose.Store(true)
			c.cuts.Add(1)
		}
		return server.Write(b)
	}), client)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// throughCutter returns a second store on the databases of an existing one.
func throughCutter(t *testing.T) (*store.Store, *cutter) {
	t.Helper()
	if os.Getenv(storetest.ServerEnv) == "" {
		t.Skip("a connection that can be cut needs a server")
	}
	cfg := storetest.Config(t)
	c := &cutter{}
	direct, err := mysql.ParseDSN(cfg.Data.Writer.Reveal())
	require.NoError(t, err)
	c.upstream = direct.Addr
	direct.Addr = c.listen(t)
	cfg.Data.Writer = secret.NewText(direct.FormatDSN())
	s, err := store.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.MigrateUp(context.Background()))
	return s, c
}

// On a real server: it commits, and the answer does not arrive.
func TestWrites_WhenTheAnswerToACommitIsLost(t *testing.T) {
	t.Parallel()
	s, c := throughCutter(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(3)...)
	c.cut("COMMIT")
	_, err := s.ApplyOutcomes(t.Context(), []ledger.Outcome{r.Outcome(1, 1, task.Succeeded), r.Outcome(2, 1, task.Failed),
		r.Outcome(3, 1, task.Deferred)})
	require.NoError(t, err)
	require.EqualValues(t, 1, c.cuts.Load(), "the answer was not cut off")
	requireCountsEqualRows(t, r)
	require.EqualValues(t, 1, countsOf(t, r).Succeeded)

	l := storetest.Lead(t, s, "a")
	run := storetest.SomeRun(task.NewRunID(storetest.Moment), storetest.Moment)
	for _, write := range []struct {
		text string
		do   func() error
	}{
		{"INSERT IGNORE INTO run", func() error { return s.AddRuns(t.Context(), l, []ledger.Run{run}) }},
		{"INSERT IGNORE INTO task_log", func() error {
			return storetest.AddSubtasks(t.Context(), s, l, run.ID,
				[]ledger.AccountPart{{AccountID: 1, Part: "p"}, {AccountID: 2, Part: "p"}}, storetest.Moment)
		}},
		{"COMMIT", func() error {
			return s.AddQueuedSubtasks(t.Context(), l, &run,
				[]ledger.QueuedPart{{AccountPart: ledger.AccountPart{AccountID: 3, Part: "p"}, Behind: r.ID}}, storetest.Moment)
		}},
		{"UPDATE run JOIN leader", func() error {
			return s.AdvanceCursor(t.Context(), l, run.ID, 0, 7, ledger.Offsets{1: 5}, "")
		}},
		{"COMMIT", func() error { return s.FinishFanOut(t.Context(), l, run.ID, task.RunSkipped, "", storetest.Moment) }},
		{"COMMIT", func() error {
			due, err := s.DueSubtasks(t.Context(), storetest.Moment, storetest.Moment, 10)
			require.NoError(t, err)
			require.Len(t, due, 1)
			raised, err := s.NextDeliveries(t.Context(), l, due, storetest.Moment)
			require.Len(t, raised, 1, "it got its next delivery although the answer was lost")
			return err
		}},
	} {
		before := c.cuts.Load()
		c.cut(write.text)
		require.NoError(t, write.do(), write.text)
		require.Equal(t, before+1, c.cuts.Load(), "%s: the cut did not strike", write.text)
	}
	got, err := s.Run(t.Context(), run.ID)
	require.NoError(t, err)
	require.Equal(t, task.RunRunning, got.State)
	require.EqualValues(t, 3, *got.Total)
	require.EqualValues(t, 7, got.Cursor)
}

// A server that was made read-only, like the old writer at a failover: the connection is closed, and the next one may
// reach the new writer.
func TestWrites_WhileTheServerIsReadOnly(t *testing.T) {
	t.Parallel()
	s, _ := throughCutter(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(1)...)
	db, err := s.Data.SQL()
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "SET SESSION TRANSACTION READ ONLY") // for this connection alone
	require.NoError(t, err)
	require.Zero(t, storetest.Apply(t, s, r.Outcome(1, 1, task.Succeeded)))
	require.Equal(t, task.RunSucceeded, countsOf(t, r).State)
}
