// Package media defines the interface between the engine and the advertising platforms.
//
// A platform is one package that implements Platform: how its calls are signed and its answers read, how tokens are
// refreshed, and a few descriptions of lists and reports. The code that all platforms share is here and below: the
// client (limits, tokens, transport), and package pull (paging, wholeness, fences, tables).
package media

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/metric"
	"adsync/base/ratelimit/grant"
	"adsync/base/rawtable"
	"adsync/base/secret"
	"adsync/media/wire"
)

// Platform is an advertising platform.
type Platform interface {
	// Name returns the media name in all tables and topics: lower-case letters.
	Name() string
	// BaseURL returns the production address, such as "https://api.acme.example/v3.0"; configuration may replace it.
	BaseURL() string
	// Limits returns the call limits that apply when the table rate_limit has no row for the same endpoint, scope and
	// period.
	Limits() []grant.Rule
	// Sign adds the token and everything else that the platform requires to a request. now is the platform's own time.
	Sign(req *http.Request, accessToken string, now time.Time)
	// Decode returns an answer's payload, or an *Error whose class comes from the platform's error table.
	Decode(status int, header http.Header, body []byte) (json.RawMessage, error)
	// Refresh exchanges a refresh token. An *Error of class Auth means that the platform refused the refresh token
	// permanently.
	Refresh(ctx context.Context, transport Transport, app App, refreshToken string) (Tokens, error)
	// Accounts lists the accounts that a login reaches, in any order, page by page. login is the platform's id of the
	// login, as Exchange returns it; a login that a person wrote by hand may have another name, or none.
	Accounts(ctx context.Context, api API, login string, yield func([]FoundAccount) error) error
	// AccountTable returns the table of the rows that Accounts finds, of shape rawtable.AccountRows.
	AccountTable() rawtable.Table
	// Lists returns the configuration levels to pull.
	Lists() []List
	// Reports returns the reports to pull.
	Reports() []Report
	// Funds returns how the accounts' money is pulled; zero when the platform does not report it.
	Funds() Funds
}

// App is a developer app of a platform.
type App struct {
	ID     string
	Secret secret.Text
}

// Tokens is the result of a refresh.
type Tokens struct {
	Access         secret.Text
	Refresh        secret.Text   // empty when the old refresh token stays, or the platform has none
	AccessExpires  time.Duration // zero without a known end
	RefreshExpires time.Duration // zero if the answer has none
}

// Transport sends one request without token, limits or retries. BaseURL is the platform's address, Now its time.
type Transport interface {
	Do(req *http.Request) (status int, header http.Header, body []byte, err error)
	BaseURL() string
	Now() time.Time
}

// API calls a platform for one account (or for one login). Every call waits for the limits that cover it, carries the
// login's token, and is counted. An expired token is refreshed and the call repeated once. Errors are *Error,
// *DeferError or the context's.
type API interface {
	// Get calls an endpoint (a path below the base URL, without a leading slash) and returns the answer's payload.
	Get(ctx context.Context, endpoint string, query url.Values) (json.RawMessage, error)
	// Post sends a JSON body.
	Post(ctx context.Context, endpoint string, body any) (json.RawMessage, error)
	// Account returns the account that calls are made for; the zero Account for a login.
	Account() Account
}

// FileAPI is an API that also opens files.
type FileAPI interface {
	API
	// Open calls an endpoint that returns a file.
	Open(ctx context.Context, endpoint string, query url.Values) (Download, error)
	// OpenAddress gets a file from an address that the platform returned, such as one in its file storage. The request
	// carries no token, waits for no limit and is not counted. Errors never show the address. The caller closes the file.
	OpenAddress(ctx context.Context, address string) (io.ReadCloser, error)
}

// CountingAPI is a FileAPI that counts its calls.
type CountingAPI interface {
	FileAPI
	Calls() int
}

// Account is an account in the engine.
type Account struct {
	ID         int64
	Media      string
	ExternalID string
	Name       string // as the platform lists it; "" until a list of accounts had it
	TokenID    int64
	Zone       *time.Location
	Currency   string
}

// FoundAccount is an account in a platform's list.
type FoundAccount struct {
	ExternalID string
	Name       string
	Timezone   string          // the name of the zone of its days
	Currency   string          // ISO 4217
	Raw        []any           // values of the account list's typed columns
	JSON       json.RawMessage // the platform's whole row
	Faults     []wire.Fault    // its unusable values
	// Lost means that the row's id is unusable, so that its account is unknown.
	Lost bool
	// LeftOut is why the account is left out, such as "it is a WeChat account"; "" if it is not. If it is set, all
	// fields other than ExternalID may be empty.
	LeftOut string
}

// OpenAccount reads an account of a list. Its Faults hold the unusable values.
func OpenAccount(raw json.RawMessage, read func(*wire.Row) FoundAccount) FoundAccount {
	from := wire.Open(raw)
	account := read(from)
	account.Faults, account.Lost, account.JSON = from.Faults(), from.Lost(), from.JSON()
	return account
}

// List is one configuration level of a platform, pulled by handler "<media>.<Name>". Its raw table keeps one row per
// object permanently: objects that the platform no longer lists are marked deleted.
type List struct {
	Name  string // the platform's word: "adgroup", "promotion"
	Level string // the public level: "adgroup"
	Table rawtable.Table
	// Parent is the column of Table with the id of the parent object, as the ad group of a creative or the campaign of
	// an ad group; "" if there is none.
	Parent string
	// IDHasParent means that an object's id starts with the parent's id and a colon: then reports show the parent of
	// objects that are no longer in any list.
	IDHasParent bool
	// NoSince means that the platform cannot select objects by their last change. Every pull then reads the whole list,
	// and params with mode "changes" are refused.
	NoSince bool
	// SinceZone is set where the platform can only select objects by the day of their last change: it is the zone of
	// those days. ListQuery.Since is then the beginning of a day. nil if the platform selects by the second.
	SinceZone *time.Location
	// Variants are the queries that make up the whole list, for platforms that list deleted objects separately. Each is
	// paged and counted separately. Empty means one query.
	Variants []string
	// Unlogged are fields of the platform's rows whose change is not logged as a change of the object, such as the time
	// of its last change.
	Unlogged []string
	// MapsAssets means that the rows are creatives that name the images and videos they show. Those are rows of the
	// lists of levels AssetImage and AssetVideo, whose tables have a column "signature".
	MapsAssets bool
	// Shown describes which of its objects are being shown and can spend; zero where another list of the platform does.
	Shown rawtable.Shown
	// Page fetches one page. page is "" for the first one and otherwise the Next of the page before.
	Page func(ctx context.Context, api API, q ListQuery, page string) (Page, error)
}

// ListQuery selects the objects of a configuration level.
type ListQuery struct {
	Variant string
	// Since selects objects modified at or after it; zero selects all. See List.NoSince and List.SinceZone.
	Since time.Time
	// Until is the current time, for platforms that require both ends of the window. It is after Since, even when the
	// platform's clock is ahead of ours.
	Until time.Time
}

// Report is one report of a platform, pulled by handler "<media>.<Name>" with the level as parameter.
type Report struct {
	Name   string // "report_daily" or "report_hourly"
	Level  string // the public level: "account", "adgroup"
	Hourly bool
	// MaxDays is how many days one query may span.
	MaxDays int
	// LookBack is how many days before today the platform still keeps.
	LookBack int
	Table    rawtable.Table
	// RowsMax is how many rows the platform returns for one query; 0 is any number. A query with more is cut into days,
	// and a day is cut by Split. Only the total shows that there are more: without one it is 0.
	RowsMax int
	// Split describes how a query of one day is narrowed; nil if it cannot be.
	Split *Split
	// Variants are the queries that make up the whole report, for platforms that report some objects separately. Each is
	// paged and counted separately, or has a file of its own. Empty means one query.
	Variants []string
	// Keys are the platform's names of the key fields of its rows: they are always requested.
	Keys []string
	// Figures are the fields of its rows that are not keys.
	Figures wire.Figures
	// Values returns the figures and extra fields in a row's JSON, by the platform's names.
	Values func(row json.RawMessage) (map[string]json.RawMessage, error)
	// HasSums means that the platform returns its own sums over all rows of a query: see Page.Sums.
	HasSums bool
	// Overlaps is set where the rows need not hold all of an account's spend exactly once: a figure that belongs to
	// several objects may count for each. Such a level is not compared with other figures of a day.
	Overlaps bool
	// HasHours means that a query can begin in the middle of a day: see ReportQuery.FromHour.
	HasHours bool
	// RepeatsHours is set for an hourly report that has a row for each of the two hours of the same name when an account's
	// clock is put back. A pull adds them up into one row, whose JSON is a list of both. Any other two rows of one day,
	// hour and object mean that the pages are not parts of one whole.
	RepeatsHours bool
	Page         func(ctx context.Context, api API, q ReportQuery, page string) (Page, error)
	// AccountsMax is how many accounts of one login a query may cover, and at most the rows of a page. 0 means that each
	// account needs its own query. See ReportQuery.Accounts.
	AccountsMax int
	// Files describes the days that come as files; nil if none do.
	Files *Files
}

// ReportQuery selects the rows and fields of a report.
type ReportQuery struct {
	Variant string
	// Accounts are the accounts of a joint query, for reports with AccountsMax. They have one login, zone and currency.
	// API.Account then returns only these three, and each row names its account. nil selects the account of the API.
	Accounts []Account
	From, To day.Day // both included, in the account's zone
	// FromHour selects the hours of From from this one on, for reports with HasHours; 0 selects whole days.
	FromHour int
	// Within selects the rows of these objects of the report's Split, and of the objects below them; empty selects all.
	Within []string
	// WithinLevel is the number of the Files.Splits that lists the objects in Within, from 1; 0 for the report's Split.
	WithinLevel int
	// Extra are fields to request in addition to the report's figures; their values are in the rows' JSON. Without are
	// figures or extra fields not to request; they are not set in the rows.
	Extra, Without []string
}

// Split narrows a query of one day to a part of its rows. The parts of all objects make up the day.
type Split struct {
	// Page fetches a page of a report whose rows name the objects to narrow by. Each row of the query belongs to one of
	// them.
	Page func(ctx context.Context, api API, q ReportQuery, page string) (Page, error)
	// Most is how many objects one query takes.
	Most int
	// Rows is how many rows a part should have; 0 is as many as the platform returns for one query.
	Rows int
}

// Page is one page of a list or report, ordered by a unique id and never by a metric.
type Page struct {
	Rows []Row
	// Proof is what shows that the pages hold all rows.
	Proof Proof
	// Total is the platform's number of rows over all pages; it must be equal on every page. 0 if Proof is not ByTotal.
	Total int
	// Counted are the ids of the objects on this page when Total counts objects and not rows. nil when Total counts
	// rows. An unusable id is "".
	Counted []string
	// Sums are the platform's own sums of metrics over all rows of the query, on all pages; they must be equal on every
	// page. Only metrics that the platform documents as additive are set. Only for reports with HasSums; nil where the
	// answer lacks them.
	Sums *metric.Values
	// Faults are unusable values that belong to no row, such as those of sums.
	Faults []wire.Fault
	// Moved is why the page cannot be part of a whole: rows were added or removed while the pages were read. "" if there
	// is no sign of it.
	Moved string
	// Next is the token of the page after this one; "" after the last.
	Next string
}

// Row is one row, converted to our units.
type Row struct {
	Day    day.Day // reports and daily cash flow only
	Hour   int     // hourly reports only, 0..23 in the account's zone
	Object string  // the platform's object id, "" at account level; for money the fund type
	// Account is the platform's id of the row's account. It is set in answers to joint queries only.
	Account string
	// Name, Modified and Deleted are set for configuration rows only.
	Name     string
	Modified time.Time
	Deleted  bool
	Raw      []any // values of the raw table's typed columns, in their order
	JSON     json.RawMessage
	Metrics  metric.Values // reports only
	Funds    []fund.Row    // money only: the row's amounts by kind
	// Assets are the assets that a creative shows, each once; nil if the row does not list them. Only with
	// List.MapsAssets.
	Assets []rawtable.AssetUse
	// MoreAssets means that Assets may lack some, as the id of one is unusable: none is treated as removed.
	MoreAssets bool
	Operation  *Operation // entries of a log of operations only
	// Faults are the unusable values. They are not set in the row.
	Faults []wire.Fault
	// Lost means that a key is unusable, so that the row's object is unknown. The row is counted and not written.
	Lost bool
}

// Tables returns all raw tables of a platform, each once.
func Tables(p Platform) []rawtable.Table {
	tables := []rawtable.Table{p.AccountTable()}
	add := func(t rawtable.Table) {
		if !slices.ContainsFunc(tables, func(have rawtable.Table) bool { return have.Name == t.Name }) {
			tables = append(tables, t)
		}
	}
	for _, l := range p.Lists() {
		add(l.Table)
	}
	for _, r := range p.Reports() {
		add(r.Table)
	}
	funds := p.Funds()
	if funds.Balance.Fetch != nil {
		add(funds.Balance.Table)
	}
	if funds.Daily.Page != nil {
		add(funds.Daily.Table)
	}
	return tables
}
