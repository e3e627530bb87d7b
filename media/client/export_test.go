package client

// SetBodyMax makes tests of the largest answer cheap.
func (t *Transport) SetBodyMax(n int64) { t.bodyMax = n }
