// Package widemark marks the days whose rows of wide_daily must be rebuilt.
//
// Its table is wide_day. A mark is written last in the transaction that changes the sources of the wide table, with
// the days ascending: rebuilds lock these rows and wait for no other lock. A mark only rises, so that a rebuild
// clears no mark that it has not read.
package widemark
