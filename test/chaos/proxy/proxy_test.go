package proxy

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setup returns a proxy before a server that answers each line in capitals and records the lines it received.
func setup(t *testing.T) (p *Proxy, heard chan string) {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	heard = make(chan string, 10)
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					heard <- lines.Text()
					_, _ = io.WriteString(c, strings.ToUpper(lines.Text())+"\n")
				}
			}()
		}
	}()
	p, err = Listen("127.0.0.1:0")
	require.NoError(t, err)
	p.Target(server.Addr().String())
	t.Cleanup(func() {
		p.Close()
		require.NoError(t, server.Close())
	})
	return p, heard
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func ask(t *testing.T, c net.Conn, line string) string {
	t.Helper()
	_, err := io.WriteString(c, line+"\n")
	require.NoError(t, err)
	return read(t, c)
}

func read(t *testing.T, c net.Conn) string {
	t.Helper()
	answer, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSuffix(answer, "\n")
}

func requireCut(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := io.WriteString(c, "x\n")
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	require.Error(t, err)
}

// requireRefused dials: the reset may come while the dial is under way, or after.
func requireRefused(t *testing.T, p *Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		require.ErrorIs(t, err, syscall.ECONNRESET)
		return
	}
	defer c.Close()
	requireCut(t, c)
}

func TestProxy_PassesUntilItIsToldOtherwise(t *testing.T) {
	t.Parallel()
	p, _ := setup(t)
	c := dial(t, p)
	require.Equal(t, "HELLO", ask(t, c, "hello"))
	require.Zero(t, p.Struck())

	p.Cut()
	requireCut(t, c)
	requireRefused(t, p)
	require.Equal(t, 2, p.Struck(), "one connection ended, one refused")

	p.Pass()
	c = dial(t, p)
	require.Equal(t, "AGAIN", ask(t, c, "again"))
	p.Break()
	requireCut(t, c)
	require.Equal(t, "NEW", ask(t, dial(t, p), "new"), "after a break new connections pass")
}

func TestProxy_HoldsOneDirection(t *testing.T) {
	t.Parallel()
	p, heard := setup(t)
	c := dial(t, p)
	p.Hold(Down)
	_, err := io.WriteString(c, "one\n")
	require.NoError(t, err)
	require.Equal(t, "one", <-heard, "the server receives what the client sends")
	require.Eventually(t, func() bool { return p.Struck() == 1 }, time.Minute, time.Millisecond,
		"the answer has come to the proxy")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err = c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "timeout", "the answer is held")
	require.NoError(t, c.SetReadDeadline(time.Time{}))

	p.Pass()
	require.Equal(t, "ONE", read(t, c), "the held answer comes after Pass")
	require.Equal(t, 1, p.Struck())

	p.Hold(Both)
	_, err = io.WriteString(c, "two\n")
	require.NoError(t, err)
	select {
	case <-heard:
		require.Fail(t, "nothing goes up")
	case <-time.After(20 * time.Millisecond):
	}
	p.Cut()
	requireCut(t, c)
}

func TestProxy_Delays(t *testing.T) {
	t.Parallel()
	p, _ := setup(t)
	c := dial(t, p)
	p.Delay(30 * time.Millisecond)
	began := time.Now()
	require.Equal(t, "SLOW", ask(t, c, "slow"))
	require.GreaterOrEqual(t, time.Since(began), 60*time.Millisecond, "there and back")
	require.Equal(t, 2, p.Struck())
}

func TestProxy_CutsAnAnswerThatIsOnItsWay(t *testing.T) {
	t.Parallel()
	p, heard := setup(t)
	c, other := dial(t, p), dial(t, p)
	p.CutAnswer(func(piece []byte) bool { return bytes.Contains(piece, []byte("commit")) })
	require.Equal(t, "BEGIN", ask(t, c, "begin"))
	require.Equal(t, "begin", <-heard)

	_, err := io.WriteString(c, "commit\n")
	require.NoError(t, err)
	require.Equal(t, "commit", <-heard, "the server has received the request")
	_, err = c.Read(make([]byte, 1))
	require.Error(t, err, "the client does not know")
	require.Equal(t, 1, p.Struck())
	require.Equal(t, "COMMIT", ask(t, other, "commit"), "it strikes once")
}

func TestProxy_AnswersInTheServersPlace(t *testing.T) {
	t.Parallel()
	p, heard := setup(t)
	c := dial(t, p)
	p.Answer(func(piece []byte) []byte {
		if bytes.HasPrefix(piece, []byte("write")) {
			return []byte("disk full\n")
		}
		return nil
	})
	require.Equal(t, "disk full", ask(t, c, "write 1"))
	require.Equal(t, "READ", ask(t, c, "read"))
	require.Equal(t, "read", <-heard, "the server never received the other line")
	require.Equal(t, 1, p.Struck())
	p.Pass()
	require.Equal(t, "WRITE 2", ask(t, c, "write 2"))
}
