package oceanengine

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/media"
	"adsync/media/wire"
)

// findAccounts lists the accounts of a login: the names of those taken and the reasons of those left out, by id.
func findAccounts(t *testing.T, s *server) (taken, left map[string]string) {
	t.Helper()
	taken, left = map[string]string{}, map[string]string{}
	require.NoError(t, New().Accounts(t.Context(), s, "", func(page []media.FoundAccount) error {
		for _, a := range page {
			if a.LeftOut != "" {
				left[a.ExternalID] = a.LeftOut
				continue
			}
			require.NotContains(t, taken, a.ExternalID, "each account comes once")
			taken[a.ExternalID] = a.Name
			require.Equal(t, "Asia/Shanghai", a.Timezone)
		}
		return nil
	}))
	return taken, left
}

// authorised returns a server with a list of authorised accounts, and with a name in the details of each.
func authorised(list string, more func(endpoint string, query url.Values) string) *server {
	return &server{answer: func(endpoint string, query url.Values) string {
		switch endpoint {
		case accountsEndpoint:
			return data(`{"list":[`+list+`]}`)("", nil)
		case infoEndpoint:
			var rows []string
			for id := range strings.SplitSeq(strings.Trim(query.Get("advertiser_ids"), "[]"), ",") {
				rows = append(rows, fmt.Sprintf(`{"id":%s,"name":"info %s"}`, id, id))
			}
			return data("["+strings.Join(rows, ",")+"]")("", nil)
		}
		return more(endpoint, query)
	}}
}

func TestAccounts_NamesAccountsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	s := authorised(`{"advertiser_id":1,"advertiser_name":"甲","account_role":"ADVERTISER","is_valid":true},
		{"account_id":2,"account_name":"乙","account_type":"ADVERTISER","advertiser_id":9,"account_role":"AGENT"},
		{"account_id":3,"account_type":"ADVERTISER","is_valid":false},
		{"account_id":4,"account_type":"CUSTOMER_ADMIN","is_valid":false},
		{"account_id":5,"account_type":"PLATFORM_ROLE_STAR","is_valid":true},
		{"account_id":6,"account_type":"PLATFORM_ROLE_SHOP_ACCOUNT"}`, nil)
	taken, left := findAccounts(t, s)
	require.Equal(t, map[string]string{"1": "甲", "2": "乙"}, taken,
		"account_id and account_type take precedence over the deprecated fields")
	require.Equal(t, map[string]string{
		"3": "the login no longer manages it, is_valid is false", "4": "the login no longer manages it, is_valid is false",
		"5": "an account of type PLATFORM_ROLE_STAR is not an advertiser",
		"6": "an account of type PLATFORM_ROLE_SHOP_ACCOUNT is not an advertiser",
	}, left)
	lost := &server{answer: func(endpoint string, _ url.Values) string {
		if endpoint == infoEndpoint {
			return data(`[]`)("", nil)
		}
		return data(`{"list":[{},{"account_id":7,"account_name":5,"is_valid":"x"}]}`)("", nil)
	}}
	require.NoError(t, New().Accounts(t.Context(), lost, "", func(found []media.FoundAccount) error {
		require.True(t, found[0].Lost)
		require.False(t, found[1].Lost)
		require.Len(t, found[1].Faults, 2)
		return nil
	}))
}

// badIDs are invalid account ids, as JSON.
var badIDs = []string{`"AB12"`, `"007"`, `"12:3"`, `"a b"`, `"1e3"`, `-5`, `1.5`, `0`, `""`, `"-"`, `null`, `{}`, `[]`,
	`true`}

// listFaults lists the accounts of a login. It returns the ids found and the faults of lost accounts.
func listFaults(t *testing.T, s *server) (found []string, lost []wire.Fault) {
	t.Helper()
	require.NoError(t, New().Accounts(t.Context(), s, "", func(page []media.FoundAccount) error {
		for _, a := range page {
			if a.Lost {
				lost = append(lost, a.Faults...)
			} else {
				found = append(found, a.ExternalID)
			}
		}
		return nil
	}))
	for _, f := range lost {
		require.NotEmpty(t, f.Why)
	}
	return found, slices.DeleteFunc(lost, func(f wire.Fault) bool { return f.Kind != wire.KeyFault })
}

func TestAccounts_AnUnusableIDLosesOnlyItsAccount(t *testing.T) {
	t.Parallel()
	for _, id := range badIDs {
		s := authorised(`{"account_id":1,"account_name":"a"},{"account_id":`+id+
			`,"account_type":"ADVERTISER"},{"account_id":"2"}`, nil)
		found, lost := listFaults(t, s)
		require.Equal(t, []string{"1", "2"}, found, id)
		require.Len(t, lost, 1, id)
		require.Equal(t, "account_id", lost[0].Field, id)
		require.Equal(t, []string{`[1,2]`}, s.queries[1]["advertiser_ids"], id)
	}
}

// Containers, teams and agencies have many keys: an unusable one loses only the accounts below it, and is reported as
// lost.
func TestAccounts_AnUnusableKeyOfAContainerAffectsNoOther(t *testing.T) {
	t.Parallel()
	for _, id := range badIDs {
		agency := authorised(`{"account_id":90,"account_type":"AGENT"}`, func(endpoint string, query url.Values) string {
			of := query.Get("advertiser_id")
			require.Contains(t, []string{"90", "91", "92"}, of, "no other id is requested")
			if endpoint == childAgentEndpoint {
				return data(`{"child_agent_ids":[91,`+id+`,92]}`)("", nil)
			}
			return data(`{"list":[`+of+`01,`+id+`,`+of+
				`03],"account_source":"AD","cursor_page_info":{"total_number":3,"has_more":false}}`)("", nil)
		})
		found, lost := listFaults(t, agency)
		require.Equal(t, []string{"9001", "9003", "9101", "9103", "9201", "9203"}, found, id)
		require.Len(t, lost, 4, id)

		workbench := authorised(`{"account_id":80,"account_type":"PLATFORM_ROLE_ENTERPRISE_BP_ADMIN"}`,
			func(endpoint string, query url.Values) string {
				if endpoint == teamsEndpoint {
					return data(`{"sub_team":[{"team_id":`+id+`,"sub_team":[{"team_id":82}]},{"team_id":83}]}`)("", nil)
				}
				of := query.Get("enterprise_organization_id")
				require.Contains(t, []string{"80", "82", "83"}, of, "no other id is requested")
				return data(`{"account_list":[{"account_id":`+of+`1},{"account_id":`+id+`}],"page_info":{"total_number":2}}`)("",
					nil)
			})
		found, lost = listFaults(t, workbench)
		require.Equal(t, []string{"801", "821", "831"}, found, id)
		require.Len(t, lost, 4, id)
	}
}

func TestAccounts_AnUnreadableAnswerForAContainerIsReportedAsLost(t *testing.T) {
	t.Parallel()
	const agent, customers = `{"child_agent_ids":[]}`,
		`{"list":[1],"account_source":"AD","cursor_page_info":{"has_more":false}}`
	for _, c := range []struct {
		role, first, second string // the answers for the containers below the container, and for its accounts
		found               []string
		lost                int
	}{
		{"AGENT", agent, customers, []string{"1"}, 0},
		{"AGENT", `null`, customers, []string{"1"}, 0},
		{"AGENT", `{"child_agent_ids":"-"}`, customers, []string{"1"}, 0},
		{"AGENT", `{"child_agent_ids":{}}`, customers, []string{"1"}, 1},
		{"AGENT", `[]`, customers, []string{"1"}, 1},
		{"AGENT", agent, `{"list":"x","cursor_page_info":{}}`, nil, 1},
		{"AGENT", agent, `{"list":[1],"account_source":1}`, []string{"1"}, 0},
		{"AGENT", agent, `{"list":[1],"account_source":{},"cursor_page_info":7}`, []string{"1"}, 0},
		{"AGENT", agent,
			`{"list":[1],"account_source":"AD","cursor_page_info":{"total_number":"x","has_more":"0","cursor":{}}}`,
			[]string{"1"}, 0},
		{"PLATFORM_ROLE_ENTERPRISE_BP_ADMIN", `{"sub_team":{}}`,
			`{"account_list":[{"account_id":1}],"page_info":{"total_number":"1"}}`, []string{"1"}, 1},
		{"PLATFORM_ROLE_ENTERPRISE_BP_ADMIN", `{"sub_team":"-"}`,
			`{"account_list":[{"account_id":1}],"page_info":{"total_number":1}}`, []string{"1"}, 0},
		{"PLATFORM_ROLE_ENTERPRISE_BP_ADMIN", `{"sub_team":[7]}`,
			`{"account_list":[{"account_id":1}],"page_info":{"total_number":1}}`, []string{"1"}, 1},
		{"PLATFORM_ROLE_ENTERPRISE_BP_ADMIN", `"x"`, `{"account_list":[{"account_id":1}],"page_info":{"total_number":1}}`,
			[]string{"1"}, 1},
	} {
		s := authorised(`{"account_id":90,"account_type":"`+c.role+`"}`, func(endpoint string, _ url.Values) string {
			if endpoint == childAgentEndpoint || endpoint == teamsEndpoint {
				return data(c.first)("", nil)
			}
			return data(c.second)("", nil)
		})
		found, lost := listFaults(t, s)
		require.Equal(t, c.found, found, "%s %s", c.first, c.second)
		require.Len(t, lost, c.lost, "%s %s", c.first, c.second)
	}
}

// Accounts are found without their details too.
func TestAccounts_UnreadableDetailsAreLeftUnset(t *testing.T) {
	t.Parallel()
	for _, details := range []string{`{}`, `"-"`, `7`, `[7]`, `[{"id":{}}]`, `[{"id":1,"company":{},"status":5}]`} {
		s := &server{answer: func(endpoint string, _ url.Values) string {
			if endpoint == infoEndpoint {
				return data(details)("", nil)
			}
			return data(`{"list":[{"account_id":1,"account_name":"a"},{"account_id":2}]}`)("", nil)
		}}
		require.NoError(t, New().Accounts(t.Context(), s, "", func(found []media.FoundAccount) error {
			require.Len(t, found, 2, details)
			require.Equal(t, []any{"a", nil, nil, nil}, found[0].Raw, details)
			return nil
		}))
	}
}

func TestAccounts_ExpandsWorkbenches(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"CUSTOMER_ADMIN", "CUSTOMER_OPERATOR"} {
		s := authorised(`{"account_id":70,"account_type":"`+role+`"}`, func(endpoint string, query url.Values) string {
			require.Equal(t, workbenchEndpoint, endpoint)
			require.Equal(t, []string{"70", "AD", "100"}, []string{query.Get("cc_account_id"), query.Get("account_source"),
				query.Get("page_size")})
			var rows []string
			first, last := 1, 100
			if query.Get("page") == "2" {
				first, last = 101, 102
			}
			for id := first; id <= last; id++ {
				rows = append(rows, fmt.Sprintf(`{"advertiser_id":%d,"advertiser_name":"n%d","advertiser_type":"NORMAL"}`, id, id))
			}
			if first == 101 {
				rows[1] = `{"account_id":102,"account_name":"x","account_type":"LOCAL"}`
			}
			return data(`{"list":[`+strings.Join(rows, ",")+
				`],"page_info":{"page":1,"page_size":100,"total_number":102,"total_page":2}}`)("", nil)
		})
		taken, left := findAccounts(t, s)
		require.Len(t, taken, 101)
		require.Equal(t, "n101", taken["101"])
		require.Equal(t, map[string]string{"102": "an account of type LOCAL is not an advertiser of its " + role}, left)
	}
}

func TestAccounts_ExpandsNewerWorkbenchesAndTheirTeams(t *testing.T) {
	t.Parallel()
	s := authorised(
		`{"account_id":1,"account_type":"ADVERTISER","account_name":"direct"},{"account_id":80,`+
			`"account_type":"PLATFORM_ROLE_ENTERPRISE_BP_ADMIN"}`,
		func(endpoint string, query url.Values) string {
			id := query.Get("enterprise_organization_id")
			if endpoint == teamsEndpoint {
				require.Equal(t, "80", id)
				return data(`{"sub_team":[{"team_id":81,"team_name":"t","sub_team":[{"team_id":82}]},{"team_id":83}]}`)("", nil)
			}
			require.Equal(t, enterpriseEndpoint, endpoint)
			require.Equal(t, "AD", query.Get("account_source"))
			rows := map[string]string{"80": `{"account_id":1,"account_type":"AD_NORMAL","account_name":"again"}`,
				"82": `{"account_id":2,"account_type":"AD_NORMAL","account_name":"of a team"},{"account_id":3,` +
					`"account_type":"DOU_PLUS"}`}[id]
			total := strings.Count(rows, "account_id")
			return data(fmt.Sprintf(`{"account_list":[%s],"page_info":{"total_number":%d}}`, rows, total))("", nil)
		})
	taken, left := findAccounts(t, s)
	require.Equal(t, map[string]string{"1": "direct", "2": "of a team"}, taken)
	require.Equal(t,
		map[string]string{"3": "an account of type DOU_PLUS is not an advertiser of its PLATFORM_ROLE_ENTERPRISE_BP_ADMIN"},
		left)
}

func TestAccounts_ExpandsAgenciesByCursor(t *testing.T) {
	t.Parallel()
	s := authorised(
		`{"account_id":90,"account_type":"AGENT"},{"account_id":95,"account_type":"CHILD_AGENT"},{"account_id":98,`+
			`"account_type":"AGENT"}`,
		func(endpoint string, query url.Values) string {
			id := query.Get("advertiser_id")
			switch {
			case id == "98":
				return `{"code":40002,"message":"no permission","request_id":"r"}`
			case endpoint == childAgentEndpoint:
				require.Equal(t, "90", id, "a sub-agency has no agencies below it")
				return data(`{"child_agent_ids":[91]}`)("", nil)
			case id == "91":
				return data(`{"list":[7],"account_source":"STAR","cursor_page_info":{"has_more":0,"cursor":1}}`)("", nil)
			case id == "95":
				return data(`{"list":[],"account_source":"AD","cursor_page_info":{"has_more":false}}`)("", nil)
			}
			require.Equal(t, agentEndpoint, endpoint)
			require.Empty(t, query.Get("page"), "pages by number end at 10,000")
			first, _ := strconv.Atoi(query.Get("cursor"))
			return data(
				fmt.Sprintf(
					`{"list":[%d,%d],"account_source":"AD","cursor_page_info":{"total_number":6,"has_more":%d,"count":2,"cursor":%d}}`,
					1001+first, 1002+first, map[bool]int{true: 1}[first < 4], first+2))("", nil)
		})
	taken, left := findAccounts(t, s)
	require.Equal(t, map[string]string{
		"1001": "info 1001", "1002": "info 1002", "1003": "info 1003", "1004": "info 1004", "1005": "info 1005",
		"1006": "info 1006",
	}, taken, "the list has only ids; the names are in the details")
	require.Equal(t, map[string]string{
		"7":  "an account of type STAR is not an advertiser of its AGENT",
		"98": "the platform refuses to list the accounts of this AGENT: no permission (request r)",
	}, left)
}

// A container that cannot be listed now must not look empty.
func TestAccounts_AContainerThatCannotBeListedNowIsRetried(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"CUSTOMER_ADMIN", "PLATFORM_ROLE_ENTERPRISE_BP_OPERATOR", "CHILD_AGENT", "AGENT"} {
		s := authorised(`{"account_id":90,"account_type":"`+role+`"}`,
			func(string, url.Values) string { return `{"code":50000}` })
		requireClass(t, media.Transient, New().Accounts(t.Context(), s, "", func([]media.FoundAccount) error { return nil }))
	}
}

func TestAccounts_AContainerWhosePagesDisagreeIsRetried(t *testing.T) {
	t.Parallel()
	page := func(total int, ids ...int) string {
		var rows []string
		for _, id := range ids {
			rows = append(rows, fmt.Sprintf(`{"advertiser_id":%d}`, id))
		}
		return data(fmt.Sprintf(`{"list":[%s],"page_info":{"total_number":%d}}`, strings.Join(rows, ","), total))("", nil)
	}
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for name, second := range map[string]string{
		"a row twice": page(101, 100), "another total": page(102, 101, 102), "a short page": page(101),
	} {
		s := authorised(`{"account_id":70,"account_type":"CUSTOMER_ADMIN"}`, func(_ string, query url.Values) string {
			if query.Get("page") == "2" {
				return second
			}
			return page(101, hundred...)
		})
		err := New().Accounts(t.Context(), s, "", func(found []media.FoundAccount) error {
			require.Empty(t, found,
				name)
			return nil
		})
		requireClass(t, media.Transient, err)
	}
	s := authorised(`{"account_id":90,"account_type":"CHILD_AGENT"}`, func(string, url.Values) string {
		return data(`{"list":[1],"account_source":"AD","cursor_page_info":{"total_number":2,"has_more":false}}`)("", nil)
	})
	requireClass(t, media.Transient, New().Accounts(t.Context(), s, "", func([]media.FoundAccount) error { return nil }))
}
