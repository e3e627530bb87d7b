package kuaishou

import (
	"context"
	"encoding/json"
	"strconv"

	"adsync/media"
	"adsync/media/wire"
)

// The log of what users changed (document 2919). It reaches six months back, and a page has at most 500 entries.
const (
	operationsEndpoint = "v1/tool/operation_record/list"
	operationsPage     = 500
)

// Operations implements media.OperationLogger. How many days a query may span is not documented.
func (Platform) Operations() media.Operations {
	return media.Operations{MaxDays: 7, LookBack: 180, Page: operations}
}

// targets are the levels of changed objects by operation_target. A package of program creatives has the id of its unit.
// An entry about another target is the account's.
var targets = map[int64]string{2: "campaign", 3: "adgroup", 4: "creative", 9: "package"}

// roles and kinds are the documents' numbers of who changed something, and of what was done.
var (
	roles = map[int64]string{1: "advertiser", 2: "agency", 3: "system", 4: "administrator", 5: "marketing API"}
	kinds = map[int64]string{1: "new", 2: "change"}
)

func operations(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	body := of(api, map[string]any{"start_date": q.From, "end_date": q.To})
	return rowsOf(operationsEndpoint, operationsPage).PostPage(ctx, api, page, body, media.EachRow(readOperation))
}

// readOperation reads an entry. The platform gives entries no ids.
func readOperation(r *wire.Row) media.Row {
	o := &media.Operation{At: r.Time("operation_time", readTime), By: named(roles, r.Int("role_type")),
		Kind: named(kinds, r.Int("operation_type")), Level: targets[r.Int("operation_target").Value]}
	if o.Level == "" {
		o.Level = "account"
	} else {
		o.Object = string(r.ID("object_id"))
	}
	for _, raw := range r.List("content_log") {
		change := wire.Open(raw)
		fields := change.Fields()
		o.Fields = append(o.Fields, media.FieldChange{Name: change.Text("field_name"),
			Before: value(fields["original_data"]), After: value(fields["update_data"])})
		r.Add(change.Faults())
	}
	return media.Row{Operation: o}
}

// named returns the name of a number, or the number itself.
func named(names map[int64]string, n wire.Int) string {
	if name, known := names[n.Value]; known || !n.Set {
		return name
	}
	return strconv.FormatInt(n.Value, 10)
}

// value returns a value's JSON; "" if there is none.
func value(raw json.RawMessage) string {
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}
