package localhost

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamed(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1:8080", "127.1.2.3", "localhost:8080", "LocalHost", "[::1]:8080", "[::1]"} {
		_, named := Named(&http.Request{Host: host})
		require.True(t, named, host)
	}
	for _, host := range []string{"evil.example:8080", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
		"10.0.0.1", "0.0.0.0", ""} {
		_, named := Named(&http.Request{Host: host})
		require.False(t, named, host)
	}
}

func TestRebound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, local, host string
		want              bool
	}{
		{"loopback under its own name", "127.0.0.1:9464", "localhost:9464", false},
		{"loopback under the name of a page", "127.0.0.1:9464", "evil.example:9464", true},
		{"loopback of IPv6 under the name of a page", "[::1]:9464", "evil.example:9464", true},
		{"an address of a network", "10.0.0.7:9464", "producer:9464", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			local, err := net.ResolveTCPAddr("tcp", test.local)
			require.NoError(t, err)
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Host = test.host
			require.False(t, Rebound(r), "there is no connection")
			require.Equal(t, test.want,
				Rebound(r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))))
		})
	}
}
