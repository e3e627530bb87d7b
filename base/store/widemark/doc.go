// Package widemark marks the days whose rows of wide_daily are to be built anew.
//
// Its table is wide_day. A mark is written in the transaction that changes what the wide table is built from, and last there, with the days
// ascending: rebuilds hold these rows and wait for nothing else. A mark only rises, so that a rebuild clears no mark that it has not read.
package widemark
