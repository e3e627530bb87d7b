package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/roster"
	"adsync/client"
)

func TestKinds_AreListedWithTheirTasksAndConsumers(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	const path, daily = "/api/v1/kinds", "tulip.report_daily"
	kinds := func(path string) map[string]client.Kind {
		t.Helper()
		var list client.KindList
		decode(t, b.get(path), &list)
		all := map[string]client.Kind{}
		for _, k := range list.Kinds {
			all[k.Name] = k
		}
		return all
	}
	task := client.KindTask{Name: "tulip.report_daily.account", Media: "tulip", Lane: "normal", ServedBy: []string{}}
	require.Equal(t, client.Kind{Name: daily, Target: "accounts", Tasks: []client.KindTask{task},
		ServedBy: []string{}}, kinds(path)[daily])
	require.Contains(t, kinds(path+"?unserved=true"), daily)

	pools := []roster.Pool{{Media: "tulip", Lane: "normal"}}
	for _, p := range []roster.Process{
		{ID: "does", Pools: pools, Kinds: []string{"acme.report_daily", daily, "zeta.report_daily"}},
		{ID: "does-not-know", Pools: pools, Kinds: []string{"acme.report_daily"}},
		{ID: "does-not-read", Pools: []roster.Pool{{Media: "tulip", Lane: "important"}}, Kinds: []string{daily}},
		{ID: "older", Pools: pools},
	} {
		require.NoError(t, b.roster.Report(t.Context(), p))
	}
	all := kinds(path)
	require.Equal(t, []string{"does", "older"}, all[daily].ServedBy)
	require.Equal(t, []string{"does", "older"}, all[daily].Tasks[0].ServedBy)
	require.NotContains(t, kinds(path+"?unserved=true"), daily)
	require.Greater(t, len(all), 1, "kinds without tasks are listed too")

	w := b.call(http.MethodGet, path+"?unserved=perhaps", "", viewerToken)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "unserved")
	require.NoError(t, b.redis.Close())
	require.Equal(t, http.StatusServiceUnavailable, b.call(http.MethodGet, path, "", viewerToken).Code)
}
