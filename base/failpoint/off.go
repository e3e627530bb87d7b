//go:build !chaos

package failpoint

// Hit passes a point. It does nothing in this build.
func Hit(string) {}
