package client

// SetBodyMax makes tests of the largest answer cheap.
func (t *Transport) SetBodyMax(n int64) { t.bodyMax = n }

// UnwrittenMost is how long after the end of its grant a request may still be written.
const UnwrittenMost = unwrittenMost
