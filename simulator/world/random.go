package world

import "math/bits"

// Key is a node in the tree of the world's random numbers. Each thing has a key that is computed from its parent's
// key and its own number, and all its random properties come from its key. So any part of the world can be computed
// at any time, without the parts before it. It uses only integers: floats may differ between processors.
type Key uint64

// Sub returns the key of the n-th child, with the mixing function of SplitMix64.
func (k Key) Sub(n uint64) Key {
	x := uint64(k) + (n+1)*0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return Key(x ^ x>>31)
}

// Below returns a number in [0, n).
func (k Key) Below(n int64) int64 {
	hi, _ := bits.Mul64(uint64(k), uint64(n))
	return int64(hi)
}

// between returns a number in [lo, hi].
func (k Key) between(lo, hi int64) int64 { return lo + k.Below(hi-lo+1) }

// Chance returns true for percent of 100 keys.
func (k Key) Chance(percent int64) bool { return k.Below(100) < percent }

// octaves returns a number in [lo, lo<<n). Each doubling is equally likely: many numbers are small, few are large.
func (k Key) octaves(lo int64, n uint) int64 {
	u := k.Below(int64(n) << 8)
	return (lo * (256 + u&255) >> 8) << (u >> 8)
}

// pick returns one item of a list.
func pick[T any](k Key, list []T) T { return list[k.Below(int64(len(list)))] }
