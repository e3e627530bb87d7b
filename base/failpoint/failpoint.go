// Package failpoint names the places where a crash would be hardest to survive, so that a test can cause faults
// exactly there.
//
// In a normal build a point has no effect. Built with the tag chaos, the program watches the directory in the
// environment variable ADSYNC_FAILPOINTS. A file there with the name of a point arms the point. Its text is the act:
//
//	kill          the process kills itself
//	stop          the process stops itself (SIGSTOP), until it is continued
//	panic         the goroutine panics
//	wait 5s       the goroutine waits; "kill 5s", "stop 5s" and "panic 5s" wait likewise before they act
//
// and a last word "after=N" skips N passes first, as in "kill after=3". A point strikes once: it removes its file,
// and adds its name to the file "struck" before it acts, so that a test can check whether the fault occurred.
package failpoint
