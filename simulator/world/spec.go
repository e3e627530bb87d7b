package world

import (
	"net/url"

	"adsync/simulator/fault/trap"
	"adsync/simulator/limit"
)

// Spec is what the world must know of a platform: its name, the shape of its ids, what it can report, its limits.
type Spec struct {
	Number   uint64   // tells the platform's accounts from others' in the world's random numbers; never reused
	Name     string   // how the control API calls it
	Prefix   string   // its part of the path
	BasePath string   // what a client is configured with, after the host
	Hosts    []string // the real service's hosts: a request that names one needs no prefix

	AccountParam string // the query parameter that names the account
	// parameters come in a JSON body: each of its fields counts as one of the query's, its value as text or as JSON
	JSONBody    bool
	ObjectKind  string // the kind of its lowest configuration level in the truth
	HasProjects bool
	// CreativesAreParts says that creatives are no objects of their own but told with their ad, by what they show.
	CreativesAreParts bool
	AccountName       func(*Account) string // what it shows as an account's name
	// what it tells of a login's user, once that has agreed
	User func(w *World, l *Login) (id int64, name string)
	// what its reports can say, in the order of the truth
	Metrics []Metric

	AccountBase, AccountStep int64 // account i has an id in [base+i*step, base+(i+1)*step)
	ObjectBase, ObjectStep   int64 // so has each ad, by its number
	ProjectBase              int64 // and each project, with the ads' step
	CreativeBase             int64 // and each creative, by its ad's number and its own
	AppBase                  int64

	CreativeObject func(c *Creative) string                         // what a creative is called in the truth
	AssetID        func(kind AssetKind, number int64, k Key) string // what the platform calls an asset
	Material       func(kind AssetKind, number int64) int64         // by what reports know it; nil where they do not
	Mode           func(kind AssetKind, shape [2]int64) string      // its word for what kind of material it is, likewise

	AuthorisePath string // of the page where a login agrees, after the prefix
	AppParam      string // its query parameter that names the app
	CodeParam     string // the parameter of the callback that holds the code

	AccessLife, RefreshLife int64 // of tokens, in seconds of the world
	CodeLife                int64 // of authorisation codes, likewise
	oldAccessSurvives       bool  // a refresh leaves the older access token usable; a switch can turn it round

	// How faults and traps that change an answer find their way in it. Endpoints are named as limits name them.
	FigureField  string                  // a figure of a report's rows
	DayFields    []string                // which of these is there, the rows of a report are known by
	KeyFields    map[string]string       // by what the rows of a list are known, by endpoint
	NumberFields []string                // fields of lists that may come as texts
	LengthFields []string                // how long a video is
	IsSum        func(q url.Values) bool // whether the sums of a report are those of its rows; nil is always
	GiantTraps   map[trap.ID]int         // traps that only a giant of more creatives meets

	Limits          []limit.Rule // as shipped
	TolerantPenalty bool         // penalties come after a minute of many calls, not at the first over a limit
}
