package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJobs_ClaimsAreReleasedAndEndedWithoutSuccess(t *testing.T) {
	t.Parallel()
	q := newJobQueue(t)
	id := q.publish("shop/orders", "order 17")
	r := adsync(q.environ, "jobs", "consume", "shop/orders")
	require.Contains(t, r.stderr, "Job "+id+" of orders, claim 1:\n")
	require.Equal(t, "Released claim 1 of job "+id+".\n",
		q.run("release", "shop/orders", id, "--claim=1", "--state=page 17", "--delay=0s"))
	require.Equal(t, 1, adsync(q.environ, "jobs", "release", "shop/orders", id, "--claim=1").code, "it is stale")

	again := q.run("consume", "shop/orders", "--output=json")
	require.Regexp(t, `"claim": ?3\b`, again)
	require.Contains(t, again, `"cGFnZSAxNw=="`, "the state, in base64")
	require.Equal(t, "{}\n", q.run("nack", "shop/orders", id, "--claim=3", "--reason=no stock", "--output=json"))
	require.Contains(t, q.run("dead", "shop/orders"), "no stock")

	require.Equal(t, 2, adsync(q.environ, "jobs", "nack", "shop/orders", id).code, "the claim is required")
	require.Equal(t, 2, adsync(q.environ, "jobs", "nack", "shop/orders", "--claim=1").code)
}
