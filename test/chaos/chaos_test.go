package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/test/chaos/judge"
	"adsync/test/chaos/mutants"
	"adsync/test/chaos/stage"
)

func TestScenarios_AreNamedOnceAndSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, s := range scenarios {
		require.False(t, names[s.name], "%s is there twice", s.name)
		names[s.name] = true
		require.NotEmpty(t, s.doc, s.name)
		require.NotEqual(t, s.steps == nil, s.special == nil, s.name)
	}
	for _, m := range mutants.All {
		for _, name := range m.Scenarios {
			require.True(t, names[name], "the mutant %s names the scenario %s, which is not there", m.Name, name)
		}
	}
}

func TestParseOptions(t *testing.T) {
	t.Parallel()
	o, err := parseOptions([]string{"-scenario", "redis-killed, kafka-paused", "-seed", "7"}, io.Discard)
	require.NoError(t, err)
	require.Len(t, o.scenarios, 2)
	require.EqualValues(t, 7, o.seed)

	o, err = parseOptions(nil, io.Discard)
	require.NoError(t, err)
	require.NotZero(t, o.seed, "a new one")
	require.Len(t, o.scenarios, len(groups)*perGroup)

	o, err = parseOptions([]string{"-soak", "60"}, io.Discard)
	require.NoError(t, err)
	require.Len(t, o.scenarios, 1)
	require.Equal(t, 15, o.scenarios[0].speed, "15 hours of the world's day")

	for _, tt := range []struct {
		args []string
		err  string
	}{
		{[]string{"-scenario", "nothing"}, `there is no scenario "nothing": want one of`},
		{[]string{"-scenario", "redis-killed", "-long"}, "exclude each other"},
		{[]string{"-parallel", "0"}, "want 1 or more"},
		{[]string{"-soak", "9"}, "want 10 to 900 minutes"},
		{[]string{"-soak", "60", "-long"}, "and no -scenario"},
		{[]string{"-mutants", "nobody"}, `there is no mutant "nobody"`},
		{[]string{"-mutants", "all", "-long"}, "leave the other flags out"},
	} {
		_, err := parseOptions(tt.args, io.Discard)
		require.ErrorContains(t, err, tt.err)
	}
}

func TestStatement(t *testing.T) {
	t.Parallel()
	query := func(text string) []byte {
		return append([]byte{byte(len(text) + 1), 0, 0, 0, comQuery}, text...)
	}
	require.True(t, isCommit(query("COMMIT")))
	require.False(t, isCommit(query("SELECT 'COMMIT'")))
	require.False(t, isCommit([]byte("COMMIT")), "no packet")
	require.True(t, isWrite(query("UPDATE run SET state = 'x'")))
	require.True(t, isWrite(query("insert into run values (1)")))
	require.False(t, isWrite(query("SELECT 1 FOR UPDATE")))
	require.False(t, isWrite(query("UPDATE run SET state = 'x'")[:20]), "only a part of a statement")
	require.Equal(t, []byte("\x0f\x00\x00\x01\xff\x5a\x04#HY000disk f"), errPacket(1114, "HY000", "disk f"))
}

// Without Redis serial holds within a process only: then two subtasks at once are no broken promise, and no kept one.
func TestJudgeSerial_ProvesNothingWhenRedisDidNotAnswer(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../consumer/claims.go")
	require.NoError(t, err)
	require.Contains(t, string(source), `"`+apartNoMore+`"`, "the consumers still say it so")
	warning := `{"time":"2026-11-21T10:00:00Z","level":"WARN","msg":"` + apartNoMore + `"}` + "\n"
	tests := []struct {
		name       string
		pairs      int
		logs       map[string]string
		void, fail bool
	}{
		{name: "none at once", logs: map[string]string{"c2": warning}},
		{name: "some at once", pairs: 2, fail: true},
		{name: "some at once, while a consumer was without Redis", pairs: 2, logs: map[string]string{"c2": warning},
			void: true},
		{name: "some at once, while a producer was", pairs: 2, logs: map[string]string{"p1": warning}, fail: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := &deployment{dir: t.TempDir()}
			for name, role := range map[string]string{"p1": "producer", "c1": "consumer", "c2": "consumer"} {
				d.instances = append(d.instances, &stage.Instance{Logs: d.dir,
					Seat: &stage.Seat{Name: name, Role: role}})
				require.NoError(t, os.WriteFile(filepath.Join(d.dir, name+".log"), []byte(tt.logs[name]), 0o600))
			}
			x := &trial{deployment: d}
			require.NoError(t, x.judgeSerial(tt.pairs))
			require.Equal(t, tt.fail, len(x.problems) > 0, "%v", x.problems)
			require.Equal(t, tt.void, len(x.unproved) > 0, "%v", x.unproved)
		})
	}
}

func TestSign_TellsAFaultFromABusyMachine(t *testing.T) {
	t.Parallel()
	_, ok := sign(judge.Verdict{Verdict: judge.Fail, Problems: []judge.Problem{{Kind: judge.Harmed, Text: "slow"}}}, false)
	require.False(t, ok)
	text, ok := sign(judge.Verdict{Verdict: judge.Fail,
		Problems: []judge.Problem{{Kind: judge.Harmed, Text: "slow"}, {Kind: judge.Overrun, Text: "refused"},
			{Kind: judge.Lost, Text: "gone"}}}, false)
	require.True(t, ok)
	require.Equal(t, "lost: gone", text)
}

func TestChoose_TakesSomeOfEveryGroupByTheSeed(t *testing.T) {
	t.Parallel()
	names := func(seed int64) (all []string) {
		for _, s := range choose(seed) {
			require.False(t, s.long, s.name)
			all = append(all, s.name)
		}
		return all
	}
	again := names(1)
	require.Equal(t, names(1), again)
	require.NotEqual(t, names(1), names(2))
	chosen := map[string]bool{}
	for seed := range int64(200) {
		for _, name := range names(seed) {
			chosen[name] = true
		}
	}
	for _, s := range scenarios {
		require.Equal(t, !s.long, chosen[s.name], "%s: all that are not long have their turn", s.name)
	}
}
