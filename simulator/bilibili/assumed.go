package bilibili

import "adsync/simulator/platform"

// The names of behaviour that no source states.
//
//nolint:gosec // tokenStatus and its neighbours are names of answers, not credentials.
const (
	tokenStatus   = "http_status_token" // the HTTP status of refusals of an access token
	limitStatus   = "http_status_limit" // likewise of refusals by a limit; 429 comes with Retry-After
	overlap       = "overlap"           // how many accounts of the next login a login reaches too
	pageMax       = "page_size"         // the largest page of lists
	deletedListed = "deleted_listed"    // 1: a status of ALL lists deleted objects too
	statusActive  = "status_active"     // the numbers of statuses
	statusPaused  = "status_paused"
	statusDeleted = "status_deleted"
	reportDays    = "report_days"    // how many days a report has at most
	reportTotal   = "report_total"   // 1: a report has the number of its rows
	flatRows      = "flat_rows"      // 1: a report's rows have no groups
	dayTimes      = "day_times"      // 1: a report's days have a time
	todayReported = "today_reported" // 1: reports have the present day
	reportDelay   = "report_delay"   // how many seconds old the figures of reports are
	codeToken     = "code_token"     // of an access token that is missing, expired, replaced or unknown
	codeApp       = "code_app"
	codeAuth      = "code_auth_code"
	codeRefresh   = "code_refresh_token"
	codeReplaced  = "code_refresh_replaced" // of a refresh token that was replaced by a later one
	codeForbidden = "code_forbidden"
	codeClosed    = "code_account_closed"
	codeParameter = "code_parameter"
	codeLimit     = "code_limit"
	codeBusy      = "code_busy"
)

func assumed() map[string]int64 {
	return map[string]int64{
		tokenStatus: 200, limitStatus: 200, overlap: 0, pageMax: 100, platform.ZoneSeconds: 28_800,
		deletedListed: 1, statusActive: 1, statusPaused: 2, statusDeleted: 4,
		reportDays: 1, reportTotal: 1, flatRows: 0, dayTimes: 0, todayReported: 1, reportDelay: 0,
		codeToken: 40_001, codeApp: 40_002, codeAuth: 40_003, codeRefresh: 40_004, codeReplaced: 40_005,
		codeForbidden: 40_301, codeClosed: 40_302, codeParameter: 40_000, codeLimit: -429, codeBusy: 50_001,
	}
}

// wrong returns a failure for a parameter.
func wrong(c *platform.Call, format string, args ...any) *platform.Failure {
	return c.Refusal(codeParameter, format, args...)
}
