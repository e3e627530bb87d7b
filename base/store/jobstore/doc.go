// Package jobstore has the statements of the job queue: published jobs, claims, dead letters, and the names and tokens
// of namespaces.
//
// A job is one row from its publication to its end. Nothing moves it when it becomes ready: delayed, ready and claimed
// jobs share one index on the moment at which they may be claimed next. A claim moves that moment to the end of its
// time to run, so a lost worker needs no one who notices.
//
// Jobs are in tables by the day of their id and a hash of their queue, which are dropped when their jobs are gone, so
// that cost does not grow with what has ended. Those that live longer are in job_kept. A job's id shows its table.
//
// All times are the database's.
package jobstore
