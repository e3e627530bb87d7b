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
//
// With NoTotal the proof is ByRepeat, and the end is a page without rows: a short page may be followed by others, as
// may a full one. Where the answer itself marks the last page, Last or More names the mark, and only the mark counts.
type Numbered struct {
	Endpoint string
	Size     int    // rows of a full page
	Reach    int    // how many rows can be reached by pages; 0 is all
	SizeName string // the parameter for Size; "" is page_size
	Rows     string // the field that holds the rows; "" is "list"
	Total    string // the field that holds the total; "" is total_number in page_info
	NoTotal  bool   // the answers have no total
	Bare     bool   // with NoTotal: the answer is the array of rows itself
	Last     string // with NoTotal: the field that is true on the last page, such as isEnd
	More     string // with NoTotal: the field that is false on the last page, such as has_more
	// OptionalTotal means that an answer without a total is read as with NoTotal. Total must be set.
	OptionalTotal bool
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
		query.Set(n.sizeName(), strconv.Itoa(n.Size))
		return api.Get(ctx, n.Endpoint, query)
	})
}

// PostPage is Page for platforms that take the query as a JSON body: see PostReader.
func (n Numbered) PostPage(ctx context.Context, api API, page string, body map[string]any,
	read func(*Page, json.RawMessage)) (Page, error) {
	return n.page(page, read, func(number int) (json.RawMessage, error) {
		body["page"], body[n.sizeName()] = number, n.Size
		return api.Post(ctx, n.Endpoint, body)
	})
}

func (n Numbered) sizeName() string { return cmp.Or(n.SizeName, "page_size") }

func (n Numbered) page(page string, read func(*Page, json.RawMessage),
	ask func(number int) (json.RawMessage, error)) (Page, error) {
	number, err := PageNumber(page, 1)
	if err != nil {
		return Page{}, err
	}
	data, err := ask(number)
	if err != nil {
		return Page{}, err
	}
	out, last, err := n.read(data, read)
	if err != nil {
		return Page{}, Broken(n.Endpoint, err)
	}
	if out.Proof == ByRepeat {
		if !last {
			out.Next = strconv.Itoa(number + 1)
		}
		return out, nil
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

// read returns a page without Moved and Next. last reports whether a page without a total is the last one.
func (n Numbered) read(data json.RawMessage, read func(*Page, json.RawMessage)) (page Page, last bool, err error) {
	answer, rows, err := n.open(data)
	switch {
	case err != nil:
	case !n.hasTotal(answer):
		page.Proof = ByRepeat
		last, err = n.isLast(answer, len(rows))
	default:
		page.Total, err = n.total(answer)
	}
	if err != nil {
		return Page{}, false, err
	}
	for _, raw := range rows {
		read(&page, raw)
	}
	if n.Summary != nil {
		n.Summary(&page, answer)
	}
	return page, last, nil
}

// open returns the fields and the rows of an answer. Without a total a list must be in it, even an empty one.
func (n Numbered) open(data json.RawMessage) (answer map[string]json.RawMessage, rows wire.List, err error) {
	if n.Bare {
		if rows, err = wire.Elements(data); err != nil || rows == nil {
			return nil, nil, errors.New("the answer is not a list")
		}
		return nil, rows, nil
	}
	if answer, err = wire.Fields(data); err != nil {
		return nil, nil, err
	}
	name := cmp.Or(n.Rows, "list")
	if raw := answer[name]; raw != nil {
		if rows, err = wire.ListOf(raw); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	} else if !n.hasTotal(answer) {
		err = fmt.Errorf("there is no %s", name)
	}
	return answer, rows, err
}

func (n Numbered) hasTotal(answer map[string]json.RawMessage) bool {
	return !n.NoTotal && (!n.OptionalTotal || answer[n.Total] != nil)
}

// isLast reports whether an answer without a total is the last page: by its mark, otherwise because it has no rows.
func (n Numbered) isLast(answer map[string]json.RawMessage, rows int) (bool, error) {
	name := cmp.Or(n.Last, n.More)
	if name == "" {
		return rows == 0, nil
	}
	mark, err := wire.TruthOf(answer[name])
	if err == nil && mark == nil {
		err = errors.New("there is none")
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return *mark == (n.Last != ""), nil
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

// PageNumber returns the number that is the token of a page: first for "".
func PageNumber(page string, first int) (int, error) {
	if page == "" {
		return first, nil
	}
	number, err := strconv.Atoi(page)
	if err != nil || number < first {
		return 0, &Error{Class: Bug, Message: "page " + strconv.Quote(page) + " is not a page number"}
	}
	return number, nil
}
