// Package failpoint names the places where a crash would be hardest to survive, so that a test can strike just there.
//
// In a program built as usual a point is nothing. Built with the tag chaos, the program watches the directory that the
// environment variable ADSYNC_FAILPOINTS names: a file there, called like a point, arms it. Its text is the act:
//
//	kill          the process kills itself
//	stop          the process stops itself (SIGSTOP), until somebody continues it
//	panic         the goroutine panics
//	wait 5s       the goroutine waits; "kill 5s", "stop 5s" and "panic 5s" wait likewise before they act
//
// and a last word "after=N" lets N passes go by first, as in "kill after=3". A point strikes once: it takes its file
// away, and adds its name to the file "struck" before it acts, so that a test can tell whether the fault happened.
package failpoint
