package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAccount_ExplainsWhyItIsLate(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	b.account("tulip", "9001", "active", "UTC", "frozen: code 7")
	b.account("tulip", "9002", "active", "UTC", "")
	require.JSONEq(t,
		`{"account": {"id": "1", "media": "tulip", "external_id": "9001", "name": "account 9001", "tier": "active",
		  "timezone": "UTC", "currency": "CNY",
	  "bound": true, "parked": "frozen: code 7"}, "late": true, "kind": "parked",
	    "why": "The account is parked: frozen: code 7.", "late_after_seconds": 0,
	  "command": "adsync accounts show tulip/9001"}`, b.get("/api/v1/accounts/tulip/9001/why"))
	require.Contains(t, b.get("/api/v1/accounts/-/9002/why"),
		`"kind":"no_task","why":"No usable task of cron_task pulls the hours of active accounts of tulip."`)
}
