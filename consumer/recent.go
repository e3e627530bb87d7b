package consumer

import (
	"hash/maphash"
	"sync"

	"adsync/base/task"
)

// recentMax is how many deliveries are remembered: twice the unfinished span of all partitions that a consumer may own,
// which a rebalance can repeat.
const recentMax = 1 << 17

type sent struct {
	task.Key
	delivery int
}

// recent remembers deliveries that no longer ask for work, mostly the latest ones: their outcome is written, or their
// row has a later delivery. It saves reading the row of a repeated message, and never decides that one is wanted.
//
// Each delivery has one place, by its hash, which the next delivery with the same hash overwrites.
type recent struct {
	seed   maphash.Seed
	mu     sync.Mutex
	places []sent
}

func newRecent(size int) *recent {
	return &recent{seed: maphash.MakeSeed(), places: make([]sent, size)}
}

func (r *recent) place(s sent) *sent {
	return &r.places[maphash.Comparable(r.seed, s)%uint64(len(r.places))]
}

func (r *recent) add(s sent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*r.place(s) = s
}

func (r *recent) has(s sent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.place(s) == s
}
