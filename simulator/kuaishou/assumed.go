package kuaishou

import (
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// The names of behaviour that the documents do not state. Codes have a known meaning only as a group, so the code of
// each case is one of its group.
//
//nolint:gosec // codeOldToken and its neighbours are names of answers, not credentials.
const (
	errorStatus   = "http_status_error" // the HTTP status of refusals
	limitStatus   = "http_status_limit" // likewise of refusals by a limit; 429 comes with Retry-After
	approvalCode  = "code_approval"     // the code of a successful oauth2/authorize/approval/list: 1 in its sample
	listSizeMax   = "list_page_size"    // the largest page of campaigns, units and creatives
	nullDetails   = "null_details"      // 1: details of an empty page is null
	zoneSeconds   = platform.ZoneSeconds
	todayReported = "today_reported" // 1: real-time reports have the present day
	reportDelay   = "report_delay"   // how many seconds old the figures of real-time reports are
	zeroRows      = "zero_rows"      // 1: daily reports of accounts have days without figures
	taskPolls     = "task_polls"     // how many lists a task takes until it is done
	taskLife      = "task_life"      // for how many seconds a task and its file are kept
	tasksByApp    = "tasks_by_app"   // 1: the tasks of a day are counted by app, not by account
	fileMark      = "file_mark"      // 1: a file begins with a byte order mark
	fileReturn    = "file_return"    // 1: its lines end with CR and LF, otherwise with LF
	codeNoToken   = "code_token_missing"
	codeBadToken  = "code_token_invalid"
	codeOldToken  = "code_token_expired"
	codeApp       = "code_app"
	codeAuth      = "code_auth_code"
	codeRefresh   = "code_refresh_token"
	codeForbidden = "code_forbidden"
	codeClosed    = "code_account_closed"
	codeParameter = "code_parameter"
	codeBusy      = "code_busy"
	codeTaskName  = "code_task_name"
	codeTaskMany  = "code_task_limit"
	codeTaskState = "code_task_state"
	codeTaskGone  = "code_task_gone"
)

// codeLimit is the documented code of a call over the limit.
const codeLimit = 400001

func assumed() map[string]int64 {
	return map[string]int64{
		errorStatus: 200, limitStatus: 200, approvalCode: 1, listSizeMax: 200, nullDetails: 0, zoneSeconds: 28_800,
		todayReported: 1, reportDelay: 0, zeroRows: 0,
		taskPolls: 2, taskLife: 7 * 86_400, tasksByApp: 0, fileMark: 1, fileReturn: 1,
		codeNoToken: 402_000, codeBadToken: 402_001, codeOldToken: 402_002, codeApp: 402_003, codeAuth: 402_004,
		codeRefresh: 402_005, codeForbidden: 400_004, codeClosed: 402_010, codeParameter: 401_000, codeBusy: 400_003,
		codeTaskName: 401_003, codeTaskMany: 401_004, codeTaskState: 401_005, codeTaskGone: 410_004,
	}
}

// wrong returns a failure for a parameter.
func wrong(c *platform.Call, format string, args ...any) *platform.Failure {
	return c.Refusal(codeParameter, format, args...)
}

// account returns the account that a call names, if its login reaches it.
func account(c *platform.Call, l *world.Login) (world.Account, *platform.Failure) {
	text := c.Query.Get("advertiser_id")
	if text == "" {
		return world.Account{}, wrong(c, "advertiser_id is missing")
	}
	return c.Reached(l, text, c.Refusal(codeForbidden, "advertiser_id %s", text),
		c.Refusal(codeClosed, "advertiser_id %s", text))
}
