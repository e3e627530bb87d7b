package media_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/media"
	"adsync/media/wire"
)

// cursors answers a POST by its cursor.
type cursors struct {
	media.API
	answers map[int64]string
	asked   []string
}

func (c *cursors) Post(_ context.Context, endpoint string, body any) (json.RawMessage, error) {
	sent, err := json.Marshal(body)
	c.asked = append(c.asked, endpoint+" "+string(sent))
	return json.RawMessage(c.answers[body.(map[string]any)["cursor"].(int64)]), err
}

func readID(page *media.Page, raw json.RawMessage) {
	page.Rows = append(page.Rows, media.OpenRow(raw, func(r *wire.Row) media.Row {
		return media.Row{Object: r.Key("id")}
	}))
}

func TestCursored_EachPageContinuesAfterTheLargestCursor(t *testing.T) {
	t.Parallel()
	const first = `{"details":[{"id":"a","cursor":9007199254740995},{"id":"b","cursor":7},{"id":"c"}],"more":true}`
	const second = `{"details":[{"id":"d","cursor":9007199254740996}],"more":false}`
	api := &cursors{answers: map[int64]string{0: first, 9007199254740995: second, 9007199254740996: `{"details":[]}`}}
	list := media.Cursored{List: media.Numbered{Endpoint: "video/list", Size: 3, Rows: "details"}, Field: "cursor",
		Param: "cursor", Limit: "limit"}
	page, err := list.PostPage(t.Context(), api, "", map[string]any{"account": 7}, readID)
	require.NoError(t, err)
	require.Len(t, page.Rows, 3)
	require.Equal(t, "9007199254740995", page.Next)
	require.Equal(t, media.ByRepeat, page.Proof, "the platform does not mark the end")
	page, err = list.PostPage(t.Context(), api, page.Next, map[string]any{}, readID)
	require.NoError(t, err)
	require.Equal(t, "9007199254740996", page.Next, "a short page is not the end")
	page, err = list.PostPage(t.Context(), api, page.Next, map[string]any{}, readID)
	require.NoError(t, err)
	require.Empty(t, page.Next)
	require.Equal(t, []string{`video/list {"account":7,"cursor":0,"limit":3}`,
		`video/list {"cursor":9007199254740995,"limit":3}`, `video/list {"cursor":9007199254740996,"limit":3}`}, api.asked)

	list.List.More = "more"
	page, err = list.PostPage(t.Context(), api, "9007199254740995", map[string]any{}, readID)
	require.NoError(t, err)
	require.Empty(t, page.Next, "by the mark")
	require.Equal(t, media.ByCursor, page.Proof)
}

func TestCursored_RefusesUnreadableAnswersAndTokens(t *testing.T) {
	t.Parallel()
	list := media.Cursored{List: media.Numbered{Endpoint: "video/list", Size: 3}, Field: "cursor", Param: "cursor",
		Limit: "limit"}
	for _, c := range []struct {
		page, answer string
		class        media.Class
	}{{"x", `{"list":[]}`, media.Bug}, {"", `{}`, media.Transient}, {"", `[]`, media.Transient}} {
		api := &cursors{answers: map[int64]string{0: c.answer}}
		_, err := list.PostPage(t.Context(), api, c.page, map[string]any{}, readID)
		failed, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, c.answer)
		require.Equal(t, c.class, failed.Class, c.answer)
	}
}
