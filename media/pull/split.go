package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/store/results"
	"adsync/media"
	"adsync/media/wire"
)

// rowsHeld is how many rows one pull of a day may hold in memory. A day with more is refused.
const rowsHeld = 200_000

// termsOf returns the terms of a query of a report.
func termsOf(api media.API, report media.Report, q media.ReportQuery) terms {
	account := api.Account()
	of := terms{rowsMax: cmp.Or(report.RowsMax, rowsHeld), currency: account.Currency}
	if report.RepeatsHours {
		of.repeated = repeatedHours(day.Between(q.From, q.To), account.Zone)
	}
	return of
}

// overCapError reports a query that has more rows than the platform returns for one.
type overCapError struct{ total, rowsMax int }

func (e *overCapError) Error() string {
	return fmt.Sprintf("the query has %s, and the platform returns %d of them", plural.Count(e.total, "row", "rows"),
		e.rowsMax)
}

// refused returns the error of a day that cannot be split any further. The subtask is dead at once, and nothing of
// the day is written.
func refused(report media.Report, q media.ReportQuery, why string) error {
	return &media.Error{
		Class: media.Invalid, Err: media.ErrRowCap,
		Message: fmt.Sprintf("%s at level %s of %s cannot be pulled: %s", report.Name, report.Level, q.From, why),
	}
}

// splitDays pulls the days of a claim one by one and writes each before it requests the next. It is used where the
// days together have more rows than the platform returns for one query, or where the platform has no hours for some
// of them. A day without hours does not hinder the others.
func (p *puller) splitDays(ctx context.Context, api media.API, account media.Account, report media.Report,
	claim results.Claim, work media.Work) (rows int, err error) {
	superseded := 0
	var failed error
	for _, d := range claim.Days {
		var got fetched
		err := p.withFields(ctx, report, media.ReportQuery{From: d, To: d},
			func(report media.Report, query media.ReportQuery) (err error) {
				got, err = fetchDay(ctx, api, report, query)
				return err
			})
		if err != nil {
			err = fmt.Errorf("fetch %s of account %s for %s: %w", report.Name, account.ExternalID, d, err)
		}
		if errors.Is(err, media.ErrNoHours) {
			failed = cmp.Or(failed, err)
			continue
		}
		if err != nil {
			return rows, err
		}
		one := claim
		one.Days = []day.Day{d}
		result, err := p.writeReport(ctx, account, report, one, got, work)
		rows += result.Written + result.Deleted
		switch {
		case errors.Is(err, media.ErrSuperseded):
			if superseded++; superseded == len(claim.Days) {
				return rows, err
			}
		case err != nil && failed == nil:
			failed = err
		}
	}
	return rows, failed
}

// fetchDays fetches the query of several days.
func fetchDays(ctx context.Context, api media.API, report media.Report, q media.ReportQuery) (fetched, error) {
	return eachVariant(report, q, func(q media.ReportQuery) (fetched, error) {
		return fetch(ctx, termsOf(api, report, q), pagesOf(api, report, q))
	})
}

// fetchDay fetches the query of one day. It fetches parts where the day has more rows than the platform returns for
// one query.
func fetchDay(ctx context.Context, api media.API, report media.Report, q media.ReportQuery) (fetched, error) {
	return eachVariant(report, q, func(q media.ReportQuery) (fetched, error) {
		return fetchVariant(ctx, api, report, q)
	})
}

// eachVariant fetches all variants of a query.
func eachVariant(report media.Report, q media.ReportQuery,
	fetch func(media.ReportQuery) (fetched, error)) (all fetched, err error) {
	for i, variant := range variantsOf(report) {
		q.Variant = variant
		got, err := fetch(q)
		if err != nil {
			return fetched{}, err
		}
		if i == 0 {
			all = got
		} else {
			all.merge(got)
		}
	}
	return all, nil
}

func fetchVariant(ctx context.Context, api media.API, report media.Report, q media.ReportQuery) (fetched, error) {
	got, err := fetch(ctx, termsOf(api, report, q), pagesOf(api, report, q))
	over, isOver := errors.AsType[*overCapError](err)
	if !isOver {
		return got, err
	}
	for range restartsMax {
		switch {
		case over.total > rowsHeld:
			return fetched{}, refused(report, q, fmt.Sprintf("it has %s, and a pull holds %d",
				plural.Count(over.total, "row", "rows"), rowsHeld))
		case report.Split == nil:
			return fetched{}, refused(report, q, over.Error())
		}
		if got, err = fetchParts(ctx, api, report, q, over); err != nil || got.note == "" {
			return got, err
		}
	}
	return got, nil
}

func pagesOf(api media.API, report media.Report, q media.ReportQuery) pageFunc {
	return func(ctx context.Context, token string) (media.Page, error) {
		page, err := report.Page(ctx, api, q, token)
		if err == nil && report.HasSums && page.Sums == nil && len(page.Rows) > 0 {
			return page, &media.Error{Class: media.Transient, Message: "the answer lacks the platform's own sums of the rows"}
		}
		return page, err
	}
}

// fetchParts fetches a day in parts. The day is whole if every part is, and if they have as many rows together as the
// platform reports for the day, before or after the parts were read. over is updated to the newer number.
func fetchParts(ctx context.Context, api media.API, report media.Report, q media.ReportQuery,
	over *overCapError) (fetched, error) {
	split, err := fetch(ctx, terms{rowsMax: report.RowsMax}, func(ctx context.Context, token string) (media.Page, error) {
		return report.Split.Page(ctx, api, q, token)
	})
	if tooMany, ok := errors.AsType[*overCapError](err); ok {
		return fetched{}, refused(report, q, "the list of objects to narrow it by has too many rows itself: "+tooMany.Error())
	}
	if err != nil {
		return fetched{}, err
	}
	if split.note != "" {
		return fetched{note: split.note}, nil
	}
	parts := partsOf{api: api, report: report, query: q, seen: map[rowKey]bool{}}
	parts.apart = keyFaults(split)
	// A quarter fewer than would fit if all objects had equally many rows.
	size := min(max(len(split.rows)*cmp.Or(report.Split.Rows, report.RowsMax)/max(over.total, 1)*3/4, 1),
		report.Split.Most)
	for start := 0; start < len(split.rows); start += size {
		if err := parts.fetch(ctx, split.rows[start:min(start+size, len(split.rows))]); err != nil {
			return fetched{}, err
		}
	}
	if parts.note != "" || parts.count() == over.total {
		return parts.fetched, nil
	}
	// Rows may have been added while the parts were read.
	whole, err := report.Page(ctx, api, q, "")
	if err != nil {
		return fetched{}, err
	}
	if over.total = whole.Total; parts.count() != over.total {
		parts.note = fmt.Sprintf("the parts of the day have %s, and the whole %d", plural.Count(parts.count(), "row", "rows"),
			over.total)
		if keys := keyFaults(split); len(keys) > 0 {
			parts.note += fmt.Sprintf("; the list of objects to narrow by lacks one: its field %s %s", keys[0].Field,
				keys[0].Why)
		}
	}
	return parts.fetched, nil
}

// keyFaults returns the unusable keys among the objects that a day is narrowed by. The rows of those objects are in
// no part.
func keyFaults(split fetched) (keys []wire.Fault) {
	add := func(faults []wire.Fault) {
		for _, f := range faults {
			if f.Kind == wire.KeyFault {
				keys = append(keys, f)
			}
		}
	}
	for i := range split.lost {
		add(split.lost[i].Faults)
	}
	add(split.apart)
	return keys
}

// partsOf gathers the parts of a day.
type partsOf struct {
	fetched
	api    media.API
	report media.Report
	query  media.ReportQuery
	seen   map[rowKey]bool
}

// fetch adds the rows of some objects. It splits the objects in halves where they have too many rows.
func (p *partsOf) fetch(ctx context.Context, objects []media.Row) error {
	q := p.query
	q.Within = make([]string, len(objects))
	for i, o := range objects {
		q.Within[i] = o.Object
	}
	got, err := fetch(ctx, termsOf(p.api, p.report, q), pagesOf(p.api, p.report, q))
	if over, ok := errors.AsType[*overCapError](err); ok {
		if len(objects) == 1 {
			return refused(p.report, q, "for the single object "+q.Within[0]+" "+over.Error())
		}
		half := len(objects) / 2
		if err := p.fetch(ctx, objects[:half]); err != nil {
			return err
		}
		return p.fetch(ctx, objects[half:])
	}
	if err != nil {
		return err
	}
	if got.note != "" {
		p.note = got.note
	}
	p.lost, p.apart, p.added = append(p.lost, got.lost...), append(p.apart, got.apart...), p.added+got.added
	for _, row := range got.rows {
		k := keyOf(row)
		if p.seen[k] {
			p.note = fmt.Sprintf("row %s came in two parts", k)
			continue
		}
		p.seen[k] = true
		p.rows = append(p.rows, row)
	}
	if len(p.rows) > rowsHeld {
		return refused(p.report, q, fmt.Sprintf("it has more than the %s that a pull holds",
			plural.Count(rowsHeld, "row", "rows")))
	}
	return nil
}
