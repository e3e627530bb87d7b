package tencent

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/media"
	"adsync/media/wire"
)

func TestAccounts_FollowsTheCursor(t *testing.T) {
	t.Parallel()
	s := &server{answer: func(_ string, q url.Values) string {
		if q.Get("cursor") == "" {
			return data(
				`{"list":[{"account_id":25610,"corporation_name":"某公司","is_bid":true}],"cursor_page_info":{"total_number":2,`+
					`"has_more":true,"cursor":25610}}`)("", nil)
		}
		return data(
			`{"list":[{"account_id":25611,"corporation_name":""}],"cursor_page_info":{"total_number":2,"has_more":false,`+
				`"cursor":25611}}`)("", nil)
	}}
	var found []media.FoundAccount
	require.NoError(t, New().Accounts(t.Context(), s, "", func(page []media.FoundAccount) error {
		found = append(found, page...)
		return nil
	}))
	require.Len(t, found, 2)
	require.Equal(t, "25610", found[0].ExternalID)
	require.Equal(t, "某公司", found[0].Name)
	require.Equal(t, []any{nil}, found[1].Raw)
	require.Equal(t, "25610", s.queries[1].Get("cursor"))

	stop := errors.New("stop")
	require.ErrorIs(t, New().Accounts(t.Context(), s, "", func([]media.FoundAccount) error { return stop }), stop)
	require.NoError(t,
		New().Accounts(t.Context(), &server{answer: data(`{"list":[{},{"account_id":7,"corporation_name":5}]}`)}, "",
			func(found []media.FoundAccount) error {
				require.True(t, found[0].Lost)
				require.False(t, found[1].Lost)
				require.Equal(t, "corporation_name", found[1].Faults[0].Field)
				return nil
			}))
}

func TestAccounts_AnUnusableIDLosesOnlyItsAccount(t *testing.T) {
	t.Parallel()
	for _, id := range badIDs {
		s := &server{answer: data(`{"list":[{"account_id":1},{"account_id":` + id +
			`},{"account_id":"2"}],"cursor_page_info":{"has_more":false}}`)}
		require.NoError(t, New().Accounts(t.Context(), s, "", func(found []media.FoundAccount) error {
			require.Equal(t, []bool{false, true, false}, []bool{found[0].Lost, found[1].Lost, found[2].Lost}, id)
			require.Equal(t, wire.KeyFault, found[1].Faults[0].Kind, id)
			return nil
		}), id)
	}
}

// Flags and cursors may have other JSON types, which must not cut a list short.
func TestAccounts_TakeFlagsAndCursorsOfAnyType(t *testing.T) {
	t.Parallel()
	for info, next := range map[string]string{
		`{"has_more":true,"cursor":20}`: "20", `{"has_more":1,"cursor":"20"}`: "20",
		`{"has_more":"true","cursor":"aB3"}`: "aB3", `{"has_more":{},"cursor":20}`: "20",
		`{"has_more":0,"cursor":20}`: "", `{"has_more":"false","cursor":20}`: "", `{"has_more":"-","cursor":20}`: "",
		`{"has_more":true,"cursor":{}}`: "",
		`"-"`:                           "", `7`: "", `[]`: "", `null`: "",
	} {
		found, got, err := readAccounts([]byte(`{"list":[{"account_id":1}],"cursor_page_info":` + info + `}`))
		require.NoError(t, err, info)
		require.Len(t, found, 1, info)
		require.Equal(t, next, got, info)
	}
	for info, next := range map[string]string{
		`"total_number":"2","next_cursor":"aB3"`: "aB3", `"total_number":2,"next_cursor":12345`: "12345",
		`"total_number":2,"next_cursor":null`: "",
		`"total_number":2,"next_cursor":"-"`:  "", `"total_number":2,"next_cursor":{}`: "", `"total_number":2`: "",
	} {
		page, got, err := adgroups.readPage([]byte(`{"list":[{"adgroup_id":1}],"cursor_page_info":{`+info+`}}`), false)
		require.NoError(t, err, info)
		require.Equal(t, 2, page.Total, info)
		require.Equal(t, next, got, info)
	}
}

func TestAccounts_AnAgencyWithoutAUsableIDAffectsNoOther(t *testing.T) {
	t.Parallel()
	for _, id := range badIDs {
		for _, info := range []string{`{"page":1,"total_page":1}`, `{"page":"1","total_page":"1"}`,
			`{"page":{},"total_page":"x"}`, `"-"`, `null`} {
			var found []string
			lost := 0
			s := &server{answer: func(endpoint string, q url.Values) string {
				switch {
				case endpoint == agenciesEndpoint:
					require.Equal(t, "1", q.Get("page"))
					return data(`{"list":[{"account_id":31},{"account_id":`+id+`},7,{"account_id":"32"}],"page_info":`+info+`}`)("",
						nil)
				case endpoint == advertisersEndpoint && q.Has("agency_id"):
					require.Contains(t, []string{"31", "32"}, q.Get("agency_id"), "no other id is requested")
					return data(`{"list":[{"account_id":`+q.Get("agency_id")+`1}],"cursor_page_info":{"has_more":false}}`)("", nil)
				}
				return refusal(18001, "agency_id")
			}}
			require.NoError(t, New().Accounts(t.Context(), s, "a person", func(page []media.FoundAccount) error {
				for _, a := range page {
					if a.Lost {
						require.Equal(t, wire.KeyFault, a.Faults[0].Kind)
						lost++
					} else {
						found = append(found, a.ExternalID)
					}
				}
				return nil
			}), id)
			require.Equal(t, []string{"311", "321"}, found, id)
			require.Equal(t, 2, lost, id)
		}
	}
}

// badIDs are invalid account ids, as JSON.
var badIDs = []string{`"AB12"`, `"007"`, `"12:3"`, `"a b"`, `"1e3"`, `-5`, `1.5`, `0`, `""`, `"-"`, `null`, `{}`, `[]`,
	`true`}

// refusal returns an answer with an error code.
func refusal(code int, message string) string {
	return fmt.Sprintf(`{"code":%d,"message":%q,"message_cn":"","code_type":"BusinessException"}`, code, message)
}

func TestAccounts_FindsAccountsOfLoginsOtherThanOrganisations(t *testing.T) {
	t.Parallel()
	rows := func(ids ...string) string {
		list := make([]string, len(ids))
		for i, id := range ids {
			list[i] = fmt.Sprintf(`{"account_id":%s,"corporation_name":"c"}`, id)
		}
		return data(fmt.Sprintf(`{"list":[%s],"cursor_page_info":{"total_number":%d,"has_more":false}}`,
			strings.Join(list, ","), len(ids)))("", nil)
	}
	for name, c := range map[string]struct {
		login  string
		answer func(endpoint string, q url.Values) string
		want   []string
		asked  []string
	}{
		"an agency, which is refused as an organisation": {"7", func(endpoint string, q url.Values) string {
			if endpoint == relationsEndpoint {
				return refusal(12203, "organization_id")
			}
			return rows("1", "2")
		}, []string{"1", "2"}, []string{relationsEndpoint, advertisersEndpoint}},
		"an agency, which as an organisation has none": {"7", func(endpoint string, q url.Values) string {
			if endpoint == relationsEndpoint {
				return rows()
			}
			return rows("1")
		}, []string{"1"}, []string{relationsEndpoint, advertisersEndpoint}},
		"an advertiser": {"25610", func(endpoint string, q url.Values) string {
			switch {
			case endpoint == relationsEndpoint:
				return refusal(12204, "not allowed")
			case q.Get("account_id") == "":
				return refusal(18001, "account_id")
			}
			return rows(q.Get("account_id"))
		}, []string{"25610"}, []string{relationsEndpoint, advertisersEndpoint, advertisersEndpoint}},
		"the company of two agencies": {"a person", func(endpoint string, q url.Values) string {
			switch {
			case endpoint == agenciesEndpoint && q.Get("page") == "1":
				return data(`{"list":[{"account_id":31}],"page_info":{"page":1,"page_size":100,"total_number":2,"total_page":2}}`)(
					"", nil)
			case endpoint == agenciesEndpoint:
				return data(`{"list":[{"account_id":32}],"page_info":{"page":2,"page_size":100,"total_number":2,"total_page":2}}`)(
					"", nil)
			case q.Get("agency_id") != "":
				return rows(q.Get("agency_id") + "1")
			}
			return refusal(18001, "agency_id")
		}, []string{"311", "321"}, []string{relationsEndpoint, advertisersEndpoint, agenciesEndpoint, agenciesEndpoint,
			advertisersEndpoint, advertisersEndpoint}},
		"a login without accounts": {"7", func(endpoint string, q url.Values) string {
			if endpoint == agenciesEndpoint {
				return refusal(12201, "not an agency")
			}
			return rows()
		}, nil, []string{relationsEndpoint, advertisersEndpoint, advertisersEndpoint, agenciesEndpoint}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			s := &server{answer: func(endpoint string, q url.Values) string {
				asked = append(asked, endpoint)
				return c.answer(endpoint, q)
			}}
			var found []string
			require.NoError(t, New().Accounts(t.Context(), s, c.login, func(page []media.FoundAccount) error {
				for _, a := range page {
					found = append(found, a.ExternalID)
				}
				return nil
			}))
			require.Equal(t, c.want, found)
			require.Equal(t, c.asked, asked)
		})
	}
	none := func([]media.FoundAccount) error { return nil }
	first := &server{answer: func(endpoint string, _ url.Values) string { return refusal(12201, endpoint) }}
	require.ErrorContains(t, New().Accounts(t.Context(), first, "7", none), relationsEndpoint,
		"if all calls are refused, the first refusal is returned")
	busy := &server{answer: func(string, url.Values) string { return refusal(30021, "") }}
	requireClass(t, media.Transient, New().Accounts(t.Context(), busy, "7", none))
	require.Len(t, busy.queries, 1, "a failure is retried later, and proves nothing")
}

func TestAccounts_LeavesOutAccountsThatV3DoesNotServe(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(
		`{"list":[{"account_id":1,"is_bid":true,"is_mp":true},{"account_id":2,"is_bid":false,"is_mp":true},{"account_id":3}],
		"cursor_page_info":{"total_number":3,"has_more":false}}`)}
	require.NoError(t, New().Accounts(t.Context(), s, "7", func(page []media.FoundAccount) error {
		require.Equal(t, []string{"", wechatOnly, ""}, []string{page[0].LeftOut, page[1].LeftOut, page[2].LeftOut})
		return nil
	}))
}
