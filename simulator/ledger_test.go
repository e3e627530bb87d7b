package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/ledger"
)

type ledgerAnswer struct {
	Totals ledger.Counts
	Groups []ledger.Group
}

func (s *sim) askLedger(pairs ...string) (a ledgerAnswer) {
	s.t.Helper()
	w := s.control(http.MethodGet, "ledger?"+query(pairs...).Encode(), nil)
	require.Equal(s.t, 200, w.Code, "%s", w.Body)
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &a))
	return a
}

func TestLedger_CountsEveryCallByItsKnownKeys(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	one, two, oce := s.account("tencent", 0), s.account("tencent", 1), s.account("oceanengine", 0)
	for range 3 {
		s.tencentCall(one, "adgroups/get")
	}
	s.tencentCall(two, "adgroups/get", "page", "0")
	s.oceanCall(oce, "v3.0/promotion/list/")
	s.do(s.oceanRequest("nobody", "v3.0/promotion/list/", query("advertiser_id", idText(oce.ID))))
	s.tencentCall(one, "made/up")
	require.EqualValues(t, 7, s.askLedger().Totals.Calls)
	require.EqualValues(t, 3, s.askLedger("media", "tencent", "answer", "0").Totals.Calls)
	require.EqualValues(t, 2, s.askLedger("endpoint", "v3.0/promotion/list/").Totals.Calls)
	require.EqualValues(t, 1, s.askLedger("endpoint", "unknown").Totals.Calls)
	app := s.credentials("tencent").AppID
	require.EqualValues(t, 4, s.askLedger("app", app).Totals.Calls)
	require.EqualValues(t, 3, s.askLedger("account", idText(one.ID)).Totals.Calls)
	groups := s.askLedger("group", "account,answer", "media", "tencent").Groups
	zero, small := 0, 18004
	require.Equal(t, []ledger.Group{
		{Account: idText(one.ID), Answer: &zero, Counts: ledger.Counts{Calls: 3}},
		{Account: idText(two.ID), Answer: &small, Counts: ledger.Counts{Calls: 1}},
	}, groups)
	seconds := s.askLedger("group", "second")
	sum := int64(0)
	for _, g := range seconds.Groups {
		sum += g.Calls
		require.Equal(t, g.Calls, s.askLedger("from", fmt.Sprint(g.Second), "to", fmt.Sprint(g.Second+1)).Totals.Calls)
	}
	require.EqualValues(t, 7, sum)
	for _, bad := range []string{"group=day", "from=x", "to=x", "answer=x", "group=account,second", "account=1&from=5"} {
		require.Equal(t, 400, s.control(http.MethodGet, "ledger?"+bad, nil).Code, bad)
	}
}
