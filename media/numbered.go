package media

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"adsync/media/wire"
)

// Numbered reads lists and reports whose pages are requested by number, in the envelopes that several platforms
// share: the rows and their total. Platforms compute each page at the time of its request, so rows that are added or
// removed shift all rows after them. A page that does not match its number and the total has a reason in Page.Moved.
type Numbered struct {
	Endpoint string
	Size     int    // rows of a full page
	Reach    int    // how many rows can be reached by pages; 0 is all
	Rows     string // the field that holds the rows; "" is "list"
	Total    string // the field that holds the total; "" is total_number in page_info
	// Summary reads the values of an answer that concern all rows of a query; nil if there are none.
	Summary func(page *Page, answer map[string]json.RawMessage)
}

// Page fetches a page: the first for "", otherwise the one whose number was Next of the page before. read adds a row
// of the platform to the page, even an unusable one. Errors are the API's, *Error of class Transient for an
// unreadable answer, and of class Bug for an invalid page token.
func (n Numbered) Page(ctx context.Context, api API, page string, query url.Values,
	read func(*Page, json.RawMessage)) (Page, error) {
	return n.page(page, read, func(number int) (json.RawMessage, error) {
		query.Set("page", strconv.Itoa(number))
		query.Set("page_size", strconv.Itoa(n.Size))
		return api.Get(ctx, n.Endpoint, query)
	})
}

// PostPage is Page for platforms that take the query as a JSON body: see PostReader.
func (n Numbered) PostPage(ctx context.Context, api API, page string, body map[string]any,
	read func(*Page, json.RawMessage)) (Page, error) {
	return n.page(page, read, func(number int) (json.RawMessage, error) {
		body["page"], body["page_size"] = number, n.Size
		return api.Post(ctx, n.Endpoint, body)
	})
}

func (n Numbered) page(page string, read func(*Page, json.RawMessage),
	ask func(number int) (json.RawMessage, error)) (Page, error) {
	number := 1
	if page != "" {
		var err error
		if number, err = strconv.Atoi(page); err != nil || number < 1 {
			return Page{}, &Error{Class: Bug, Message: "page " + strconv.Quote(page) + " is not a page number"}
		}
	}
	data, err := ask(number)
	if err != nil {
		return Page{}, err
	}
	out, err := n.read(data, read)
	if err != nil {
		return Page{}, Broken(n.Endpoint, err)
	}
	reach := out.Total
	if n.Reach > 0 {
		reach = min(reach, n.Reach)
	}
	if due := min(max(reach-(number-1)*n.Size, 0), n.Size); out.counted() != due {
		out.Moved = fmt.Sprintf("page %d has %d rows, and %d are due of a total of %d", number, out.counted(), due, out.Total)
	}
	if number*n.Size < reach {
		out.Next = strconv.Itoa(number + 1)
	}
	return out, nil
}

func (n Numbered) read(data json.RawMessage, read func(*Page, json.RawMessage)) (Page, error) {
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(data, &answer); err != nil {
		return Page{}, err
	}
	total, err := n.total(answer)
	if err != nil {
		return Page{}, err
	}
	var rows wire.List
	if raw := answer[cmp.Or(n.Rows, "list")]; raw != nil {
		if err := json.Unmarshal(raw, &rows); err != nil {
			return Page{}, err
		}
	}
	page := Page{Total: total}
	for _, raw := range rows {
		read(&page, raw)
	}
	if n.Summary != nil {
		n.Summary(&page, answer)
	}
	return page, nil
}

// total returns the platform's number of rows over all pages.
func (n Numbered) total(answer map[string]json.RawMessage) (int, error) {
	if n.Total != "" {
		var total wire.Int
		if err := total.UnmarshalJSON(answer[n.Total]); err != nil {
			return 0, fmt.Errorf("%s: %w", n.Total, err)
		}
		if !total.Set {
			return 0, fmt.Errorf("there is no %s", n.Total)
		}
		return int(total.Value), nil
	}
	var info struct {
		Total wire.Int `json:"total_number"`
	}
	if raw := answer["page_info"]; raw != nil {
		if err := json.Unmarshal(raw, &info); err != nil {
			return 0, err
		}
	}
	if !info.Total.Set {
		return 0, errors.New("page_info has no total_number")
	}
	return int(info.Total.Value), nil
}

// counted returns how many of the things that Total counts are on the page.
func (p Page) counted() int {
	if p.Counted != nil {
		return len(p.Counted)
	}
	return len(p.Rows)
}

// EachRow returns a reader for lists where each row of the platform becomes one row.
func EachRow(read func(*wire.Row) Row) func(*Page, json.RawMessage) {
	return func(page *Page, raw json.RawMessage) { page.Rows = append(page.Rows, OpenRow(raw, read)) }
}

// OpenRow reads a row. Its Faults hold the unusable values.
func OpenRow(raw json.RawMessage, read func(*wire.Row) Row) Row {
	from := wire.Open(raw)
	row := read(from)
	row.Faults, row.Lost = from.Faults(), from.Lost()
	if row.JSON == nil {
		row.JSON = from.JSON()
	}
	return row
}
