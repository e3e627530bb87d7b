package simulator

import "net/url"

// spec is what the world must know of a platform: its name, the shape of its ids, what it can report, its limits.
type spec struct {
	number   uint64   // tells the platform's accounts from others' in the world's random numbers; never reused
	name     string   // how the control API calls it
	prefix   string   // its part of the path
	basePath string   // what a client is configured with, after the host
	hosts    []string // the real service's hosts: a request that names one needs no prefix

	accountParam string // the query parameter that names the account
	jsonBody     bool   // parameters come in a JSON body: each of its fields counts as one of the query's, its value as text or as JSON
	objectKind   string // the kind of its lowest configuration level in the truth
	hasProjects  bool
	// creativesAreParts says that creatives are no objects of their own but told with their ad, by what they show.
	creativesAreParts bool
	accountName       func(*account) string                            // what it shows as an account's name
	user              func(w *world, l *login) (id int64, name string) // what it tells of a login's user, once that has agreed
	metrics           []metric                                         // what its reports can say, in the order of the truth

	accountBase, accountStep int64 // account i has an id in [base+i*step, base+(i+1)*step)
	objectBase, objectStep   int64 // so has each ad, by its number
	projectBase              int64 // and each project, with the ads' step
	creativeBase             int64 // and each creative, by its ad's number and its own
	appBase                  int64

	creativeObject func(c *creative) string                         // what a creative is called in the truth
	assetID        func(kind assetKind, number int64, k key) string // what the platform calls an asset
	material       func(kind assetKind, number int64) int64         // by what reports know it; nil where they do not
	mode           func(kind assetKind, shape [2]int64) string      // its word for what kind of material it is, likewise

	authorisePath string // of the page where a login agrees, after the prefix
	appParam      string // its query parameter that names the app
	codeParam     string // the parameter of the callback that holds the code

	accessLife, refreshLife int64 // of tokens, in seconds of the world
	codeLife                int64 // of authorisation codes, likewise
	oldAccessSurvives       bool  // a refresh leaves the older access token usable; a switch can turn it round

	// How faults and traps that change an answer find their way in it. Endpoints are named as limits name them.
	figureField  string                  // a figure of a report's rows
	dayFields    []string                // which of these is there, the rows of a report are known by
	keyFields    map[string]string       // by what the rows of a list are known, by endpoint
	numberFields []string                // fields of lists that may come as texts
	lengthFields []string                // how long a video is
	isSum        func(q url.Values) bool // whether the sums of a report are those of its rows; nil is always
	giantTraps   map[trapID]int          // traps that only a giant of more creatives meets

	limits          []LimitRule // as shipped
	tolerantPenalty bool        // penalties come after a minute of many calls, not at the first over a limit
}
