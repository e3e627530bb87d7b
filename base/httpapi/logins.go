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
	// loginTries is how many wrong tokens an address may try in a loginWindow. The same one again is a client that was
	// given the wrong one, and guesses nothing.
	loginTries  = 10
	loginWindow = time.Minute
	// loginAddresses is how many addresses are remembered at a time.
	loginAddresses = 10_000
	// sweepInterval is how often all of them are looked at, at the most: whoever has very many addresses must not have
	// that done for each.
	sweepInterval = time.Second
)

// logins remembers which addresses try one wrong token after the other.
type logins struct {
	mu     sync.Mutex
	failed map[netip.Prefix]*failedLogins
	swept  time.Time // when those whose window is over were last forgotten
}

type failedLogins struct {
	began time.Time // a reading of the process's clock
	tried []uint64  // of each wrong token a part of its hash
}

func newLogins() *logins { return &logins{failed: map[netip.Prefix]*failedLogins{}} }

// wait returns how long an address has to wait before it may try a token; 0 = it may now.
func (l *logins) wait(address string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.failed[network(address)]
	if f == nil || len(f.tried) < loginTries {
		return 0
	}
	return max(0, loginWindow-clock.Since(f.began))
}

// fail notes that an address has tried a wrong token.
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

// makeRoom forgets those whose window is over, and if there are none some other one: whoever has so many addresses is
// not held up by this.
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

// network is what one client has: an address of IPv4, or a /64 of IPv6, any of whose addresses it may take.
func network(address string) netip.Prefix {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{} // All that cannot be told apart are one.
	}
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	prefix, _ := ip.Prefix(bits) // The number of bits fits.
	return prefix
}
