// Package summaries builds the tables that people read from those that pulls write, in the data database:
// summary_daily and summary_hourly with summary_fence and summary_rebound, wide_daily, the copy of the business's own
// figures (partner_daily, partner_unusable), and binding_applied. Its sources account_binding and
// game are in the config database.
//
// Transactions. A rebuild reads its marks, then its sources in a snapshot or in steps, then writes under its own
// fence and clears the marks that still hold the value read. New bindings are applied under the leader's row:
// coverage first, since pulls lock it for their whole transaction, then summary_rebound, the bindings, and wide_day
// last. A copy of the partner's rows locks copy_cursor first and marks wide_day last.
//
// Promises. A change that commits while a rebuild reads is in its sums, or its mark stays. Of two rebuilds the later
// one's rows stay.
package summaries

import "adsync/base/sqldb"

// Summing rebuilds summaries.
type Summing struct{ *sqldb.Databases }

// WideRows rebuilds wide_daily.
type WideRows struct{ *sqldb.Databases }

// PartnerCopy copies the business's own figures.
type PartnerCopy struct{ *sqldb.Databases }

// GameBindings reads and writes which game an account belonged to on which days.
type GameBindings struct{ *sqldb.Databases }
