package simulator

// pageOf is the bounds of a page by number in a list of n, and says of how many rows in all the answer tells. A trap moves one
// or the other, as rows that come and go while a client reads the pages do.
func (c *call) pageOf(page, size, n int) (from, to, total int) {
	from, to = pageOf(page, size, n)
	t := c.sim.traps
	if from == to || !t.any.Load() {
		return from, to, n
	}
	follows, isLast := page > 1, to == n
	switch {
	case follows && t.springs(c, trapPageRowTwice):
		return from - 1, to - 1, n
	case follows && t.springs(c, trapPageRowLost):
		return from + 1, min(to+1, n), n
	case follows && t.springs(c, trapPageTotalMoved):
		return from, to, n + 1
	case !isLast && t.springs(c, trapPageShort):
		return from, to - 1, n
	case !isLast && t.springs(c, trapPageEmpty):
		return from, from, n
	}
	return from, to, n
}

// skipsPage tells whether a page by cursor is empty though there is more: cursor is the place before its first row, and
// given the one that was asked for.
func (c *call) skipsPage(from, n int, given, cursor int64) bool {
	return from < n && cursor != given && c.sim.traps.springs(c, trapPageEmpty)
}
