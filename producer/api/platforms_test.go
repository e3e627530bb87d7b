package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlatforms_AreMadeChangedAndAudited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(body string) string {
		w := b.call(http.MethodPut, "/api/v1/platforms/tenth", body, adminToken)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		return w.Body.String()
	}
	put(`{"timezone":"Asia/Tokyo","currency":"JPY",
		"limits":[{"endpoint":"*","scope":"platform","period_ms":1000,"calls":5}]}`)
	require.JSONEq(t, `{"media":"tenth","timezone":"Asia/Tokyo","currency":"USD","enabled":true,"in_force":false,
		"limits":[{"endpoint":"*","scope":"platform","period_ms":1000,"calls":5}]}`, put(`{"currency":"USD"}`))
	require.Contains(t, b.get("/api/v1/platforms"), `"tenth"`)
	require.Contains(t, b.get("/api/v1/platforms/tenth"), `"timezone":"Asia/Tokyo"`)
	w := b.call(http.MethodPost, "/api/v1/platforms/tenth/accounts",
		`{"accounts":[{"external_id":"a1","name":"One"},{"external_id":"a2","timezone":"UTC","currency":"EUR"}]}`, adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	found, err := b.store.FindAccounts(t.Context(), "tenth", []string{"a1", "a2"})
	require.NoError(t, err)
	require.Equal(t, []string{"One", "Asia/Tokyo", "USD", "UTC", "EUR"}, []string{found["a1"].Name, found["a1"].Timezone,
		found["a1"].Currency, found["a2"].Timezone, found["a2"].Currency})
	require.True(t, found["a1"].Bound)
	require.Zero(t, found["a1"].TokenID)
	zones, err := b.store.ScopeZones(t.Context(), "tenth", nil)
	require.NoError(t, err)
	require.Len(t, zones, 2, "fan-outs include them")
	lines := b.auditText()
	require.Len(t, lines, 4)
	require.Contains(t, lines[0], "ada platform.put media_external/tenth")

	for body, field := range map[string]string{
		`{"timezone":"Mars"}`: "timezone", `{"currency":"usd"}`: "currency", `{"zone":"UTC"}`: "zone",
		`{"limits":[{"endpoint":"a*b","scope":"app","period_ms":1000,"calls":1}]}`: "limits[0].endpoint",
		`{"limits":[{"endpoint":"*","scope":"me","period_ms":1000,"calls":1}]}`:    "limits[0].scope",
	} {
		require.Equal(t, field, b.refused(http.MethodPut, "/api/v1/platforms/tenth", body)[0].Field, body)
	}
	require.Equal(t, "timezone", b.refused(http.MethodPut, "/api/v1/platforms/new", `{"currency":"USD"}`)[0].Field)
	for _, name := range []string{"tulip", "system", "external", "Tenth"} {
		require.Equal(t, "media", b.refused(http.MethodPut, "/api/v1/platforms/"+name,
			`{"timezone":"UTC","currency":"USD"}`)[0].Field, name)
	}
	require.Equal(t, "accounts[1].external_id", b.refused(http.MethodPost, "/api/v1/platforms/tenth/accounts",
		`{"accounts":[{"external_id":"a"},{"external_id":"a"}]}`)[0].Field)
	require.Equal(t, http.StatusNotFound, b.call(http.MethodPost, "/api/v1/platforms/none/accounts",
		`{"accounts":[{"external_id":"a"}]}`, adminToken).Code)
}
