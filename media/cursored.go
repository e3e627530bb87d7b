package media

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"adsync/media/wire"
)

// Cursored reads lists without a total whose pages each continue after a row. Rows have a cursor that rises from row
// to row, and a query names the largest one of the page before, 0 for the first page. The end is a page without rows,
// or the one with the mark of List.Last or List.More. Only with a mark is the proof ByCursor.
type Cursored struct {
	List  Numbered // Endpoint, Size, Rows, Last and More
	Field string   // the field of a row that holds its cursor, a whole number
	Param string   // the query's field for the cursor
	Limit string   // the query's field for the number of rows
}

// PostPage fetches a page by a POST: the first for "", otherwise the one whose cursor was Next of the page before.
// read and errors are those of Numbered.Page.
func (c Cursored) PostPage(ctx context.Context, api API, page string, body map[string]any,
	read func(*Page, json.RawMessage)) (Page, error) {
	largest, err := strconv.ParseInt(cmp.Or(page, "0"), 10, 64)
	if err != nil {
		return Page{}, &Error{Class: Bug, Message: "page " + strconv.Quote(page) + " is not a cursor"}
	}
	body[c.Param], body[c.Limit] = largest, c.List.Size
	data, err := api.Post(ctx, c.List.Endpoint, body)
	if err != nil {
		return Page{}, err
	}
	list := c.List
	list.NoTotal = true
	out, last, err := list.read(data, func(p *Page, raw json.RawMessage) {
		if cursor := wire.Open(raw).Int(c.Field); cursor.Set {
			largest = max(largest, cursor.Value)
		}
		read(p, raw)
	})
	if err != nil {
		return Page{}, Broken(list.Endpoint, err)
	}
	if list.Last != "" || list.More != "" {
		out.Proof = ByCursor
	}
	if !last {
		out.Next = strconv.FormatInt(largest, 10)
	}
	return out, nil
}
