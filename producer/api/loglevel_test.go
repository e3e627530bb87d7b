package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogLevel_IsOrderedByAdminsForATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = "/api/v1/log-level"
	require.JSONEq(t, `{}`, b.get(path))

	require.Equal(t, http.StatusForbidden, b.call(http.MethodPut, path, `{"level": "debug"}`, operatorToken).Code, "a debug log may fill a disk")
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
}
