package stage

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProbe_WantsAnswersWithReasons(t *testing.T) {
	t.Parallel()
	i := &Instance{Seat: &Seat{Name: "p1", Role: "producer"}}
	ready := `{"ready":false,"phase":"serving","checks":[
		{"name":"kafka","ok":false,"reason":"no route"},{"name":"redis","ok":true}]}`
	tests := []struct {
		name, path, body string
		status           int
		err              error
		right            bool
	}{
		{name: "a figure", path: "/metrics", status: 200, right: true},
		{name: "silence", path: "/metrics", err: io.EOF},
		{name: "not ready, with a reason", path: "/readyz", status: 503, body: ready, right: true},
		{name: "not ready, without one", path: "/readyz", status: 503, body: `{}`},
		{name: "no tasks, with a reason", path: "/api/v1/tasks", status: 503,
			body: `{"detail":"the database does not answer"}`, right: true},
		{name: "no tasks, without one", path: "/api/v1/tasks", status: 500, body: `{}`},
		{name: "not alive", path: "/healthz", status: 500},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := NewProbe(nil)
			for range 2 { // one silent answer may be a single moment
				p.note(i, tt.path, tt.status, tt.body, tt.err)
			}
			require.Equal(t, tt.right, len(p.Complaints()) == 0, "%v", p.Complaints())
		})
	}
}
