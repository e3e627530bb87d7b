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

// Numbered reads lists and reports whose pages are asked for by number, in the envelopes that several platforms
// share: the rows, and the number of all. Platforms serve each page from what they have at that moment, so rows that
// come and go move all that follow: a page that cannot be the one of its number among the total says so in
// Page.Moved.
type Numbered struct {
	Endpoint string
	Size     int    // rows of a full page, as many as are asked for
	Reach    int    // how many rows there are pages for; 0 is all
	Rows     string // the field that holds the rows; "" is "list"
	Total    string // the field that holds the number of all; "" is total_number in page_info
	// Beside reads what an answer says of all rows of a query, beside those of its page; nil reads nothing.
	Beside func(page *Page, answer map[string]json.RawMessage)
}

// Page fetches a page: the first for "", else the one that is named by its number, as Next of the one before. read
// adds a row of the platform's to the page, also one that cannot be used. Errors are the API's, *Error of class
// Transient for an answer that does not read, and of class Bug for a page that no Next has named.
func (n Numbered) Page(ctx context.Context, api API, page string, query url.Values,
	read func(*Page, json.RawMessage)) (Page, error) {
	return n.page(page, read, func(number int) (json.RawMessage, error) {
		query.Set("page", strconv.Itoa(number))
		query.Set("page_size", strconv.Itoa(n.Size))
		return api.Get(ctx, n.Endpoint, query)
	})
}

// PostPage is Page for platforms that want the query as a JSON body: see PostReader.
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
			return Page{}, &Error{Class: Bug, Message: "page " + strconv.Quote(page) + " is none that was given out"}
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
	if n.Beside != nil {
		n.Beside(&page, answer)
	}
	return page, nil
}

// total is how many the platform says there are over all pages.
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

// counted is how many there are on the page of what Total counts.
func (p Page) counted() int {
	if p.Counted != nil {
		return len(p.Counted)
	}
	return len(p.Rows)
}

// EachRow is for lists of which each row of the platform's is one of ours.
func EachRow(read func(*wire.Row) Row) func(*Page, json.RawMessage) {
	return func(page *Page, raw json.RawMessage) { page.Rows = append(page.Rows, OpenRow(raw, read)) }
}

// OpenRow reads a row. What of it cannot be used stands in the row's Faults.
func OpenRow(raw json.RawMessage, read func(*wire.Row) Row) Row {
	from := wire.Open(raw)
	row := read(from)
	row.Faults, row.Lost = from.Faults(), from.Lost()
	if row.JSON == nil {
		row.JSON = from.JSON()
	}
	return row
}
