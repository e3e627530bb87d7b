// Package invented has two platforms that do not exist, for tests of code that works with any platform. Such tests do
// not depend on adsync's platforms, and stay the same when one is added or removed.
//
// Most tests use Tulip. It counts money in hundredths, lists ad groups, creatives, images and videos, and splits a
// report with too many rows by ad group. Orchid counts money in whole units of the currency, nests its figures, and
// has campaigns above the ad groups. It has two rows of an hour that occurs twice. Its list of campaigns has no total
// and selects no changes. Its list of images has no total either, but it marks the last page, and it selects changes by
// the day. It makes files of the days of its daily reports that are older than 60 days, and it has a log of operations.
// One query of a report covers up to four accounts. Both platforms have raw tables as a real one has, which
// sqldb.EnsureRawTables creates, and read their rows with package wire.
package invented

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

// The media names. Orchid's sorts before the name of adsync's own tasks, and Tulip's after it.
const (
	Tulip  = "tulip"
	Orchid = "orchid"
)

// Platform is Tulip or Orchid. The zero Platform is Tulip, so that a test's platform can embed it.
type Platform struct{ orchid bool }

var (
	_ media.Platform   = Platform{}
	_ media.Authoriser = Platform{}

	_ media.OperationLogger = Platform{}
)

// New returns Tulip.
func New() Platform { return Platform{} }

// NewOrchid returns Orchid.
func NewOrchid() Platform { return Platform{orchid: true} }

// Both returns Tulip and Orchid.
func Both() []media.Platform { return []media.Platform{New(), NewOrchid()} }

// Name implements media.Platform.
func (p Platform) Name() string {
	if p.orchid {
		return Orchid
	}
	return Tulip
}

// BaseURL implements media.Platform. No server has this address.
func (p Platform) BaseURL() string { return "https://api." + p.Name() + ".example/v1" }

// Limits implements media.Platform.
func (p Platform) Limits() []grant.Rule {
	return []grant.Rule{
		{Media: p.Name(), Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: time.Second, Limit: 20},
		{Media: p.Name(), Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: time.Minute, Limit: 600},
	}
}

// Sign implements media.Platform.
func (Platform) Sign(req *http.Request, accessToken string, _ time.Time) {
	req.Header.Set("Authorization", "Bearer "+accessToken)
}

// codes is the platforms' error table, with one code of each kind.
var codes = media.Codes{
	unknownField: {Class: media.Bug},
	41:           {Class: media.Auth, Expired: true},
	42:           {Class: media.Auth},
	43:           {Class: media.Invalid},
	44:           {Class: media.Quota, Scope: grant.ScopeApp},
	45:           {Class: media.Invalid, Parks: media.Frozen},
	46:           {Class: media.Invalid, Parks: media.Revoked},
	jobExists:    {Class: media.Bug},
	jobUnknown:   {Class: media.Bug},
	50:           {Class: media.Transient},
}

// The codes for jobs: one of the same name exists; there is none with this id.
const (
	jobExists  = 47
	jobUnknown = 48
)

// unknownField is the code for a request of an unknown field.
const unknownField = 4009

// Decode implements media.Platform.
func (Platform) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	return codes.Decode(status, header, body)
}

// table returns one of the platform's raw tables.
func (p Platform) table(name string, shape rawtable.Shape, columns ...rawtable.Column) rawtable.Table {
	return rawtable.Table{Name: p.Name() + "_" + name, Shape: shape, Columns: columns}
}

// object is a level of objects: its list and its raw table have its name.
type object struct {
	level, parent string
	columns       []rawtable.Column
	noTotal       bool   // the list has no total
	bare          bool   // its answers are arrays of rows
	noSince       bool   // it cannot select changes
	more          string // the mark of its last page
	byDay         bool   // changes are selected by the day in zone
}

// zone is the zone of all accounts.
var zone = time.FixedZone("", 8*3600)

var times = []rawtable.Column{{Name: "created_at", Kind: rawtable.Instant},
	{Name: "modified_at", Kind: rawtable.Instant}}

var (
	campaigns = object{level: "campaign", noTotal: true, bare: true, noSince: true,
		columns: slices.Concat([]rawtable.Column{{Name: "name", Kind: rawtable.Text},
			{Name: "status", Kind: rawtable.Text}}, times)}
	adgroups = object{level: "adgroup", columns: slices.Concat([]rawtable.Column{
		{Name: "name", Kind: rawtable.Text}, {Name: "status", Kind: rawtable.Text},
		{Name: "budget_cents", Kind: rawtable.Int}, {Name: "bid_cents", Kind: rawtable.Int},
	}, times)}
	creatives = object{level: "creative", parent: "adgroup_id", columns: slices.Concat([]rawtable.Column{
		{Name: "name", Kind: rawtable.Text}, {Name: "adgroup_id", Kind: rawtable.Text}, {Name: "status", Kind: rawtable.Text},
		{Name: "review", Kind: rawtable.Text},
	}, times)}
	images = object{level: rawtable.AssetImage, columns: assetColumns}
	videos = object{level: rawtable.AssetVideo, columns: assetColumns}
)

var assetColumns = slices.Concat([]rawtable.Column{
	{Name: "name", Kind: rawtable.Text}, {Name: "width", Kind: rawtable.Int}, {Name: "height", Kind: rawtable.Int},
	{Name: "signature", Kind: rawtable.Text},
}, times)

// Lists implements media.Platform.
func (p Platform) Lists() []media.List {
	list := func(o object) media.List {
		l := media.List{
			Name: o.level, Level: o.level, Table: p.table(o.level, rawtable.Objects, o.columns...), Parent: o.parent,
			Unlogged: []string{"modified_at", "deleted"}, NoSince: o.noSince, Page: o.page,
		}
		if o.byDay {
			l.SinceZone = zone
		}
		return l
	}
	groups, shown := list(adgroups), list(creatives)
	groups.Shown, shown.MapsAssets = rawtable.Shown{Column: "status", Value: "running"}, true
	if !p.orchid {
		return []media.List{groups, shown, list(images), list(videos)}
	}
	marked := images
	marked.noTotal, marked.more, marked.byDay = true, "has_more", true
	return []media.List{groups, shown, list(marked), list(videos), list(campaigns)}
}

// read reads an object's row: each column has the name of its field.
func (o object) read(r *wire.Row) media.Row {
	name := r.Text("name")
	row := media.Row{Object: r.Key("id"), Name: wire.Cut(name), Modified: r.Unix("modified_at"),
		Deleted: r.Bool("deleted")}
	for _, c := range o.columns {
		switch {
		case c.Name == o.parent:
			row.Raw = append(row.Raw, wire.Text(string(r.ID(c.Name))))
		case c.Kind == rawtable.Int:
			row.Raw = append(row.Raw, r.Int(c.Name).Column())
		case c.Kind == rawtable.Instant:
			row.Raw = append(row.Raw, sqldb.At(r.Unix(c.Name)))
		default:
			row.Raw = append(row.Raw, wire.Text(r.Text(c.Name)))
		}
	}
	return row
}
