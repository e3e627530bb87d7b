package httpapi

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"slices"
	"sync"
	"time"

	"adsync/base/clock"
)

const (
	// loginTries is the number of different wrong tokens that an address may try in a loginWindow. A client that repeats
	// one wrong token is misconfigured, and guesses nothing.
	loginTries  = 10
	loginWindow = time.Minute
	// loginAddresses is the number of addresses that are remembered.
	loginAddresses = 10_000
	// sweepInterval is the least time between two scans of all addresses, so that a caller with very many addresses does
	// not cause one scan for each.
	sweepInterval = time.Second
)

// logins counts the wrong tokens of addresses.
type logins struct {
	mu     sync.Mutex
	failed map[netip.Prefix]*failedLogins
	swept  time.Time // of the last scan for windows that are over
}

type failedLogins struct {
	began time.Time // a reading of the process's clock
	tried []uint64  // a part of the hash of each wrong token
}

func newLogins() *logins { return &logins{failed: map[netip.Prefix]*failedLogins{}} }

// wait returns the time after which an address may try a token; 0: now.
func (l *logins) wait(address string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.failed[network(address)]
	if f == nil || len(f.tried) < loginTries {
		return 0
	}
	return max(0, loginWindow-clock.Since(f.began))
}

// fail records that an address has tried a wrong token.
func (l *logins) fail(address string, hash [sha256.Size]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from, token := network(address), binary.BigEndian.Uint64(hash[:])
	f := l.failed[from]
	if f == nil || clock.Since(f.began) >= loginWindow {
		l.makeRoom()
		f = &failedLogins{began: clock.Mark()}
		l.failed[from] = f
	}
	if len(f.tried) < loginTries && !slices.Contains(f.tried, token) {
		f.tried = append(f.tried, token)
	}
}

// makeRoom drops addresses whose window is over. If there are none it drops any other one: counting does not stop a
// caller that has so many addresses.
func (l *logins) makeRoom() {
	if len(l.failed) < loginAddresses {
		return
	}
	if clock.Since(l.swept) >= sweepInterval {
		l.swept = clock.Mark()
		for from, f := range l.failed {
			if clock.Since(f.began) >= loginWindow {
				delete(l.failed, from)
			}
		}
	}
	for from := range l.failed {
		if len(l.failed) < loginAddresses {
			return
		}
		delete(l.failed, from)
	}
}

// network returns the addresses that one client can use: an address of IPv4, or a /64 of IPv6.
func network(address string) netip.Prefix {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{} // All unreadable addresses count as one.
	}
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	prefix, _ := ip.Prefix(bits) // The number of bits fits.
	return prefix
}
