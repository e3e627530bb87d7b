package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/service"
	"adsync/engine"
	"adsync/media"
	"adsync/media/client"
	"adsync/simulator"
)

const served = "simulated platforms are served"

func TestSimulate_ServesUntilASignalAndKeepsItsWorld(t *testing.T) {
	t.Parallel()
	args := []string{"simulate", "--listen=127.0.0.1:0", "--accounts=4", "--seed=7", "--data", t.TempDir()}
	var credentials string
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := start(t, nil, args...)
		status, got := get(t, p.await(t, "msg", served)["credentials"].(string))
		require.Equal(t, 200, status)
		require.True(t, json.Valid([]byte(got)))
		if credentials != "" {
			require.JSONEq(t, credentials, got, "tokens survive a restart")
		}
		credentials = got
		p.stop(t, signal)
	}
}

func TestSimulate_ServesAPlatformOnItsOwnAddress(t *testing.T) {
	t.Parallel()
	args := []string{"simulate", "--listen=127.0.0.1:0",
		"--accounts=" + strconv.Itoa(2*len(simulator.Platforms()))}
	for name := range simulator.Platforms() {
		args = append(args, "--listen-platform="+name+"=127.0.0.1:0")
	}
	p := start(t, nil, args...)
	together := "http://" + p.await(t, "msg", served)["addr"].(string)
	for _, name := range slices.Sorted(maps.Keys(simulator.Platforms())) {
		line := p.await(t, "msg", "a simulated platform is served on its own address")
		require.Equal(t, name, line["media"])
		base := line["base_url"].(string)
		require.Equal(t, "http://"+line["addr"].(string)+simulator.Platforms()[name], base)
		platform, app := engine.Platform(name), askSimulator(t, together, name)
		transport := client.NewTransport(platform, base, http.DefaultClient)
		if len(app.tokens) > 1 {
			tokens, err := platform.Refresh(media.WithLogin(t.Context(), app.login), transport,
				media.App{ID: app.id, Secret: secret.NewText(app.secret)}, app.tokens[1])
			require.NoError(t, err, "it is this platform, which alone knows the token")
			require.False(t, tokens.Access.IsZero())
		}
		_, got := get(t, "http://"+line["addr"].(string)+"/_sim/credentials")
		require.NotContains(t, got, "secret", "a platform does not know the control API")
	}
	p.stop(t, syscall.SIGTERM)
}

func TestSimulate_OnlySomePlatforms(t *testing.T) {
	t.Parallel()
	names := engine.PlatformNames()
	p := start(t, nil, "simulate", "--listen=127.0.0.1:0", "--media", names[2]+","+names[0])
	_, body := get(t, "http://"+p.await(t, "msg", served)["addr"].(string)+"/_sim/credentials")
	var served map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &served))
	require.ElementsMatch(t, []string{names[0], names[2]}, slices.Collect(maps.Keys(served)))
	p.stop(t, syscall.SIGTERM)

	r := adsync(nil, "simulate", "--media=elsewhere")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, `--media: there is no simulated platform "elsewhere": want some of `+names[0])

	r = adsync(nil, "simulate", "--listen=127.0.0.1:0", "--media", names[0], "--listen-platform="+names[1]+"=127.0.0.1:0")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, `--listen-platform names `+names[1]+`, which --media leaves out`)
}

func TestSimulate_PortInUseIsAFailure(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "simulate", "--listen=127.0.0.1:0", "--accounts=2")
	r := adsync(nil, "simulate", "--accounts=2", "--listen", p.await(t, "msg", served)["addr"].(string))
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "adsync: start simulator: listen tcp")
	p.stop(t, syscall.SIGTERM)
}

func TestRun_SecondSignalEndsTheProgramAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "simulate", "--listen=127.0.0.1:0", "--accounts=2")
	addr := p.await(t, "msg", served)["addr"].(string)

	// A call whose body never arrives keeps the program from stopping. The server's request for the body shows that the
	// call is running.
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn,
		"POST /_sim/clock HTTP/1.1\r\nHost: %s\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", addr)
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue")

	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.await(t, "msg", "stopping")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, p.cmd.Wait())
	require.Equal(t, service.ExitInterrupted, p.cmd.ProcessState.ExitCode())
}
