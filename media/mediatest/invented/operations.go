package invented

import (
	"context"
	"net/url"

	"adsync/media"
	"adsync/media/wire"
)

// Operations implements media.OperationLogger. Tulip has no log.
func (p Platform) Operations() media.Operations {
	if !p.orchid {
		return media.Operations{}
	}
	return media.Operations{MaxDays: 7, LookBack: 180, Page: operations}
}

func operations(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	return media.Numbered{Endpoint: media.OperationsName, Size: pageSize}.Page(ctx, api, page, url.Values{
		"account": {api.Account().ExternalID}, "from": {q.From.String()}, "to": {q.To.String()},
	}, media.EachRow(func(r *wire.Row) media.Row {
		o := &media.Operation{At: r.KeyUnix("time"), By: r.Text("by"), Kind: r.Text("action"), Level: r.Text("level"),
			Object: string(r.ID("object"))}
		for _, raw := range r.List("changes") {
			change := wire.Open(raw)
			fields := change.Fields()
			o.Fields = append(o.Fields, media.FieldChange{Name: change.Text("field"), Before: string(fields["before"]),
				After: string(fields["after"])})
			r.Add(change.Faults())
		}
		return media.Row{Object: r.Key("id"), Operation: o}
	}))
}
