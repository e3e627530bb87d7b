package main

import (
	"regexp"
	"syscall"
	"testing"

	"adsync/engine"

	"github.com/stretchr/testify/require"
)

// The commands against a leading producer.
func TestStops_AgainstAProducer(t *testing.T) {
	t.Parallel()
	platform := engine.PlatformNames()[0]
	environ := serveEnviron(t)
	p := start(t, environ, "serve", "--role=producer")
	server := "http://" + p.await(t, "msg", "listening")["addr"].(string)
	p.await(t, "part", "api")
	run := func(args ...string) string {
		r := adsync(append(environ, "ADSYNC_SERVER="+server), args...)
		require.Zero(t, r.code, r.stderr)
		return r.stdout
	}
	require.Equal(t, "Nothing is paused.\n", run("pauses"))
	paused := run("pause", "media", platform, "--for", "2h", "--reason", "maintenance", "--by", "otto")
	require.Regexp(t, `^Paused media `+platform+` until \S+Z, by order \d+\.\n$`, paused)
	told := p.await(t, "msg", "stop order in force")
	require.Equal(t, []any{platform, "otto", "maintenance"}, []any{told["target"], told["by"], told["reason"]})
	id := regexp.MustCompile(`order (\d+)`).FindStringSubmatch(paused)[1]
	require.Regexp(t, `(?m)^`+id+` +media +`+platform+` +active +\S+ +\S+Z +- +otto +maintenance$`, run("pauses"))
	require.Equal(t, "Ended the pause of media "+platform+", by order "+id+".\n", run("resume", id, "--by", "vera"))
	require.Equal(t, "vera", p.await(t, "msg", "a pause has ended")["lifted_by"])
	require.Equal(t, "Nothing is paused.\n", run("pauses"))
	require.Regexp(t, `(?m)^`+id+` .* ended `, run("pauses", "--all"))
	require.Regexp(t, `^Cancelled task system.summary, by order \d+\.\n$`,
		run("cancel", "task", "system.summary", "--reason", "too slow", "--by", "otto"))
	require.Contains(t, run("pause", "task", "system.summary", "--reason", "r", "--by", "b", "--output", "json"),
		`"state": "active"`)

	r := adsync(environ, "cancel", "media", platform, "--server", server)
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, "reason: is missing")
	r = adsync(environ, "cancel", "media", platform, "--server", server, "--reason", "r")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, "by: is missing")
	p.stop(t, syscall.SIGTERM)
}

func TestStops_RefuseAWrongCommandLine(t *testing.T) {
	t.Parallel()
	platform := engine.PlatformNames()[0]
	for want, args := range map[string][]string{
		"want KIND TARGET, such as: media " + platform:                  {"pause", platform},
		"want the id of a pause: adsync pauses lists them":              {"resume"},
		"--for is 500ms: want a second or more, such as 2h":             {"pause", "media", platform, "--for", "500ms"},
		`--output is "xml": want table or json`:                         {"pauses", "--output", "xml"},
		`"` + platform + `" is too much: only flags go here`:            {"pauses", platform},
		"want KIND TARGET, such as: media " + platform + "\n\nFor help": {"cancel"},
	} {
		r := adsync(nil, args...)
		require.Equal(t, exitUsage, r.code, args)
		require.Contains(t, r.stderr, want)
	}
}
