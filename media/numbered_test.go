package media_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/media"
	"adsync/media/wire"
)

// pager returns each page by its number.
type pager struct {
	answers map[string]string
	asked   []string
}

func (p *pager) Get(_ context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	p.asked = append(p.asked, endpoint+" "+query.Encode())
	return json.RawMessage(p.answers[query.Get("page")]), nil
}

func (p *pager) Post(_ context.Context, endpoint string, body any) (json.RawMessage, error) {
	sent, err := json.Marshal(body)
	p.asked = append(p.asked, endpoint+" "+string(sent))
	return json.RawMessage(p.answers[fmt.Sprint(body.(map[string]any)["page"])]), err
}

func (*pager) Account() media.Account { return media.Account{} }

func readName(page *media.Page, raw json.RawMessage) {
	page.Rows = append(page.Rows, media.Row{Object: wire.String(raw)})
}

func numberedAnswer(total int, rows ...string) string {
	quoted := make([]string, len(rows))
	for i, r := range rows {
		quoted[i] = `"` + r + `"`
	}
	return fmt.Sprintf(`{"list":[%s],"page_info":{"page":1,"page_size":2,"total_number":%d,"total_page":9}}`,
		strings.Join(quoted, ","), total)
}

func TestNumbered_PageTokensAreNumbers(t *testing.T) {
	t.Parallel()
	pages := media.Numbered{Endpoint: "ads/get", Size: 2}
	api := &pager{answers: map[string]string{"1": numberedAnswer(3, "a", "b"), "2": numberedAnswer(3, "c")}}
	first, err := pages.Page(t.Context(), api, "", url.Values{"account": {"7"}}, readName)
	require.NoError(t, err)
	require.Equal(t, media.Page{Rows: []media.Row{{Object: "a"}, {Object: "b"}}, Total: 3, Next: "2"}, first)
	last, err := pages.Page(t.Context(), api, first.Next, url.Values{}, readName)
	require.NoError(t, err)
	require.Equal(t, media.Page{Rows: []media.Row{{Object: "c"}}, Total: 3}, last)
	require.Equal(t, []string{"ads/get account=7&page=1&page_size=2", "ads/get page=2&page_size=2"}, api.asked)

	for _, page := range []string{"0", "x", "-1"} {
		_, err := pages.Page(t.Context(), api, page, url.Values{}, readName)
		failed, ok := errors.AsType[*media.Error](err)
		require.True(t, ok)
		require.Equal(t, media.Bug, failed.Class, page)
	}
}

func TestNumbered_PostsTheQueryAsJSON(t *testing.T) {
	t.Parallel()
	pages := media.Numbered{Endpoint: "ads/list", Size: 2, Rows: "details", Total: "total_count"}
	api := &pager{answers: map[string]string{"1": `{"total_count":3,"details":["a","b"]}`,
		"2": `{"total_count":3,"details":["c"]}`, "3": `{"details":[]}`, "4": `{"total_count":"many"}`}}
	first, err := pages.PostPage(t.Context(), api, "", map[string]any{"account": 7}, readName)
	require.NoError(t, err)
	require.Equal(t, media.Page{Rows: []media.Row{{Object: "a"}, {Object: "b"}}, Total: 3, Next: "2"}, first)
	last, err := pages.PostPage(t.Context(), api, first.Next, map[string]any{}, readName)
	require.NoError(t, err)
	require.Equal(t, media.Page{Rows: []media.Row{{Object: "c"}}, Total: 3}, last)
	require.Equal(t, []string{`ads/list {"account":7,"page":1,"page_size":2}`, `ads/list {"page":2,"page_size":2}`},
		api.asked)
	for page, text := range map[string]string{"3": "there is no total_count", "4": "total_count: "} {
		_, err := pages.PostPage(t.Context(), api, page, map[string]any{}, readName)
		require.ErrorContains(t, err, text)
	}
}

func TestNumbered_ReportsAPageThatDoesNotMatchItsNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		pages  media.Numbered
		number string
		answer string
		moved  string
		next   string
	}{
		{name: "full", number: "2", answer: numberedAnswer(5, "c", "d"), next: "3"},
		{name: "the last", number: "3", answer: numberedAnswer(5, "e")},
		{name: "beyond the last, in a list that became shorter", number: "3", answer: numberedAnswer(4)},
		{name: "nothing at all", number: "1", answer: numberedAnswer(0)},
		{name: "short, and not the last", number: "1", answer: numberedAnswer(5, "a"),
			moved: "page 1 has 1 rows, and 2 are due of a total of 5", next: "2"},
		{name: "empty, and there are more", number: "2", answer: numberedAnswer(5),
			moved: "page 2 has 0 rows, and 2 are due of a total of 5", next: "3"},
		{name: "the last lacks its row", number: "3", answer: numberedAnswer(5),
			moved: "page 3 has 0 rows, and 1 are due of a total of 5"},
		{name: "more than the total", number: "1", answer: numberedAnswer(1, "a", "b"),
			moved: "page 1 has 2 rows, and 1 are due of a total of 1"},
		{name: "the last that can be reached", pages: media.Numbered{Reach: 4}, number: "2",
			answer: numberedAnswer(9, "c", "d")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.pages.Endpoint, c.pages.Size = "ads/get", 2
			page, err := c.pages.Page(t.Context(), &pager{answers: map[string]string{c.number: c.answer}}, c.number,
				url.Values{}, readName)
			require.NoError(t, err)
			require.Equal(t, c.moved, page.Moved)
			require.Equal(t, c.next, page.Next)
		})
	}
}

func TestNumbered_CountsWhatTheTotalCounts(t *testing.T) {
	t.Parallel()
	// Each row of the platform becomes two rows.
	parts := func(page *media.Page, raw json.RawMessage) {
		page.Counted = append(page.Counted, string(raw))
		page.Rows = append(page.Rows, media.Row{Object: string(raw) + ":1"}, media.Row{Object: string(raw) + ":2"})
	}
	api := &pager{answers: map[string]string{"1": `{"rows":[1,2],"page_info":{"total_number":"3"}}`}}
	page, err := media.Numbered{Endpoint: "ads/get", Size: 2, Rows: "rows"}.Page(t.Context(), api, "", url.Values{}, parts)
	require.NoError(t, err)
	require.Empty(t, page.Moved)
	require.Len(t, page.Rows, 4)
	require.Equal(t, "2", page.Next)
}

func TestNumbered_RefusesUnreadableAnswers(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		``, `null`, `[]`, `{}`, `{"list":["a"]}`, `{"list":{},"page_info":{"total_number":1}}`, `{"list":[],"page_info":[]}`,
	} {
		_, err := media.Numbered{Endpoint: "ads/get", Size: 2}.Page(t.Context(),
			&pager{answers: map[string]string{"1": answer}}, "", url.Values{}, readName)
		failed, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, answer)
		require.Equal(t, media.Transient, failed.Class, answer)
		require.ErrorContains(t, err, "ads/get", answer)
	}
}

// Without a total neither a short page nor a full one is the last.
func TestNumbered_WithoutATotalOnlyAnEmptyPageOrTheMarkIsTheEnd(t *testing.T) {
	t.Parallel()
	marked := func(flag string) string { return `{"list":["a"],"mark":` + flag + `}` }
	for _, c := range []struct {
		name   string
		pages  media.Numbered
		answer string
		rows   int
		next   string
	}{
		{name: "a full page", answer: `{"list":["a","b"]}`, rows: 2, next: "4"},
		{name: "a short page", answer: `{"list":["a"]}`, rows: 1, next: "4"},
		{name: "an empty page", answer: `{"list":[]}`},
		{name: "an empty page of null", answer: `{"list":null}`},
		{name: "a total that is not used", answer: `{"list":["a"],"page_info":{"total_number":1}}`, rows: 1, next: "4"},
		{name: "a bare list", pages: media.Numbered{Bare: true}, answer: ` ["a","b"]`, rows: 2, next: "4"},
		{name: "the empty page of a bare list", pages: media.Numbered{Bare: true}, answer: `[]`},
		{name: "the last by its mark", pages: media.Numbered{Last: "mark"}, answer: marked("true"), rows: 1},
		{name: "not the last by its mark", pages: media.Numbered{Last: "mark"}, answer: marked("false"), rows: 1, next: "4"},
		{name: "an empty page that is not the last", pages: media.Numbered{Last: "mark"}, answer: `{"list":[],"mark":0}`,
			next: "4"},
		{name: "there are more", pages: media.Numbered{More: "mark"}, answer: marked(`"true"`), rows: 1, next: "4"},
		{name: "there are no more", pages: media.Numbered{More: "mark"}, answer: marked("0"), rows: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.pages.Endpoint, c.pages.Size, c.pages.NoTotal = "ads/get", 2, true
			page, err := c.pages.Page(t.Context(), &pager{answers: map[string]string{"3": c.answer}}, "3", url.Values{},
				readName)
			require.NoError(t, err)
			require.Equal(t, media.ByRepeat, page.Proof)
			require.Len(t, page.Rows, c.rows)
			require.Equal(t, c.next, page.Next)
			require.Empty(t, page.Moved)
			require.Zero(t, page.Total)
		})
	}
}

func TestNumbered_WithoutATotalRefusesAnswersWithoutAListOrTheirMark(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pages  media.Numbered
		answer string
		text   string
	}{
		{media.Numbered{}, `{}`, "there is no list"},
		{media.Numbered{}, `null`, "there is no list"},
		{media.Numbered{}, `{"list":{}}`, "list: it is not a list"},
		{media.Numbered{Bare: true}, `{"list":[]}`, "the answer is not a list"},
		{media.Numbered{Bare: true}, `null`, "the answer is not a list"},
		{media.Numbered{Last: "isEnd"}, `{"list":["a"]}`, "isEnd: there is none"},
		{media.Numbered{More: "has_more"}, `{"list":["a"],"has_more":"perhaps"}`, "has_more: "},
	} {
		c.pages.Endpoint, c.pages.Size, c.pages.NoTotal = "ads/get", 2, true
		_, err := c.pages.Page(t.Context(), &pager{answers: map[string]string{"1": c.answer}}, "", url.Values{}, readName)
		failed, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, c.answer)
		require.Equal(t, media.Transient, failed.Class, c.answer)
		require.ErrorContains(t, err, c.text, c.answer)
	}
}

func TestNumbered_NamesTheSizeAndReadsAnOptionalTotal(t *testing.T) {
	t.Parallel()
	pages := media.Numbered{Endpoint: "ads/get", Size: 2, SizeName: "size", Rows: "rows", Total: "total",
		OptionalTotal: true}
	api := &pager{answers: map[string]string{"1": `{"rows":["a","b"],"total":3}`, "2": `{"rows":["c"],"total":3}`}}
	first, err := pages.PostPage(t.Context(), api, "", map[string]any{}, readName)
	require.NoError(t, err)
	require.Equal(t, media.Page{Rows: []media.Row{{Object: "a"}, {Object: "b"}}, Total: 3, Next: "2"}, first)
	last, err := pages.Page(t.Context(), api, first.Next, url.Values{}, readName)
	require.NoError(t, err)
	require.Equal(t, media.Page{Rows: []media.Row{{Object: "c"}}, Total: 3}, last)
	require.Equal(t, []string{`ads/get {"page":1,"size":2}`, "ads/get page=2&size=2"}, api.asked)

	api.answers = map[string]string{"1": `{"rows":["a"]}`, "2": `{"rows":[]}`, "3": `{}`, "4": `{"total":0}`}
	without, err := pages.PostPage(t.Context(), api, "", map[string]any{}, readName)
	require.NoError(t, err)
	require.Equal(t, media.Page{Rows: []media.Row{{Object: "a"}}, Proof: media.ByRepeat, Next: "2"}, without)
	end, err := pages.PostPage(t.Context(), api, "2", map[string]any{}, readName)
	require.NoError(t, err)
	require.Empty(t, end.Next)
	_, err = pages.PostPage(t.Context(), api, "3", map[string]any{}, readName)
	require.ErrorContains(t, err, "there is no rows")
	_, err = pages.PostPage(t.Context(), api, "4", map[string]any{}, readName)
	require.NoError(t, err)
}
