package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lmstfyNames are all metrics of lmstfy, from its source.
const lmstfyNames = `http_latency_milliseconds http_http_codes http_rate_limit redis_publish_jobs redis_consume_jobs
redis_consume_multi_jobs redis_pool_add_jobs redis_pool_get_jobs redis_pool_delete_jobs redis_timer_add_jobs
redis_timer_due_jobs redis_timer_full_batches redis_queue_direct_push_jobs redis_queue_pop_jobs
redis_deadletter_respawn_jobs redis_publish_queue_jobs redis_consume_queue_jobs redis_job_elapsed_ms
redis_job_ack_elapsed_ms redis_timer_sizes redis_queue_sizes redis_deadletter_sizes redis_max_mem_bytes
redis_used_mem_bytes redis_connections redis_blocking_connections redis_total_keys redis_total_ttl_keys`

func TestLmstfy_AllItsMetricsAreOffered(t *testing.T) {
	r := newRig(t, nil)
	r.sendTo(r.admin, "PUT", "/token/shop/"+token+"/limit", `{"read":0,"write":4,"interval":600}`)
	id := r.publish("/api/shop/q", "x")
	r.publish("/api/shop/q?delay=9", "x")
	r.publish("/api/shop/q", "left")
	r.publish("/api/shop/dead", "x")
	require.Equal(t, 429, r.send("PUT", "/api/shop/q", "x").status)
	r.send("GET", "/api/shop/dead?ttr=1", "")
	r.send("GET", "/api/shop/q", "")
	r.clock.add(time.Second)
	r.send("DELETE", "/api/shop/q/job/"+id, "")
	r.lookNow()
	text := r.sendTo(r.admin, "GET", "/metrics", "").body
	for name := range strings.FieldsSeq(lmstfyNames) {
		require.Contains(t, text, "\n# TYPE infra_lmstfy_"+name+" ", "its metric is missing: %s", name)
	}
	for _, line := range []string{
		`redis_publish_jobs{pool="default"} 4`, `redis_timer_add_jobs{pool="default"} 1`,
		`redis_queue_direct_push_jobs{pool="default"} 3`, `redis_consume_jobs{pool="default"} 2`,
		`redis_pool_delete_jobs{pool="default"} 1`,
		`redis_publish_queue_jobs{namespace="shop",pool="default",queue="q"} 3`,
		`redis_consume_queue_jobs{namespace="shop",pool="default",queue="q"} 1`,
		`redis_job_ack_elapsed_ms_sum{namespace="shop",pool="default",queue="q"} 1000`,
		`redis_queue_sizes{namespace="shop",pool="default",queue="q"} 1`,
		`redis_deadletter_sizes{namespace="shop",pool="default",queue="q"} 0`,
		`http_rate_limit{action="produce",namespace="shop",pool="default",token="` + token[:12] + `"} 1`,
		`http_http_codes{api="/api/:namespace/:queue",code="201",method="PUT",namespace="shop",pool="default"} 4`,
	} {
		require.Contains(t, text, "\ninfra_lmstfy_"+line+"\n")
	}
}

func TestLmstfy_OnlySomeQueuesHaveSeriesOfTheirOwn(t *testing.T) {
	r := newRig(t, nil)
	r.api().tokens = nil
	for i := range namedQueuesFirst + 2 {
		r.publish("/api/shop/q"+strings.Repeat("x", i), "x")
	}
	last := "q" + strings.Repeat("x", namedQueuesFirst+1)
	text := r.sendTo(r.admin, "GET", "/metrics", "").body
	require.Contains(t, text, `publish_queue_jobs{namespace="shop",pool="default",queue="(others)"} 2`)
	require.NotContains(t, text, `queue="`+last+`"`)
	for range 3 {
		r.publish("/api/shop/"+last, "x")
	}
	r.lookNow()
	r.publish("/api/shop/"+last, "x")
	require.Contains(t, r.sendTo(r.admin, "GET", "/metrics", "").body,
		`publish_queue_jobs{namespace="shop",pool="default",queue="`+last+`"} 1`, "it is among the largest")
}
