package simulator

import "math/bits"

// key is a node in the tree of the world's random numbers: each thing of the world has a key made of its parent's
// and its own number, and all that is random about the thing is read from its key. So any part of the world can be
// made at any time, alone, without the parts before it. Integers only: floats may differ between processors.
type key uint64

// sub is the key of the n-th child, by the mixing function of SplitMix64.
func (k key) sub(n uint64) key {
	x := uint64(k) + (n+1)*0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return key(x ^ x>>31)
}

// below is a number of [0, n).
func (k key) below(n int64) int64 {
	hi, _ := bits.Mul64(uint64(k), uint64(n))
	return int64(hi)
}

// between is a number of [lo, hi].
func (k key) between(lo, hi int64) int64 { return lo + k.below(hi-lo+1) }

// chance is true for percent of 100 keys.
func (k key) chance(percent int64) bool { return k.below(100) < percent }

// octaves is a number of [lo, lo<<n) of which each doubling is as likely as the others: many small, few large.
func (k key) octaves(lo int64, n uint) int64 {
	u := k.below(int64(n) << 8)
	return (lo * (256 + u&255) >> 8) << (u >> 8)
}

// pick is one of a list.
func pick[T any](k key, list []T) T { return list[k.below(int64(len(list)))] }
