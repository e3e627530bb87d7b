// Package quota proves how call limits are kept: scenarios of processes that want more calls than there are, that come, die and lose their Redis,
// are played in virtual time (Simulate) and with processes on a real Redis against a platform that counts strictly (Drill). Both give the
// same figures.
package quota
