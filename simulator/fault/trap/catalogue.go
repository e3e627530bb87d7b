package trap

// The traps of the world, in the order of their names.
const (
	TrapAccountOverLimit ID = iota
	TrapAnswerHTML
	TrapAnswerUnknownCode
	TrapAppOverLimit
	TrapBeyondPages
	TrapCohortGrows
	TrapDashValue
	TrapDayEnded
	TrapEmojiName
	TrapEndpointShut
	TrapExtraField
	TrapFigureUnreadable
	TrapFiguresFall
	TrapForbiddenID
	TrapHourLate
	TrapHourMissing
	TrapKeyEmpty
	TrapLevelsApart
	TrapNameCut
	TrapNameReused
	TrapNullValue
	TrapNumbersAsText
	TrapOddDay
	TrapOlderFigures
	TrapPageEmpty
	TrapPageRowLost
	TrapPageRowTwice
	TrapPageShort
	TrapPageTotalMoved
	TrapPlatformBusy
	TrapRefreshCut
	TrapRenamed
	TrapReportsShut
	TrapRowsOverCap
	TrapStatusUnstamped
	TrapTokenEnded
	TrapTwoEdits
	TrapUndatedFile
	TrapUnknownWord
	TrapYesterdayEmpty
	TrapYesterdayPartial
	TrapZeroUntold
	Count
)

const (
	oftenUsual  = 30
	oftenCostly = 5 // what makes a client wait
)

var Catalogue = [Count]trap{
	TrapAccountOverLimit: {
		Name: "account_over_limit", what: "an account is over a limit that nobody told of",
		survived: "account over its limit: waited, no attempt spent", flows: true, Often: oftenCostly,
	},
	TrapAnswerHTML: {
		Name: "answer_html", what: "HTTP 200 with a page of HTML in the place of an answer",
		survived: "a page in the place of an answer: asked again", Often: oftenUsual,
	},
	TrapAnswerUnknownCode: {
		Name: "answer_unknown_code", what: "an error code that no table has",
		survived: "unknown error code: asked again", Often: oftenUsual,
	},
	TrapAppOverLimit: {
		Name: "app_over_limit", what: "the app is over its limit of a second, though it kept to it",
		survived: "app over its limit: waited, no attempt spent", Often: oftenCostly,
	},
	TrapBeyondPages: {
		Name: "beyond_pages", what: "an account has more creatives than can be paged through by number", survived: "creatives beyond the last page: read by cursor",
	},
	TrapCohortGrows: {
		Name: "cohort_grows", what: "the payments of a day's cohort still grow when the day is more than a week old",
		survived: "grown cohort: taken over by the weekly pull",
	},
	TrapDashValue: {
		Name: "dash_value", what: "a figure that is zero is the text -", survived: "a dash in the place of a figure: NULL, not 0",
	},
	TrapDayEnded: {
		Name: "day_ended", what: "the last rows of a day are told only after its midnight, beside the first ones of the next",
		survived: "day ended between two pulls: its last rows pulled after it",
	},
	TrapEmojiName: {
		Name: "emoji_name", what: "a name with characters of four bytes", survived: "emoji in a name: kept",
	},
	TrapEndpointShut: {
		Name: "endpoint_shut", what: "an endpoint is shut to the app for five minutes of the world, as after an overrun",
		survived: "endpoint shut for five minutes: waited, no attempt spent", flows: true, Often: 1,
	},
	TrapExtraField: {
		Name: "extra_field", what: "rows have a field that no document has", survived: "unknown field: kept in the JSON",
	},
	TrapFigureUnreadable: {
		Name: "figure_unreadable", what: "a figure of a report's row is a text that is no number",
		survived: "figure that is no number: the other rows kept, pulled again", Often: oftenUsual,
	},
	TrapFiguresFall: {
		Name: "figures_fall", what: "the spend of a past day falls, since invalid clicks are given back",
		survived: "fallen figures: taken over",
	},
	TrapForbiddenID: {
		Name: "forbidden_id", what: "one forbidden account fails a call about a hundred",
		survived: "forbidden account in a call of many: the others asked without it", Often: oftenUsual,
	},
	TrapHourLate: {
		Name: "hour_late", what: "an hour that is over lacks its last quarter until later",
		survived: "hour final late: pulled again later", flows: true, Often: oftenUsual,
	},
	TrapHourMissing: {
		Name: "hour_missing", what: "an hour is not told though the one after it is",
		survived: "missing hour: pulled again", flows: true, Often: oftenUsual,
	},
	TrapKeyEmpty: {
		Name: "key_empty", what: "the id or day of a row is an empty text",
		survived: "row without its key: the other rows kept, pulled again", Often: oftenUsual,
	},
	TrapLevelsApart: {
		Name: "levels_apart", what: "ads and creatives are told 20 minutes later than their account",
		survived: "levels apart: pulled again later", flows: true, Often: oftenUsual,
	},
	TrapNameCut: {
		Name: "name_cut", what: "a name ends inside a character of several bytes", survived: "name cut inside a character: repaired, the row kept",
	},
	TrapNameReused: {
		Name: "name_reused", what: "a new ad has the name of one that was deleted", survived: "name reused: told apart by id",
	},
	TrapNullValue: {
		Name: "null_value", what: "a value is null, absent or an empty text", survived: "no value: NULL, not 0",
	},
	TrapNumbersAsText: {
		Name: "numbers_as_text", what: "ids of 19 digits and amounts come as texts where they were numbers",
		survived: "numbers as texts: the same values, no change logged", Often: oftenUsual,
	},
	TrapOddDay: {
		Name: "odd_day", what: "a day has 23 or 25 hours", survived: "day of 23 or 25 hours: each hour in its place",
	},
	TrapOlderFigures: {
		Name: "older_figures", what: "a later call answers the figures of 90 minutes ago",
		survived: "older figures: put right by the next pull", flows: true, Often: oftenUsual,
	},
	TrapPageEmpty: {
		Name: "page_empty", what: "a page is empty though there are more", survived: "empty page: read on, or pulled again",
		Often: oftenUsual,
	},
	TrapPageRowLost: {
		Name: "page_row_lost", what: "a row vanishes between two pages, and all move up", survived: "page shifted: pulled again",
		Often: oftenUsual,
	},
	TrapPageRowTwice: {
		Name: "page_row_twice", what: "a row is on two pages, since all moved down", survived: "row on two pages: pulled again",
		Often: oftenUsual,
	},
	TrapPageShort: {
		Name: "page_short", what: "a page that is not the last is short of a row", survived: "short page: pulled again",
		Often: oftenUsual,
	},
	TrapPageTotalMoved: {
		Name: "page_total_moved", what: "the total changes between pages", survived: "total changed between pages: pulled again",
		Often: oftenUsual,
	},
	TrapPlatformBusy: {
		Name: "platform_busy", what: "the platform is over its own limit, for all apps alike",
		survived: "platform busy: waited", Often: oftenCostly,
	},
	TrapRefreshCut: {
		Name: "refresh_cut", what: "a refresh of a token gets no answer", survived: "refresh cut off: tried again",
		Often: 10_000,
	},
	TrapRenamed: {
		Name: "renamed", what: "an ad has another name than it began with", survived: "renamed: the old name is kept with its dates",
	},
	TrapReportsShut: {
		Name: "reports_shut", what: "a level's reports are shut for 20 seconds of the world, since queries matched too many rows",
		survived: "reports shut: waited", flows: true, Often: oftenCostly,
	},
	TrapRowsOverCap: {
		Name: "rows_over_cap", what: "a report of a day has more rows than the platform gives out for one query", survived: "too many rows for a query: asked in parts",
	},
	TrapStatusUnstamped: {
		Name: "status_unstamped", what: "a status changes and the time of modification does not",
		survived: "unstamped status: found by the full pull",
	},
	TrapTokenEnded: {
		Name: "token_ended", what: "an access token ends before its time, in the middle of a run",
		survived: "token ended: refreshed, asked again", Often: 1,
	},
	TrapTwoEdits: {
		Name: "two_edits", what: "two changes have the same second, and the second one shows later",
		survived: "two edits in a second: the window overlaps",
	},
	TrapUndatedFile: {
		Name: "undated_file", what: "the time of creation of an image or a video is that of 1970", survived: "undated file: listed all the same",
	},
	TrapUnknownWord: {
		Name: "unknown_word", what: "a status is a word that no document has", survived: "unknown word: kept as it is",
	},
	TrapYesterdayEmpty: {
		Name: "yesterday_empty", what: "before 08:00, yesterday is a success without rows",
		survived: "empty yesterday refused: pulled again", flows: true, Often: 300,
	},
	TrapYesterdayPartial: {
		Name: "yesterday_partial", what: "before 08:00, yesterday ends at 15:00",
		survived: "partial yesterday: pulled again after 08:00", flows: true, Often: 300,
	},
	TrapZeroUntold: {
		Name: "zero_untold", what: "a figure that is zero is null, absent or an empty text", survived: "zero untold: NULL, not 0",
	},
}
