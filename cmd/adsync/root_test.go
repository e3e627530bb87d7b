package main

import (
	"slices"
	"strings"
	"testing"

	"adsync/engine"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestRun_RefusesWrongCommandLinesWithCode2(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"an unknown command", []string{"bogus"}, "adsync: there is no command \"bogus\"\n\nFor help: adsync --help\n"},
		{"a misspelt command", []string{"migarte"},
			"adsync: there is no command \"migarte\"; did you mean migrate?\n\nFor help: adsync --help\n"},
		{"an unknown command of a group", []string{"config", "chekc"},
			"adsync: there is no command \"chekc\"; did you mean check?\n\nFor help: adsync config --help\n"},
		{"an unknown flag", []string{"serve", "--rule=all"},
			"adsync: unknown flag: --rule\n\nFor help: adsync serve --help\n"},
		{"a flag of the wrong type", []string{"simulate", "--accounts=many"},
			"adsync: invalid argument \"many\" for \"--accounts\" flag: strconv.ParseInt: parsing \"many\": invalid " +
				"syntax\n\nFor help: adsync simulate --help\n"},
		{"a word too many", []string{"version", "now"},
			"adsync: \"now\" is too much: only flags go here\n\nFor help: adsync version --help\n"},
		{"an unknown role", []string{"serve", "--role=boss"},
			"adsync: --role is \"boss\": want producer, consumer, jobs or all\n\nFor help: adsync serve --help\n"},
		{"an unknown output", []string{"version", "--output=xml"},
			"adsync: --output is \"xml\": want text or json\n\nFor help: adsync version --help\n"},
		{"a setting without a value", []string{"config", "check", "--set", "log.level"},
			"adsync: --set is \"log.level\": want key=value, such as log.level=debug\n\nFor help: adsync config check --help\n"},
		{"an unknown command to check for", []string{"config", "check", "--for", "print"},
			"adsync: --for is \"print\": want bind, dead, jobs, migrate, restore, serve, simulate, standalone or unbind\n\n" +
				"For help: adsync config check --help\n"},
		{"too few accounts to simulate", []string{"simulate", "--accounts=1"},
			"adsync: --accounts is 1: want 2 to 1000000, shared by the platforms\n\nFor help: adsync simulate --help\n"},
		{"no simulator to bind", []string{"bind"},
			"adsync: --simulator is \"\": want the address of an adsync simulate, as http://host:port\n\nFor help: adsync " +
				"bind --help\n"},
		{"a clock that goes backwards", []string{"standalone", "--speed=-1"},
			"adsync: --speed is -1: want more than 0\n\nFor help: adsync standalone --help\n"},
		{"no such platform to simulate", []string{"standalone", "--media=qq"},
			"adsync: --media: there is no simulated platform \"qq\": want some of " +
				strings.Join(engine.PlatformNames(), ", ") + "\n\nFor help: adsync standalone --help\n"},
		{"no platform to simulate", []string{"simulate", "--media="},
			"adsync: --media is empty: want platforms, such as " + engine.PlatformNames()[0] +
				"\n\nFor help: adsync simulate --help\n"},
		{"platforms of another simulator", []string{"standalone", "--simulator=http://127.0.0.1:1", "--media=qq"},
			"adsync: --media is for the embedded simulator: give it to adsync simulate\n\nFor help: adsync standalone --help\n"},
		{"accounts of another simulator", []string{"standalone", "--simulator=http://127.0.0.1:1", "--accounts=9"},
			"adsync: --accounts is for the embedded simulator: give it to adsync simulate\n\nFor help: adsync standalone " +
				"--help\n"},
		{"no such platform to listen for", []string{"simulate", "--listen-platform=qq=127.0.0.1:0"},
			"adsync: --listen-platform: there is no platform \"qq\": want one of " +
				strings.Join(slices.Sorted(slices.Values(engine.PlatformNames())), ", ") +
				"\n\nFor help: adsync simulate --help\n"},
		{"no address of a platform", []string{"simulate", "--listen-platform=" + engine.PlatformNames()[0] + "=9090"},
			"adsync: --listen-platform " + engine.PlatformNames()[0] +
				"=9090: want host:port\n\nFor help: adsync simulate --help\n"},
		{"no address", []string{"simulate", "--listen=9090"},
			"adsync: --listen is \"9090\": want host:port\n\nFor help: adsync simulate --help\n"},
		{"JSON of an endless run", []string{"standalone", "--output=json"},
			"adsync: --output json goes with --once or --live\n\nFor help: adsync standalone --help\n"},
		{"dropping tables by mistake", []string{"migrate", "down"},
			"adsync: this drops tables with their rows: add --yes to do it\n\nFor help: adsync migrate down --help\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, result{code: 2, stderr: test.want}, adsync(nil, test.args...))
		})
	}
}

func TestServe_ReadsTheRoleFromTheFlagThenTheEnvironment(t *testing.T) {
	t.Parallel()
	r := adsync([]string{"ADSYNC_ROLE=boss"}, "serve")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, `--role is "boss"`)

	r = adsync([]string{"ADSYNC_ROLE=boss", "ADSYNC_LOG_LEVEL=loud"}, "serve", "--role=all")
	require.Equal(t, 2, r.code)
	require.NotContains(t, r.stderr, "boss")
	require.Contains(t, r.stderr, "log.level")
}

func TestHelp_EveryCommandHasATextAndAnExample(t *testing.T) {
	t.Parallel()
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		require.NotEmpty(t, cmd.Example, cmd.CommandPath())
		require.NotRegexp(t, `\.$`, cmd.Short, "%s: a short text has no full stop", cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(nil))

	for _, args := range [][]string{{}, {"--help"}, {"config"}, {"serve", "--help"}, {"migrate", "up", "--help"}} {
		r := adsync(nil, args...)
		require.Zero(t, r.code)
		require.Empty(t, r.stderr)
		require.Contains(t, r.stdout, "Examples:")
		require.Contains(t, r.stdout, "Usage:")
	}
}
