package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
)

func TestLogLevel_IsOrderedByAdminsForATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = "/api/v1/log-level"
	require.JSONEq(t, `{}`, b.get(path))

	require.Equal(t, http.StatusForbidden, b.call(http.MethodPut, path, `{"level": "debug"}`, operatorToken).Code,
		"a debug log may fill a disk")
	w := b.call(http.MethodPut, path, `{"level": "loud", "role": "boss", "for_seconds": 86401}`, adminToken)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Len(t, b.problem(w).Errors, 3)

	w = b.call(http.MethodPut, path, `{"level": "debug", "role": "consumer", "for_seconds": 600}`, adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	var order struct{ Level, Role, By, Until string }
	decode(t, b.get(path), &order)
	require.Equal(t, []string{"debug", "consumer", "ada"}, []string{order.Level, order.Role, order.By})
	require.NotEmpty(t, order.Until)

	w = b.call(http.MethodDelete, path, "", adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.JSONEq(t, `{}`, b.get(path))
	require.Equal(t, 2, b.count(b.store.Config, "audit_log"))

	// An empty value does not count as left out.
	w = b.call(http.MethodPut, path, `{"level": "debug", "role": "", "node": ""}`, adminToken)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Equal(t, []httpapi.FieldError{{Field: "role", Detail: "is empty: want a value, or leave it out"},
		{Field: "node", Detail: "is empty: want a value, or leave it out"}}, b.problem(w).Errors)
	w = b.call(http.MethodPut, path, `{"level": "debug", "for_seconds": 0}`, adminToken)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Equal(t, []httpapi.FieldError{{Field: "for_seconds", Detail: "0 is refused: want 1 to 86400; without it 900"}},
		b.problem(w).Errors)
	require.JSONEq(t, `{}`, b.get(path))

	// The same level again moves only its end. The entry shows that: before and after have the same fields.
	for _, seconds := range []string{"600", "1200"} {
		require.Equal(t, http.StatusOK, b.call(http.MethodPut, path, `{"level": "debug", "for_seconds": `+seconds+`}`,
			adminToken).Code)
	}
	var before, after string
	require.NoError(t,
		b.store.Config.Writer(t.Context()).Raw(
			"SELECT before_value, after_value FROM audit_log ORDER BY id DESC LIMIT 1").Row().Scan(&before, &after))
	var was, is map[string]string
	decode(t, before, &was)
	decode(t, after, &is)
	require.Equal(t, []string{"debug", "ada"}, []string{was["level"], was["by"]})
	require.Less(t, was["until"], is["until"])
	delete(was, "until")
	delete(is, "until")
	require.Equal(t, was, is)
}
