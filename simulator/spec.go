package simulator

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

	authorisePath string // of the page where a login agrees, after the prefix
	appParam      string // its query parameter that names the app
	codeParam     string // the parameter of the callback that holds the code

	accessLife, refreshLife int64 // of tokens, in seconds of the world
	codeLife                int64 // of authorisation codes, likewise
	oldAccessSurvives       bool  // a refresh leaves the older access token usable; a switch can turn it round

	limits          []LimitRule // as shipped
	tolerantPenalty bool        // penalties come after a minute of many calls, not at the first over a limit
}

// platform is one advertising platform on the wire. Another one is one more file with this interface, and its line
// in platforms.
type platform interface {
	spec() *spec
	// endpoint is the name of a path's endpoint for limits, faults and the ledger, or endpointUnknown.
	endpoint(path string) string
	// serve answers a call: it checks the token, takes the limits and fills in the answer.
	serve(c *call)
	// overLimit fills in the answer to a call that a limit refuses.
	overLimit(c *call, refusal refusal)
}

// platforms lists all. Accounts are dealt to them in turn, so their order is part of the world.
func platforms() []platform { return []platform{newTencent(), newOceanEngine()} }
