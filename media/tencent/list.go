package tencent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"adsync/media"
	"adsync/media/wire"
)

// listPage is how many objects a page of a list holds at most.
const listPage = 100

// The two queries that make up a list. Live objects come first: an object that is deleted between the two queries is
// then in both. In the other order it would be in neither.
const (
	live    = "live"
	deleted = "deleted"
)

// filter is one condition of a query. Values are texts for every field.
type filter struct {
	Field    string   `json:"field"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// cursorList is a list of objects that have a modification time and may be deleted. It pages by cursor: numbered
// pages end at 10,000 rows.
type cursorList struct {
	endpoint string
	fields   []string
	read     func(*wire.Row) media.Row
}

// page fetches a page. Its token is "<rows so far>:<cursor>".
func (l cursorList) page(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	seen, cursor, err := splitPage(page)
	if err != nil {
		return media.Page{}, err
	}
	query := url.Values{
		"account_id":      {api.Account().ExternalID},
		"fields":          {asJSON(l.fields)},
		"is_deleted":      {strconv.FormatBool(q.Variant == deleted)},
		"pagination_mode": {"PAGINATION_MODE_CURSOR"},
		"page_size":       {strconv.Itoa(listPage)},
	}
	if !q.Since.IsZero() {
		query.Set("filtering", asJSON([]filter{{
			Field: "last_modified_time", Operator: "GREATER_EQUALS", Values: []string{strconv.FormatInt(q.Since.Unix(), 10)},
		}}))
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	data, err := api.Get(ctx, l.endpoint, query)
	if err != nil {
		return media.Page{}, err
	}
	out, next, err := l.readPage(data, q.Variant == deleted)
	if err != nil {
		return media.Page{}, media.Broken(l.endpoint, err)
	}
	// By the pages of adgroups/get and dynamic_creatives/get an empty cursor ends the list. A cursor with the last rows
	// would only lead to an empty page. An empty page before them has a cursor to the next page.
	seen += len(out.Rows)
	if next != "" && seen < out.Total {
		out.Next = strconv.Itoa(seen) + ":" + next
	}
	return out, nil
}

func splitPage(page string) (seen int, cursor string, err error) {
	if page == "" {
		return 0, "", nil
	}
	count, cursor, _ := strings.Cut(page, ":")
	if seen, err = strconv.Atoi(count); err != nil || cursor == "" {
		return 0, "", &media.Error{Class: media.Bug, Message: "page " + strconv.Quote(page) + " is not a page number"}
	}
	return seen, cursor, nil
}

func (l cursorList) readPage(data json.RawMessage, isDeleted bool) (page media.Page, next string, err error) {
	answer, err := wire.Fields(data)
	if err != nil {
		return media.Page{}, "", err
	}
	list, err := wire.ListOf(answer["list"])
	if err != nil {
		return media.Page{}, "", fmt.Errorf("list: %w", err)
	}
	cursor := wire.Open(answer["cursor_page_info"])
	total := cursor.Int("total_number")
	if !total.Set {
		return media.Page{}, "", errors.New("cursor_page_info has no usable total_number")
	}
	page.Total = int(total.Value)
	for _, raw := range list {
		row := media.OpenRow(raw, l.read)
		row.Deleted = row.Deleted || isDeleted
		page.Rows = append(page.Rows, row)
	}
	return page, wire.String(cursor.Fields()["next_cursor"]), nil
}
