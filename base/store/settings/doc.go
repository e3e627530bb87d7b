// Package settings reads and writes the config database: cron_task and lane, rate_limit and rate_limit_learned, media_app, media_login,
// media_token and account_login, media_account, report_field, oauth_state, audit_log and audit_row, ended_session; and in the data
// database what the leader remembers of tasks: task_schedule and task_good.
//
// Transactions. A change of rows that operators own (Edit) holds its table's row of audit_row first, then reads and changes the rows, then
// writes audit_log: a change and its entry are there together, and what was changed by SQL is noted before it. A login's token is renewed
// by its generation: of two renewals one wins. Accounts that a login reaches are put in the order of the platform's ids. task_schedule and
// task_good are written under the leader's row.
//
// Statements. Plain reads and writes are models and the query builder, also where a read locks (sqldb.ForUpdate). SQL by hand is for what
// they do not have: inserts that leave known rows alone (account.go, login.go, token.go), a locking join of three tables (route), rows with
// the database's own time (oauthstate.go, reportfield.go), an order of assignments that matters (park.go), a table that is known only at
// run time (edit.go, sqledits.go), and one statement that decides (ClaimOAuthState, LearnLimit).
//
// Promises. Secrets are sealed before they are written. What an operator wrote (a tier, a zone, a parking) is never overwritten
// by what a platform says. Reads of a table with unusable rows return those rows too: who reads judges them.
package settings

import "adsync/base/sqldb"

// Tasks reads and writes cron_task and lane, which operators edit, and task_good, the last rows that could be used.
type Tasks struct{ *sqldb.Databases }

// Accounts reads and writes media_account: who is pulled, with what tier, and who is parked.
type Accounts struct{ *sqldb.Databases }

// LoginKeys reads and writes media_token, the keys of each login and its state, and what a person is authorising.
type LoginKeys struct{ *sqldb.Databases }

// Limits reads and writes call_limit.
type Limits struct{ *sqldb.Databases }

// Fields reads and writes report_field: the columns of reports that operators choose.
type Fields struct{ *sqldb.Databases }

// Trail reads and writes audit_log, also of what was changed by SQL.
type Trail struct{ *sqldb.Databases }

// Sessions keeps which sessions of browsers were ended before their time.
type Sessions struct{ *sqldb.Databases }
