package tiktok

import (
	"adsync/simulator/platform"
)

// The names of behaviour that the documents do not state.
const (
	forbiddenFails   = "forbidden_fails"    // 1: one forbidden account fails a call for several; 0: it is left out
	smartAdsTimed    = "smart_ads_timed"    // 1: ads of Smart+ campaigns have a time of modification
	idleRows         = "idle_rows"          // 1: reports without a time dimension have objects without figures
	manyDecimals     = "many_decimals"      // 1: money of several accounts has decimals
	ratesInPercent   = "rates_in_percent"   // 1: rates are in percent
	repeatedHours    = "repeated_hours"     // 1: an hour that occurs twice has two rows; 0: one with their sum
	idsMax           = "ids_max"            // how many objects a report has: the newest
	billedDelay      = "billed_delay"       // how many seconds after its end a day or hour has billed_cost
	cashDelay        = "cash_delay"         // how many seconds after its end a day has cash_spend and voucher_spend
	taskPolls        = "task_polls"         // how often a task's state is read until it is done
	taskLife         = "task_life"          // for how many seconds a task is kept
	taskHidesDeleted = "task_hides_deleted" // 1: asynchronous reports have no deleted objects
	fileMark         = "file_mark"          // 1: a file begins with a byte order mark
	fileReturn       = "file_return"        // 1: its lines end with CR and LF, otherwise with LF
	codeApp          = "code_app"           // of an unknown app or a wrong secret
	codeClosed       = "code_account_closed"
	codeQuota        = "code_quota" // of a limit that is not the app's limit per second
	codeBusy         = "code_busy"
	codeTaskGone     = "code_task_gone"
)

// The documented codes.
const (
	codeForbidden   = 40001
	codeParameter   = 40002
	codeUnknownPath = 40007
	codeLimit       = 40100
	codeOldToken    = 40102
	codeNoToken     = 40104
	codeBadToken    = 40105
	codeAuthCode    = 40110
	codeTaskError   = 40200
	codeTaskRuns    = 40201
	codeSystem      = 50000
)

func assumed() map[string]int64 {
	return map[string]int64{
		forbiddenFails: 1, smartAdsTimed: 0, idleRows: 1, manyDecimals: 0, ratesInPercent: 1, repeatedHours: 1,
		idsMax: 20_000, billedDelay: 11 * 3600, cashDelay: 86_400,
		taskPolls: 2, taskLife: 7 * 86_400, taskHidesDeleted: 1, fileMark: 1, fileReturn: 1,
		codeApp: 40_113, codeClosed: 40_001, codeQuota: 40_133, codeBusy: 61_000, codeTaskGone: 40_007,
	}
}

// refusal returns a failure whose code is an assumed one.
func refusal(c *platform.Call, code, format string, args ...any) *platform.Failure {
	return platform.Failf(int(c.Assumed(code)), format, args...)
}

// wrong returns a failure for a parameter.
func wrong(format string, args ...any) *platform.Failure {
	return platform.Failf(codeParameter, format, args...)
}
