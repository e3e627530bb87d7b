// Package quota tests how call limits are kept. Its scenarios are of processes that want more calls than the limits
// allow, that join, die and lose their Redis. They are played in virtual time (Simulate), and with processes on a
// real Redis against a platform that counts strictly (Drill). Both return the same figures.
package quota
