package trap

// The traps of the world, in the order of their names.
const (
	AccountOverLimit ID = iota
	AnswerHTML
	AnswerUnknownCode
	AppOverLimit
	BeyondPages
	CohortGrows
	DashValue
	DayEnded
	EmojiName
	EndpointShut
	ExtraField
	FigureUnreadable
	FiguresFall
	ForbiddenID
	HourLate
	HourMissing
	KeyEmpty
	LevelsApart
	NameCut
	NameReused
	NullValue
	NumbersAsText
	OddDay
	OlderFigures
	PageEmpty
	PageRowLost
	PageRowTwice
	PageShort
	PageTotalMoved
	PlatformBusy
	RefreshCut
	Renamed
	ReportsShut
	RowsOverCap
	StatusUnstamped
	TokenEnded
	TwoEdits
	UndatedFile
	UnknownWord
	YesterdayEmpty
	YesterdayPartial
	ZeroUntold
	Count
)

const (
	oftenUsual  = 30
	oftenCostly = 5 // for traps that make a client wait
)

// Catalogue describes the traps.
var Catalogue = [Count]trap{
	AccountOverLimit: {
		Name: "account_over_limit", what: "an account is over an undocumented limit",
		survived: "account over its limit: waited, no attempt spent", flows: true, Often: oftenCostly,
	},
	AnswerHTML: {
		Name: "answer_html", what: "HTTP 200 with a page of HTML instead of an answer",
		survived: "a page instead of an answer: retried", Often: oftenUsual,
	},
	AnswerUnknownCode: {
		Name: "answer_unknown_code", what: "an error code that no table has",
		survived: "unknown error code: retried", Often: oftenUsual,
	},
	AppOverLimit: {
		Name: "app_over_limit", what: "the app is refused for its limit per second, although it kept within it",
		survived: "app over its limit: waited, no attempt spent", Often: oftenCostly,
	},
	BeyondPages: {
		Name: "beyond_pages", what: "an account has more creatives than can be paged through by number",
		survived: "creatives beyond the last page: read by cursor",
	},
	CohortGrows: {
		Name: "cohort_grows", what: "the payments of a day's cohort still grow when the day is more than a week old",
		survived: "grown cohort: updated by the weekly pull",
	},
	DashValue: {
		Name: "dash_value", what: "a figure that is zero is the text -",
		survived: "a dash instead of a figure: NULL, not 0",
	},
	DayEnded: {
		Name:     "day_ended",
		what:     "the last rows of a day are published only after its midnight, with the first ones of the next",
		survived: "day ended between two pulls: its last rows pulled after it",
	},
	EmojiName: {
		Name: "emoji_name", what: "a name with characters of four bytes", survived: "emoji in a name: kept",
	},
	EndpointShut: {
		Name: "endpoint_shut", what: "an endpoint is shut to the app for five minutes of the world, as after an overrun",
		survived: "endpoint shut for five minutes: waited, no attempt spent", flows: true, Often: 1,
	},
	ExtraField: {
		Name: "extra_field", what: "rows have a field that no document has", survived: "unknown field: kept in the JSON",
	},
	FigureUnreadable: {
		Name: "figure_unreadable", what: "a figure of a report's row is a text and not a number",
		survived: "figure that is not a number: the other rows kept, pulled again", Often: oftenUsual,
	},
	FiguresFall: {
		Name: "figures_fall", what: "the spend of a past day falls, as invalid clicks are refunded",
		survived: "fallen figures: updated",
	},
	ForbiddenID: {
		Name: "forbidden_id", what: "one forbidden account fails a call for a hundred",
		survived: "forbidden account in a call of many: the others asked without it", Often: oftenUsual,
	},
	HourLate: {
		Name: "hour_late", what: "an hour that is over lacks its last quarter until later",
		survived: "hour final late: pulled again later", flows: true, Often: oftenUsual,
	},
	HourMissing: {
		Name: "hour_missing", what: "an hour is missing although the one after it is published",
		survived: "missing hour: pulled again", flows: true, Often: oftenUsual,
	},
	KeyEmpty: {
		Name: "key_empty", what: "the id or day of a row is an empty text",
		survived: "row without its key: the other rows kept, pulled again", Often: oftenUsual,
	},
	LevelsApart: {
		Name: "levels_apart", what: "ads and creatives are published 20 minutes later than their account",
		survived: "levels apart: pulled again later", flows: true, Often: oftenUsual,
	},
	NameCut: {
		Name: "name_cut", what: "a name ends inside a character of several bytes",
		survived: "name cut inside a character: repaired, the row kept",
	},
	NameReused: {
		Name: "name_reused", what: "a new ad has the name of one that was deleted", survived: "name reused: told apart by id",
	},
	NullValue: {
		Name: "null_value", what: "a value is null, absent or an empty text", survived: "no value: NULL, not 0",
	},
	NumbersAsText: {
		Name: "numbers_as_text", what: "ids of 19 digits and amounts come as texts where they were numbers",
		survived: "numbers as texts: the same values, no change logged", Often: oftenUsual,
	},
	OddDay: {
		Name: "odd_day", what: "a day has 23 or 25 hours", survived: "day of 23 or 25 hours: each hour in its place",
	},
	OlderFigures: {
		Name: "older_figures", what: "a later call returns the figures of 90 minutes ago",
		survived: "older figures: corrected by the next pull", flows: true, Often: oftenUsual,
	},
	PageEmpty: {
		Name: "page_empty", what: "a page is empty although more follow",
		survived: "empty page: paging continued, or pulled again",
		Often:    oftenUsual,
	},
	PageRowLost: {
		Name: "page_row_lost", what: "a row vanishes between two pages, and all move up",
		survived: "page shifted: pulled again",
		Often:    oftenUsual,
	},
	PageRowTwice: {
		Name: "page_row_twice", what: "a row is on two pages, since all moved down",
		survived: "row on two pages: pulled again",
		Often:    oftenUsual,
	},
	PageShort: {
		Name: "page_short", what: "a page that is not the last is short of a row", survived: "short page: pulled again",
		Often: oftenUsual,
	},
	PageTotalMoved: {
		Name: "page_total_moved", what: "the total changes between pages",
		survived: "total changed between pages: pulled again",
		Often:    oftenUsual,
	},
	PlatformBusy: {
		Name: "platform_busy", what: "the platform is over its own limit, for all apps alike",
		survived: "platform busy: waited", Often: oftenCostly,
	},
	RefreshCut: {
		Name: "refresh_cut", what: "a refresh of a token gets no answer", survived: "refresh cut off: retried",
		Often: 10_000,
	},
	Renamed: {
		Name: "renamed", what: "an ad has another name than it began with",
		survived: "renamed: the old name is kept with its dates",
	},
	ReportsShut: {
		Name:     "reports_shut",
		what:     "a level's reports are shut for 20 seconds of the world, since queries matched too many rows",
		survived: "reports shut: waited", flows: true, Often: oftenCostly,
	},
	RowsOverCap: {
		Name: "rows_over_cap", what: "a report of a day has more rows than the platform returns for one query",
		survived: "too many rows for a query: pulled in parts",
	},
	StatusUnstamped: {
		Name: "status_unstamped", what: "a status changes and the time of modification does not",
		survived: "unstamped status: found by the full pull",
	},
	TokenEnded: {
		Name: "token_ended", what: "an access token ends early, in the middle of a run",
		survived: "token ended: refreshed, retried", Often: 1,
	},
	TwoEdits: {
		Name: "two_edits", what: "two changes have the same second, and the second one shows later",
		survived: "two edits in a second: the window overlaps",
	},
	UndatedFile: {
		Name: "undated_file", what: "the time of creation of an image or a video is in 1970",
		survived: "undated file: still listed",
	},
	UnknownWord: {
		Name: "unknown_word", what: "a status is a word that no document has", survived: "unknown word: kept as it is",
	},
	YesterdayEmpty: {
		Name: "yesterday_empty", what: "before 08:00, yesterday's report is a success without rows",
		survived: "empty yesterday refused: pulled again", flows: true, Often: 300,
	},
	YesterdayPartial: {
		Name: "yesterday_partial", what: "before 08:00, yesterday ends at 15:00",
		survived: "partial yesterday: pulled again after 08:00", flows: true, Often: 300,
	},
	ZeroUntold: {
		Name: "zero_untold", what: "a figure that is zero is null, absent or an empty text",
		survived: "omitted zero: NULL, not 0",
	},
}
