// Package localhost recognises requests that were sent to this machine under its own name.
//
// A page of any site can let its own name resolve to a loopback address, and a browser on this machine then sends
// that page's requests here (DNS rebinding). Only the Host header shows it: it contains the page's name.
package localhost

import (
	"net"
	"net/http"
	"strings"
)

// Is reports whether a host without a port is "localhost" or a loopback address.
func Is(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Named reports whether the Host header of a request names this machine's loopback address. Host is that name,
// without its port.
func Named(r *http.Request) (host string, named bool) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	return host, Is(host)
}

// Rebound reports whether a request reached a loopback address under another name. It is false for a request without
// a connection, as in a test, and on every other address, where the names are unknown.
func Rebound(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return false
	}
	address, _, err := net.SplitHostPort(local.String())
	if err != nil || !Is(address) {
		return false
	}
	_, named := Named(r)
	return !named
}
