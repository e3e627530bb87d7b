// Package leader has the row that decides which process leads, and the writes that only the leader may make.
//
// Its table is leader, one row in the data database. A transaction of Tx or IdempotentTx locks that row before all
// others, so that no other term begins before it ends. InsertGuarded and UpdateGuarded are single statements that
// read the row with a lock. All return lease.ErrStaleLease, or change nothing, when the lease does not hold.
package leader
