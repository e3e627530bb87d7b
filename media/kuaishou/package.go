package kuaishou

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"adsync/media"
	"adsync/media/wire"
)

// packages lists the packages from which the platform makes program creatives (document 2583). A unit has one at most.
var packages = objects{
	endpoint: "gw/dsp/advanced_creative/list", size: listPage, filter: map[string]any{"status": -2},
	since: "start_date", until: "end_date",
}

// creativePage fetches a page of custom creatives, or of packages with their program creatives.
func creativePage(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	if q.Variant == program {
		return packages.fetch(ctx, api, q, page, readPackage)
	}
	return creatives.page(ctx, api, q, page)
}

// readPackage adds a package's program creatives to a page, which counts packages. They have the name, states and times
// of their package. Which of its files a creative shows is not documented. A creative that the platform no longer makes
// is marked deleted when a full pull no longer finds it.
func readPackage(page *media.Page, raw json.RawMessage) {
	p := wire.Open(raw)
	page.Counted = append(page.Counted, p.KeyNumber("unit_id"))
	shared := media.Row{Name: wire.Cut(p.Text("package_name")), Modified: p.Time("update_time", readTime),
		Deleted: putDeleted(p)}
	fields := maps.Clone(p.Fields())
	delete(fields, "creatives")
	for _, f := range creatives.fields {
		if name, ok := ofPackage[f.Field]; ok {
			shared.Raw = append(shared.Raw, f.Read(p, name))
		} else {
			shared.Raw = append(shared.Raw, wire.Text(""))
		}
	}
	made := p.List("creatives")
	if made == nil {
		// Without the list, its creatives would be treated as deleted.
		p.Lose("creatives", errors.New("is not a list"))
	}
	page.Faults = append(page.Faults, p.Faults()...)
	if p.Lost() {
		return
	}
	for _, raw := range made {
		page.Rows = append(page.Rows, media.OpenRow(raw, func(c *wire.Row) media.Row {
			row := shared
			row.Object = c.KeyNumber(creatives.key)
			row.JSON = withField(fields, creatives.key, c.Fields()[creatives.key])
			return row
		}))
	}
}

// ofPackage maps a creative's column to the package's field that holds its value.
var ofPackage = map[string]string{
	"creative_name": "package_name", "unit_id": "unit_id", "put_status": "put_status", "status": "view_status",
	"create_time": "create_time", "update_time": "update_time",
}

// withField returns the JSON of fields with one more; nil if a value is not JSON.
func withField(fields map[string]json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	fields = maps.Clone(fields)
	fields[name] = value
	text, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return text
}
