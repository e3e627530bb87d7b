package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/client"
	"adsync/producer/overview/overviewtest"
)

func TestOverview_MatchesTheTables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	overviewtest.Fill(t, b.store)
	var got client.Overview
	decode(t, b.get("/api/v1/overview"), &got)
	require.Empty(t, got.Troubles)
	require.EqualValues(t, overviewtest.Fresh, got.Media[0].Fresh)
	require.NotEmpty(t, got.Attention)
	require.Equal(t, "media", b.refused(http.MethodGet, "/api/v1/overview?media=tulip", "")[0].Field)
}
