package quota

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const isCaller = "ADSYNC_TEST_CALLER"

func TestMain(m *testing.M) {
	if os.Getenv(isCaller) == "" {
		os.Exit(m.Run())
	}
	if err := Call(context.Background(), os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestOrder_EachAccountHasTheTokenOfItsLogin(t *testing.T) {
	t.Parallel()
	w := &drilled{ctx: t.Context(), scenario: Scenarios(time.Minute)[0]}
	defer w.end()
	require.NoError(t, w.startPlatform())
	require.Len(t, w.tokens, 80, "a login reaches a hundred accounts")
	o, used := Order{Tokens: w.tokens}, map[string]int{}
	for n := range Accounts {
		used[o.token(strconv.Itoa(n))]++
	}
	require.Len(t, used, 80)
	for _, accounts := range used {
		require.Equal(t, 100, accounts)
	}
}

// Three processes share a real Redis, and one of them dies.
func TestDrill_ProcessesShareALimit(t *testing.T) {
	t.Parallel()
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("it needs the program redis-server")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	s := Named(Scenarios(8*time.Second), []string{"killed"})[0]
	s.WarmUp = 4 * time.Second
	d := Drill{Self: "/usr/bin/env", SelfArgs: []string{isCaller + "=1", self}, RedisServer: redis, Spread: testSpread,
		Limiter: LimiterOurs, Log: t.Output()}
	f, err := d.Play(t.Context(), s)
	require.NoError(t, err)
	// Calls that take longer than the spread, as on a machine that is busy with something else, are not covered by any
	// promise.
	tooLong := max(0, f.SpreadSeconds-testSpread.Seconds())
	over := int(math.Ceil(tooLong * float64(s.Limits[0].Calls) / s.Limits[0].Period.Seconds()))
	require.LessOrEqual(t, f.Overspent, over, "%+v", f)
	if over == 0 {
		require.Zero(t, f.Refused, "%+v", f)
	}
	require.Greater(t, f.UseRatio, 0.8, "what the dead process had been granted is lost: %+v", f)
}
