// Package settings reads and writes the config database: cron_task and lane, rate_limit and rate_limit_learned,
// media_app, media_login, media_token and account_login, media_account, report_field, oauth_state, audit_log and
// audit_row, ended_session. In the data database it reads and writes what the leader keeps of tasks: task_schedule
// and task_good.
//
// Transactions. A change of rows that operators own (Edit) first locks its table's row of audit_row, then reads and
// changes the rows, then writes audit_log. So a change and its entry are committed together, and earlier edits by SQL
// are recorded before it. A login's tokens are replaced by generation: of two refreshes one wins. The accounts that a
// login reaches are written in the order of the platform's ids. task_schedule and task_good are written under the
// leader's row.
//
// Statements. Plain reads and writes use models and the query builder, also where a read locks (sqldb.ForUpdate). SQL
// by hand is for what they lack: inserts that leave existing rows alone (account.go, login.go, token.go), a locking
// join of three tables (route), rows with the database's own time (oauthstate.go, reportfield.go), an order of
// assignments that matters (park.go), a table that is known only at run time (edit.go, sqledits.go), and a claim in
// one statement (ClaimOAuthState, LearnLimit).
//
// Promises. Secrets are sealed before they are written. A platform's data never overwrites an operator's (a tier, a
// zone, a parking). Reads of a table with unusable rows return those rows too: the caller checks them.
package settings

import "adsync/base/sqldb"

// Tasks reads and writes cron_task and lane, which operators edit, and task_good, the last usable rows.
type Tasks struct{ *sqldb.Databases }

// Accounts reads and writes media_account: which accounts are pulled, their tiers, and which are parked.
type Accounts struct{ *sqldb.Databases }

// LoginKeys reads and writes media_token, the tokens and state of each login, and oauth_state, the authorisations
// under way.
type LoginKeys struct{ *sqldb.Databases }

// Limits reads and writes rate_limit and rate_limit_learned.
type Limits struct{ *sqldb.Databases }

// Fields reads and writes report_field: the columns of reports that operators choose.
type Fields struct{ *sqldb.Databases }

// AuditLog reads and writes audit_log, including edits by SQL.
type AuditLog struct{ *sqldb.Databases }

// Sessions stores which sessions of browsers were ended before their time.
type Sessions struct{ *sqldb.Databases }
