package baidu

import (
	"adsync/simulator/platform"
)

// The names of behaviour that the documents do not state. Many codes are known only as a group (not authenticated, no
// permission, business error of search or feed), so the code of each case is one of its group.
//
//nolint:gosec // codeOldToken and its neighbours are names of answers, not credentials.
const (
	limitHTTP     = "http_status_limit" // the HTTP status of refusals by a limit; 429 comes with Retry-After
	limitStatus   = "status_limit"      // likewise their status in the header of the answer: 2 or 3
	refreshToken  = "refresh_token"     // of a refresh: 0 keeps and returns the old one, 1 replaces it, 2 keeps it, unsaid
	dataObject    = "data_object"       // 1: data of reports and their tasks are an object, otherwise an array with one
	refusedPart   = "refused_part"      // 1: an account that is refused among several gives status 1, otherwise 2
	userIDsMax    = "user_ids"          // how many accounts a report takes
	rowsMax       = "row_count"         // the largest page of a report
	pageMax       = "page_size"         // the largest page of images and videos
	reportDelay   = "report_delay"      // how many seconds old the figures of reports are
	nameMarked    = "name_marked"       // 1: names of deleted objects are marked too, not only those with Status
	zoneSeconds   = platform.ZoneSeconds
	taskPolls     = "task_polls"    // how many calls a task takes until it is done
	fileHead      = "file_head"     // how many lines a file has before the line of names
	fileFirstRow  = "file_row_base" // the number of a file's first line
	fileMark      = "file_mark"     // 1: a file begins with a byte order mark
	fileReturn    = "file_return"   // 1: its lines end with CR and LF, otherwise with LF
	codeNoToken   = "code_token_missing"
	codeBadToken  = "code_token_invalid"
	codeOldToken  = "code_token_expired"
	codeForbidden = "code_forbidden"
	codeClosed    = "code_account_closed"
	codeLimit     = "code_limit"
	codePenalty   = "code_penalty"
	codeSearch    = "code_search"
	codeFeed      = "code_feed"
	codeObject    = "code_object"
	codeTask      = "code_task"
	codeApp       = "code_oauth_app"
	codeAuth      = "code_oauth_code"
	codeRefresh   = "code_oauth_refresh"
	codeGrant     = "code_oauth_token"
)

// The documented codes: of an error of the system, of a call without a user, and of a parameter of the token calls.
const (
	codeSystem = 800
	codeNoUser = 8101
	codeOauth  = 600_011
)

// The documented lives of a task and of the address of its file, in seconds.
const (
	taskLife = 600
	fileLife = 300
)

func assumed() map[string]int64 {
	return map[string]int64{
		limitHTTP: 200, limitStatus: statusFailed, refreshToken: 1, dataObject: 0, refusedPart: 1, userIDsMax: 100,
		rowsMax: 100_000, pageMax: 500, reportDelay: 0, nameMarked: 0, zoneSeconds: 28_800,
		taskPolls: 2, fileHead: 1, fileFirstRow: 1, fileMark: 1, fileReturn: 0,
		codeNoToken: 8401, codeBadToken: 894_061, codeOldToken: 894_062, codeForbidden: 8406, codeClosed: 8303,
		codeLimit: 8501, codePenalty: 901_160, codeSearch: 901_000, codeFeed: 925_000, codeObject: 901_001,
		codeTask: 901_002, codeApp: 600_012, codeAuth: 600_013, codeRefresh: 600_014, codeGrant: 600_015,
	}
}
