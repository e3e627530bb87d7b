package tencent

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/media"
)

func TestAssets_OfALargeLibraryAreReadInWindows(t *testing.T) {
	t.Parallel()
	// 25,000 files, most of them made on one day, on a platform that returns 10,000 by number.
	made := make([]int64, 25_000)
	for i := range made {
		made[i] = 1_790_000_000 + int64(i)*3
	}
	made[0], made[1], made[2] = 1_000_000_001, 1_600_000_000, 4_102_444_800 // The last time is in the year 2100.
	s := &server{answer: func(_ string, q url.Values) string {
		var filters []filter
		require.NoError(t, json.Unmarshal([]byte(q.Get("filtering")), &filters))
		var rows []string
		total, number := 0, must(strconv.Atoi(q.Get("page")))
		for i, at := range made {
			fits := true
			for _, f := range filters {
				limit := must(strconv.ParseInt(f.Values[0], 10, 64))
				fits = fits && (f.Operator == "GREATER_EQUALS" && at >= limit || f.Operator == "LESS_EQUALS" && at <= limit)
			}
			if !fits {
				continue
			}
			if total++; (total-1)/listPage == number-1 {
				rows = append(rows, fmt.Sprintf(`{"video_id":%d}`, i+1))
			}
		}
		if number > 100 {
			return refusal(18003, "page")
		}
		return data(fmt.Sprintf(`{"list":[%s],"page_info":{"total_number":%d}}`, strings.Join(rows, ","), total))("", nil)
	}}
	seen := map[string]bool{}
	for page := ""; ; {
		out, err := videos.page(t.Context(), s, media.ListQuery{Until: time.Unix(1_790_080_000, 0)}, page)
		require.NoError(t, err)
		require.Equal(t, len(made), out.Total, "each page has the total")
		require.Empty(t, out.Moved)
		for _, row := range out.Rows {
			require.False(t, seen[row.Object], row.Object)
			seen[row.Object] = true
		}
		if page = out.Next; page == "" {
			break
		}
	}
	require.Len(t, seen, len(made))
	require.Less(t, len(s.queries), 330, "250 pages, and some calls to find the windows")
	one := &server{answer: data(`{"list":[],"page_info":{"total_number":10001}}`)}
	_, err := videos.page(t.Context(), one, media.ListQuery{Until: time.Unix(1_790_080_000, 0)}, "")
	requireClass(t, media.Invalid, err)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// No condition on the time of creation lists files without one or with one in 1970.
func TestAssets_WithoutATimeOfCreationAreListed(t *testing.T) {
	t.Parallel()
	s := &server{answer: func(_ string, q url.Values) string {
		var filters []filter
		require.NoError(t, json.Unmarshal([]byte(q.Get("filtering")), &filters))
		var rows []string
		for i, at := range []int64{0, 86_400, 1_600_000_000} {
			if f := filters[0]; f.Operator == "LESS" && at < 1_000_000_000 || f.Operator == "GREATER_EQUALS" &&
				at >= 1_000_000_000 {
				rows = append(rows, fmt.Sprintf(`{"video_id":%d,"created_time":%d}`, i+1, at))
			}
		}
		return data(fmt.Sprintf(`{"list":[%s],"page_info":{"total_number":%d}}`, strings.Join(rows, ","), len(rows)))("", nil)
	}}
	for _, list := range (Platform{}).Lists() {
		if list.Name != "video" {
			continue
		}
		seen := []string{}
		for _, variant := range list.Variants {
			out, err := list.Page(t.Context(), s, media.ListQuery{Variant: variant, Until: time.Unix(1_790_080_000, 0)}, "")
			require.NoError(t, err)
			require.Equal(t, len(out.Rows), out.Total)
			for _, row := range out.Rows {
				seen = append(seen, row.Object)
			}
		}
		require.ElementsMatch(t, []string{"1", "2", "3"}, seen)
		asked := len(s.queries)
		out, err := list.Page(t.Context(), s, media.ListQuery{Variant: undated, Since: time.Unix(1_790_000_000, 0)}, "")
		require.NoError(t, err)
		require.Empty(t, out)
		require.Len(t, s.queries, asked, "pulls of changes spend no call on them")
		return
	}
}
