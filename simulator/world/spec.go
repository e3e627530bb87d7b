package world

import (
	"net/url"

	"adsync/simulator/fault/trap"
	"adsync/simulator/limit"
)

// Spec is what the world needs to know about a platform: its name, the form of its ids, its metrics, its limits.
type Spec struct {
	Number   uint64   // separates the platform's accounts in the world's random numbers; never reused
	Name     string   // its name in the control API
	Prefix   string   // its prefix of the path
	BasePath string   // the path of a client's base URL
	Hosts    []string // hosts of the real service: a request to one needs no prefix

	AccountParam string // the query parameter that names the account
	// parameters are in a JSON body: each field is treated as a query parameter, with its value as text or JSON
	JSONBody    bool
	FormBody    bool   // likewise in a form, in addition to JSONBody
	ObjectKind  string // the kind of its lowest configuration level in the truth
	HasProjects bool
	// CreativesAreParts means that creatives are no separate objects: they are listed with their ad, by their assets.
	CreativesAreParts bool
	HidesDeleted      bool                  // no list has deleted objects
	VideosOnly        bool                  // creatives are videos
	TextOnly          func(*Account) bool   // whether an account's creatives are texts, without assets; nil is never
	Unbudgeted        bool                  // ads have no budget
	ChinaOnly         bool                  // all accounts are in CNY, and their days are China's
	AnyCurrency       bool                  // accounts may be in currencies without cents or with three decimals
	Packs             func(k Key) bool      // whether the creatives of the ad with a key are one package; nil is never
	PackName          func(ad int64) string // the name of the package of the ad with an id
	AccountName       func(*Account) string // the displayed name of an account
	// the user of a login, which it returns after the consent
	User func(w *World, l *Login) (id int64, name string)
	// the metrics of its reports, in the order of the truth
	Metrics []Metric

	AccountBase, AccountStep int64 // account i has its id in [base+i*step, base+(i+1)*step)
	ObjectBase, ObjectStep   int64 // likewise for ads, by their number
	ProjectBase              int64 // likewise for projects, with the ads' step
	CreativeBase             int64 // likewise for creatives, by the ad's number and their own
	AppBase                  int64

	CreativeObject func(c *Creative) string                         // the id of a creative in the truth
	AssetID        func(kind AssetKind, number int64, k Key) string // the platform's id of an asset
	Material       func(kind AssetKind, number int64) int64         // its id in reports; nil if they have none
	Mode           func(kind AssetKind, shape [2]int64) string      // its name for the kind of material, likewise

	AuthorisePath string // the path of the consent page, after the prefix
	AppParam      string // the query parameter with the app's id
	RedirectParam string // the query parameter with the address of the callback; "" is redirect_uri
	CodeParam     string // the callback's parameter with the code
	// Callback adds the platform's own parameters to those of the callback; nil adds none.
	Callback func(w *World, l *Login, now int64, to url.Values)

	AccessLife, RefreshLife int64 // life of tokens, in seconds of the world
	CodeLife                int64 // life of authorisation codes, likewise
	oldAccessSurvives       bool  // a refresh keeps the older access token valid; a switch can change it
	RefreshRotates          bool  // each refresh replaces the refresh token too

	// Names of fields for faults and traps that change an answer. Endpoints have the same names as in limits.
	FigureField  string                  // a figure in a report's rows
	DayFields    []string                // the key of a report's rows is the first of these that exists
	KeyFields    map[string]string       // the key of a list's rows, by endpoint
	NumberFields []string                // fields of lists that may be texts
	LengthFields []string                // the length of a video
	IsSum        func(q url.Values) bool // whether a report's sums are those of its rows; nil is always
	GiantTraps   map[trap.ID]int         // traps that only a giant with more creatives meets
	// UnknownAnswer is an answer with the error code 77777, which no platform has; "" is one with code and message.
	UnknownAnswer string

	// Assumed holds behaviour that the documents do not state: its name and its value. An order changes a value.
	Assumed map[string]int64

	Limits []limit.Rule // the defaults
	// SharedLimits means that calls of all endpoints of an app count against the same limits. An endpoint can also have
	// its own.
	SharedLimits    bool
	TolerantPenalty bool // penalties follow a minute of many calls, not the first call over a limit
}
