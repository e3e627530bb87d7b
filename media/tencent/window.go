package tencent

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"adsync/media"
)

// numberedCap is how many rows are read by page number. The page of images/get and videos/get allows 99,999 pages of
// 100, but all other lists of the platform end at 10,000 rows: so a larger library is read in windows of the time of
// creation, which such a limit cannot cut off.
const numberedCap = 10_000

// clockAhead is the greatest lead of the platform's clock over ours.
const clockAhead = 24 * time.Hour

// window is a part of a library: the files made between two seconds, both included. The window that ends at last is
// open: it also has the files that the platform dates later.
type window struct {
	from, to, last int64
	number         int // the page's number
	total          int // files in the whole library
}

func (w window) token() string {
	return fmt.Sprintf("%d:%d:%d:%d:%d", w.from, w.to, w.last, w.number, w.total)
}

func readWindow(token string) (w window, ok bool) {
	n, err := fmt.Sscanf(token, "%d:%d:%d:%d:%d", &w.from, &w.to, &w.last, &w.number, &w.total)
	return w, err == nil && n == 5
}

// page fetches a page of the window, and shrinks the window if it has too many rows. After its last page Next is the
// next window, which is twice as long.
func (w window) page(ctx context.Context, ask func(ctx context.Context, page string, made ...filter) (media.Page,
	error)) (media.Page, error) {
	for {
		second := func(operator string, at int64) filter {
			return filter{Field: "created_time", Operator: operator, Values: []string{strconv.FormatInt(at, 10)}}
		}
		made := []filter{second("GREATER_EQUALS", w.from)}
		if w.to < w.last {
			made = append(made, second("LESS_EQUALS", w.to))
		}
		out, err := ask(ctx, strconv.Itoa(w.number), made...)
		if err != nil {
			return media.Page{}, err
		}
		if w.number == 1 && out.Total > numberedCap {
			if w.from == w.to {
				return media.Page{}, &media.Error{Class: media.Invalid,
					Message: fmt.Sprintf("%d files were made in one second: the platform returns %d", out.Total, numberedCap)}
			}
			w.to = w.from + (w.to-w.from)/2
			continue
		}
		out.Total = w.total
		switch {
		case out.Next != "":
			w.number++
			out.Next = w.token()
		case w.to < w.last:
			length := w.to - w.from + 1
			w.from, w.number = w.to+1, 1
			w.to = min(w.from+2*length-1, w.last)
			out.Next = w.token()
		}
		return out, nil
	}
}

// page fetches a page of the library.
func (l assetList) page(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	ask := func(ctx context.Context, page string, filters ...filter) (media.Page, error) {
		if !q.Since.IsZero() {
			filters = append(filters, filter{Field: "last_modified_time", Operator: "GREATER_EQUALS",
				Values: []string{strconv.FormatInt(q.Since.Unix(), 10)}})
		}
		return media.Numbered{Endpoint: l.endpoint, Size: listPage}.Page(ctx, api, page, url.Values{
			"account_id": {api.Account().ExternalID},
			"fields":     {asJSON(l.fields)},
			"filtering":  {asJSON(filters)},
		}, media.EachRow(l.read))
	}
	if q.Variant == undated {
		if !q.Since.IsZero() {
			// There are very few undated files: the full list at night has them, and pulls of changes spend no call on them.
			return media.Page{}, nil
		}
		return ask(ctx, page, filter{Field: "created_time", Operator: "LESS",
			Values: []string{strconv.FormatInt(beforeAll, 10)}})
	}
	if w, ok := readWindow(page); ok {
		return w.page(ctx, ask)
	}
	out, err := ask(ctx, page, filter{Field: "created_time", Operator: "GREATER_EQUALS",
		Values: []string{strconv.FormatInt(beforeAll, 10)}})
	if err != nil || page != "" || out.Total <= numberedCap {
		return out, err
	}
	last := q.Until.Add(clockAhead).Unix()
	return window{from: beforeAll, to: last, last: last, number: 1, total: out.Total}.page(ctx, ask)
}
