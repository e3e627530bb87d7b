package account_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
)

// Runs of one call each still unpark accounts, in the order in which they are due.
func TestProbe_OneCallARunUnparksAccounts(t *testing.T) {
	t.Parallel()
	l, c := newLife(t), newCloud()
	var ids []int64
	for i := range 3 {
		ids = append(ids, l.account(numbered(i), china))
	}
	for i, id := range []int64{ids[1], ids[2], ids[0]} {
		_, err := l.store.ParkAccount(t.Context(), id, "frozen: x", l.at.Add(time.Duration(i)*time.Second))
		require.NoError(t, err)
	}
	l.at = l.at.Add(settings.ParkGapMin - time.Second)
	l.probe(platform{cloud: c}, c, `{"calls":1}`)
	_, calls := c.take()
	require.Zero(t, calls, "none is due")
	l.at = l.at.Add(time.Minute)
	for _, want := range []int{1, 2, 0} {
		require.Equal(t, 1, l.probe(platform{cloud: c}, c, `{"calls":1}`))
		asked, calls := c.take()
		require.Equal(t, []string{numbered(want)}, asked)
		require.Equal(t, 1, calls)
		why, _, _ := l.parked(ids[want])
		require.Empty(t, why)
	}
}

// Parked accounts are probed with their own calls, which may fail. All calls of a run count towards its limit.
func TestProbe_ParkedAccountsAreApartAndWithinTheCalls(t *testing.T) {
	t.Parallel()
	l, c := newLife(t), newCloud()
	ids := l.sleeping(6)
	_, err := l.store.ParkAccount(t.Context(), ids[0], "frozen: x", l.at)
	require.NoError(t, err)
	l.at = l.at.Add(time.Hour)
	c.errs[numbered(0)] = errFrozen
	l.probe(platform{cloud: c}, c, `{"calls":3}`)
	asked, calls := c.take()
	require.Equal(t, 3, calls)
	require.Equal(t, []string{numbered(0), numbered(1), numbered(2)}, asked)

	l.at = l.at.Add(time.Hour)
	delete(c.errs, numbered(0))
	l.probe(wholesale{platform{cloud: c}}, c, `{"calls":2}`)
	_, calls = c.take()
	require.Equal(t, 2, calls, "a call of four sleeping accounts, and one of the parked")
	why, _, _ := l.parked(ids[0])
	require.Empty(t, why)
}

func TestProbe_UnparksAllAccountsOfALoginThatWorksAgain(t *testing.T) {
	t.Parallel()
	l, c := newLife(t), newCloud()
	const n = 503 // More than one statement reads at once.
	for i := range n {
		l.account(numbered(i), china)
	}
	l.exec(l.store.Config, "UPDATE media_account SET parked = ?", settings.ParkedLogin)
	require.Equal(t, n, l.probe(platform{cloud: c}, c, ""))
	var parked int
	require.NoError(t,
		l.store.Config.Writer(t.Context()).Raw("SELECT COUNT(*) FROM media_account WHERE parked <> ''").Row().Scan(&parked))
	require.Zero(t, parked)
}
