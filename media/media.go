// Package media is the seam between the engine and the advertising platforms.
//
// A platform is one package that implements Platform: how its calls are signed and its answers read, how tokens are
// refreshed, and a few descriptions of lists and reports. What all platforms share lives here and below: the client
// (limits, tokens, transport), and package pull (paging, wholeness, fences, tables).
package media

import (
	"context"
	"encoding/json"
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
	// Name is the media name in all tables and topics: lower-case letters.
	Name() string
	// BaseURL is the production address, for example "https://api.acme.example/v3.0"; configuration may replace it.
	BaseURL() string
	// Limits are the call limits that hold when the table rate_limit has no row for the same endpoint, scope and period.
	Limits() []grant.Rule
	// Sign adds the token and whatever else the platform wants to a request. now is the platform's own time.
	Sign(req *http.Request, accessToken string, now time.Time)
	// Decode reads an answer: the payload, or an *Error whose class comes from the platform's error table.
	Decode(status int, header http.Header, body []byte) (json.RawMessage, error)
	// Refresh exchanges a refresh token. An *Error of class Auth means that the platform refused the refresh token for
	// good.
	Refresh(ctx context.Context, transport Transport, app App, refreshToken string) (Tokens, error)
	// Accounts lists the accounts that a login reaches, in any order, page by page. login is the platform's id of the
	// login, as Exchange returns it; logins that a person wrote down may have another name, or none.
	Accounts(ctx context.Context, api API, login string, yield func([]FoundAccount) error) error
	// AccountTable holds the rows that Accounts finds, of shape rawtable.AccountRows.
	AccountTable() rawtable.Table
	// Lists are the configuration levels that are pulled.
	Lists() []List
	// Reports are the reports that are pulled.
	Reports() []Report
	// Funds is the money of accounts that is pulled; zero when the platform tells nothing of it.
	Funds() Funds
}

// App is a developer app of a platform.
type App struct {
	ID     string
	Secret secret.Text
}

// Tokens is the answer to a refresh.
type Tokens struct {
	Access         secret.Text
	Refresh        secret.Text // empty when the old refresh token stays
	AccessExpires  time.Duration
	RefreshExpires time.Duration // zero when the platform did not say
}

// Transport sends one request without token, limits or retries. baseURL is where the platform is reached, Now its time.
type Transport interface {
	Do(req *http.Request) (status int, header http.Header, body []byte, err error)
	BaseURL() string
	Now() time.Time
}

// API calls a platform on behalf of one account (or of one login). Every call waits for the limits that cover it,
// carries the login's token, and is counted; an expired token is refreshed and the call made again once. Errors are
// *Error or *DeferError, or the context's.
type API interface {
	// Get calls an endpoint (a path below the base URL, without a leading slash) and returns the answer's payload.
	Get(ctx context.Context, endpoint string, query url.Values) (json.RawMessage, error)
	// Post sends a JSON body.
	Post(ctx context.Context, endpoint string, body any) (json.RawMessage, error)
	// Account is the account that calls are made for; the zero Account for a login.
	Account() Account
}

// CountingAPI is an API that knows how many calls it has made.
type CountingAPI interface {
	API
	Calls() int
}

// Account is an account as the engine knows it.
type Account struct {
	ID         int64
	Media      string
	ExternalID string
	TokenID    int64
	Zone       *time.Location
	Currency   string
}

// FoundAccount is an account as a platform lists it.
type FoundAccount struct {
	ExternalID string
	Name       string
	Timezone   string          // the name of the zone that its days are in
	Currency   string          // ISO 4217
	Raw        []any           // values of the account list's typed columns
	JSON       json.RawMessage // the platform's whole row
	Faults     []wire.Fault    // what of it cannot be used
	// Lost says that the row's id cannot be used: it is not known which account it is.
	Lost bool
	// LeftOut says why the account is not taken, such as "it is a WeChat account"; "" takes it. The other fields but
	// ExternalID may then be empty.
	LeftOut string
}

// OpenAccount reads an account of a list. What of it cannot be used stands in the account's Faults.
func OpenAccount(raw json.RawMessage, read func(*wire.Row) FoundAccount) FoundAccount {
	from := wire.Open(raw)
	account := read(from)
	account.Faults, account.Lost, account.JSON = from.Faults(), from.Lost(), from.JSON()
	return account
}

// List is one configuration level of a platform, pulled by handler "<media>.<Name>". Its raw table holds one row per
// object for ever: what the platform no longer lists is marked deleted.
type List struct {
	Name  string // the platform's word: "adgroup", "promotion"
	Level string // the public level: "adgroup"
	Table rawtable.Table
	// Parent is the column of Table with the id of the object above, which a creative's ad group is and an ad group's
	// campaign; "" where there is none.
	Parent string
	// IDTellsParent says that an object's id is that of the object above, a colon, and more: reports then tell what
	// objects belong to that no list shows any more.
	IDTellsParent bool
	// Variants are the queries that together make the whole, for platforms that list deleted objects apart; each is
	// paged and counted by itself. Empty means one.
	Variants []string
	// Unlogged are fields of the platform's rows whose change is no change of the object, such as the time of its last
	// one.
	Unlogged []string
	// MapsAssets says that the rows are creatives that tell which images and videos they show. Those are rows of the
	// lists of levels AssetImage and AssetVideo, whose tables have a column "signature".
	MapsAssets bool
	// Shown says which of its objects are being shown and can spend; zero where another list of the platform says it.
	Shown rawtable.Shown
	// Page fetches one page. page is "" for the first and else the Next of the page before.
	Page func(ctx context.Context, api API, q ListQuery, page string) (Page, error)
}

// ListQuery is what of a configuration level to fetch.
type ListQuery struct {
	Variant string
	// Since asks only for objects modified at or after it; zero asks for all.
	Since time.Time
	// Until is the present, for platforms that want both ends of the window. It is after Since, also when the platform's
	// clock is ahead of ours.
	Until time.Time
}

// Report is one report of a platform, pulled by handler "<media>.<Name>" with the level as parameter.
type Report struct {
	Name   string // "report_daily" or "report_hourly"
	Level  string // the public level: "account", "adgroup"
	Hourly bool
	// MaxDays is how many days one query may span.
	MaxDays int
	// LookBack is how many days before today can still be asked for.
	LookBack int
	Table    rawtable.Table
	// RowsMax is how many rows the platform gives out for one query; 0 is any number. A query of more is cut into days,
	// and a day by Split.
	RowsMax int
	// Split says how a query of one day is narrowed; nil says that it cannot be.
	Split *Split
	// Keys are the platform's names of the fields that its rows are kept apart by: they are always asked for.
	Keys []string
	// Figures are what its rows hold beside their keys.
	Figures wire.Figures
	// Values finds the figures, and extra fields, in a row's JSON, by the platform's names.
	Values func(row json.RawMessage) (map[string]json.RawMessage, error)
	// HasSums says that the platform tells its own sums over all rows of a query: see Page.Sums.
	HasSums bool
	// Overlaps is set where the platform does not say that the rows hold all of an account's spend once: what is shown
	// with several objects may count for each. Other figures of a day are not judged by such a level, nor is it by them.
	Overlaps bool
	// HasHours says that a query can begin in the middle of a day: see ReportQuery.FromHour.
	HasHours bool
	Page     func(ctx context.Context, api API, q ReportQuery, page string) (Page, error)
}

// ReportQuery is what of a report to fetch.
type ReportQuery struct {
	From, To day.Day // both included, in the account's zone
	// FromHour asks only for what is not before this hour of From, of reports that HasHours; 0 asks for whole days.
	FromHour int
	// Within asks only for rows of these objects of the report's Split, and of what is below them; empty asks for all.
	Within []string
	// Extra are fields to ask for beside the report's figures: what comes of them stands in the rows' JSON. Without are
	// figures, or extra fields, not to ask for: they are not set in the rows.
	Extra, Without []string
}

// Split narrows a query of one day to a part of its rows. The parts of all objects are the whole.
type Split struct {
	// Page fetches a page of a report whose rows' objects are those to narrow by: each row of the query is of one of them.
	Page func(ctx context.Context, api API, q ReportQuery, page string) (Page, error)
	// Most is how many objects a query takes.
	Most int
	// Rows is how many rows a part should have; 0 is as many as the platform gives out for one query.
	Rows int
}

// Page is one page of a list or report, ordered by a unique id and never by a metric.
type Page struct {
	Rows []Row
	// Total is how many rows the platform says there are over all pages; every page must say the same.
	Total int
	// Counted are the ids of what Total counts when that is not the rows: of the objects whose parts the rows are. nil
	// when Total counts the rows. One whose id cannot be used is "".
	Counted []string
	// Sums are the platform's own sums of metrics over all rows of the query, those of other pages too: every page must
	// say the same. Only metrics that add up by the platform's own account of them are set. Reports that have sums only;
	// nil where the answer lacks them.
	Sums *metric.Values
	// Faults are values that cannot be used and stand in no row, such as those of sums.
	Faults []wire.Fault
	// Moved says why the page cannot be part of a whole: rows came or went while the pages were read. "" when nothing
	// shows it.
	Moved string
	// Next asks for the page after this one; "" after the last.
	Next string
}

// Row is one row, brought to our units.
type Row struct {
	Day    day.Day // reports and daily cash flow only
	Hour   int     // hourly reports only, 0..23 in the account's zone
	Object string  // the platform's object id, "" at account level; of money its fund type
	// Name, Modified and Deleted are set for configuration rows only.
	Name     string
	Modified time.Time
	Deleted  bool
	Raw      []any // values of the raw table's typed columns, in their order
	JSON     json.RawMessage
	Metrics  metric.Values // reports only
	Funds    []fund.Row    // money only: what the row says of each kind
	// Assets are what a creative shows, each once; nil where the row does not say. Lists that map assets only.
	Assets []rawtable.AssetUse
	// MoreAssets says that Assets may lack some, since the id of one cannot be used: none is taken for removed.
	MoreAssets bool
	// Faults are the values that cannot be used. They are not set in the row.
	Faults []wire.Fault
	// Lost says that a key cannot be used, so that nobody knows what the row is about. The row counts and is not written.
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
