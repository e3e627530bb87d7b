package external

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/base/rawtable"
	"adsync/media"
)

// levels are the public levels, each of which a worker may pull.
var levels = []string{accountLevel, "campaign", "adgroup", "creative"}

// lookBack is how many days before today workers may pull.
const lookBack = 3660

// Platform is a platform without Go code. Outside workers call it; adsync itself cannot.
type Platform struct {
	name   string
	limits []grant.Rule
}

var _ media.Platform = (*Platform)(nil)

// New returns the platform of a name, with its call limits.
func New(name string, limits []grant.Rule) *Platform { return &Platform{name, limits} }

// Name implements media.Platform.
func (p *Platform) Name() string { return p.name }

// BaseURL implements media.Platform. There is none.
func (*Platform) BaseURL() string { return "" }

// Limits implements media.Platform.
func (p *Platform) Limits() []grant.Rule { return p.limits }

// Sign implements media.Platform. It does nothing.
func (*Platform) Sign(*http.Request, string, time.Time) {}

// errNoCode is the error of calls that adsync would have to make itself.
func (p *Platform) errNoCode() error {
	return &media.Error{Class: media.Invalid, Message: p.name + " has no code in adsync: outside workers call it"}
}

// Decode implements media.Platform. It always fails.
func (p *Platform) Decode(int, http.Header, []byte) (json.RawMessage, error) {
	return nil, p.errNoCode()
}

// Refresh implements media.Platform. It always fails.
func (p *Platform) Refresh(context.Context, media.Transport, media.App, string) (media.Tokens, error) {
	return media.Tokens{}, p.errNoCode()
}

// Accounts implements media.Platform. It always fails: accounts are written by the API.
func (p *Platform) Accounts(context.Context, media.API, string, func([]media.FoundAccount) error) error {
	return p.errNoCode()
}

// AccountTable implements media.Platform. The table stays empty.
func (*Platform) AccountTable() rawtable.Table { return accountTable }

// Lists implements media.Platform. There are none.
func (*Platform) Lists() []media.List { return nil }

// Funds implements media.Platform. There are none.
func (*Platform) Funds() media.Funds { return media.Funds{} }

// Reports implements media.Platform: a worker may pull each report at each level.
func (p *Platform) Reports() []media.Report {
	page := func(context.Context, media.API, media.ReportQuery, string) (media.Page, error) {
		return media.Page{}, p.errNoCode()
	}
	var reports []media.Report
	for _, level := range levels {
		reports = append(reports,
			media.Report{Name: dailyName, Level: level, MaxDays: 1, LookBack: lookBack, Table: dailyTable, Page: page},
			media.Report{Name: hourlyName, Level: level, Hourly: true, MaxDays: 1, LookBack: lookBack, Table: hourlyTable,
				Page: page})
	}
	return reports
}
