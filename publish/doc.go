// Package publish makes report files and delivers them: one file for each subscription and period, each with its own
// state in the table publication. The rows of a file come from a query, or from files of another program
// (filesource.go).
//
// The kind system.files (files.go) has three sorts of subtasks. Once a minute the part "plan" adds the files that are
// due (plan.go) and orders runs of them. Once an hour the parts "sweep/NAME" delete what closed files have left at each
// destination (sweep.go). The others make one file each, on a ladder of steps (delivery.go):
//
//	planned    the row is there
//	rendered   its rows are in a part file on this machine, with their number and SHA-256
//	uploaded   the file is at the destination under a temporary name
//	verified   what is there equals the part file
//	visible    the file has its name
//	published  its manifest is there too
//
// Each step can be repeated after a kill. A subtask that begins takes the row over; from then on an earlier try of the
// same file, which may only have been paused, can change neither the row nor, because its temporary file is deleted,
// the destination.
package publish
