package bilibili

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/media"
)

const (
	tokenURL = "POST https://cm.bilibili.com/takumi/api/open_api/oauth2/token application/x-www-form-urlencoded "
	pair     = `{"access_token":"at-1","expires_in":86400,"refresh_token":"rt-1","token_type":"Bearer"}`
	user     = `{"user_id":700000001,"user_name":"who"}`
)

var app = media.App{ID: "ID", Secret: secret.NewText("SECRET")}

// tokensOf are the tokens of pair. STACK assumes 20 days for the refresh token.
var tokensOf = media.Tokens{Access: secret.NewText("at-1"), Refresh: secret.NewText("rt-1"),
	AccessExpires: 24 * time.Hour, RefreshExpires: 480 * time.Hour}

func exchange(t *testing.T, tr *transport) (media.Authorisation, error) {
	t.Helper()
	return New().Exchange(t.Context(), tr, app, secret.NewText("c1"), "https://app.example/cb")
}

func TestExchange_ReadsTheWireFormat(t *testing.T) {
	t.Parallel()
	tr := &transport{answers: []string{coded(pair), coded(user)}}
	a, err := exchange(t, tr)
	require.NoError(t, err)
	require.Equal(t, []string{tokenURL + "client_id=ID&client_secret=SECRET&code=c1&grant_type=authorization_code" +
		"&redirect_uri=https%3A%2F%2Fapp.example%2Fcb",
		"GET https://cm.bilibili.com/takumi/api/open_api/oauth2/user Bearer at-1"}, tr.sent)
	require.Equal(t, media.Authorisation{Tokens: tokensOf, Login: "700000001", Name: "who"}, a)
	require.Equal(t, "https://ad.bilibili.com/developer/developer-authorization?client_id=ID"+
		"&redirect_uri=https%3A%2F%2Fa.b%2Fc&state=s", New().AuthoriseURL(New().AuthorisePage(),
		media.Ask{AppID: "ID", RedirectURI: "https://a.b/c", State: secret.NewText("s")}))
}

// A pair whose owner is unknown cannot be stored, and the code is spent.
func TestExchange_AsksForTheLoginAgain(t *testing.T) {
	t.Parallel()
	const busy = `{"code":50001,"message":"busy at-1"}`
	tr := &transport{answers: []string{coded(pair), busy, coded(`{"user_id":null}`), coded(user)}}
	a, err := exchange(t, tr)
	require.NoError(t, err)
	require.Equal(t, "700000001", a.Login)
	tr = &transport{answers: []string{coded(pair), busy}}
	_, err = exchange(t, tr)
	requireClass(t, media.Transient, err)
	require.Contains(t, err.Error(), "authorise again")
	require.NotContains(t, err.Error(), "at-1")
	require.Len(t, tr.sent, 4)
}

func TestExchange_NamesTheRemedyOfARefusal(t *testing.T) {
	t.Parallel()
	for body, class := range map[string]media.Class{
		`{"code":40002,"message":"SECRET is wrong"}`: media.Invalid, `{"code":40003,"msg":"c1 is used"}`: media.Invalid,
		`{"code":50001}`: media.Transient, coded(`{"access_token":"at-1"}`): media.Transient, coded("null"): media.Transient,
		coded(`{"refresh_token":"rt-1"}`): media.Transient, coded("[]"): media.Transient, "<html>": media.Transient,
	} {
		tr := &transport{answers: []string{body}}
		_, err := exchange(t, tr)
		requireClass(t, class, err)
		for _, hidden := range []string{"SECRET", "c1", "at-1", "rt-1"} {
			require.NotContains(t, err.Error(), hidden)
		}
		require.Len(t, tr.sent, 1)
	}
	_, err := exchange(t, &transport{answers: []string{`{"code":40003}`}})
	require.Contains(t, err.Error(), exchangeFixes["40003"])
}

func TestRefresh_ReturnsANewPair(t *testing.T) {
	t.Parallel()
	tr := &transport{answers: []string{coded(pair)}}
	tokens, err := New().Refresh(t.Context(), tr, app, "rt-0")
	require.NoError(t, err)
	require.Equal(t, []string{tokenURL + "client_id=ID&client_secret=SECRET&grant_type=refresh_token&refresh_token=rt-0"},
		tr.sent)
	require.Equal(t, tokensOf, tokens)
}

// The class auth ends the login: only the platform's refusal of the refresh token itself has it.
func TestRefresh_OnlyARefusedRefreshTokenEndsTheLogin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   media.Class
	}{
		{200, `{"code":40004,"message":"rt-0"}`, media.Auth},
		{200, `{"code":40005,"message":"SECRET"}`, media.Auth},
		{200, `{"code":777,"message":"invalid refresh_token"}`, media.Auth},
		{401, `{"code":777,"message":"refresh token expired"}`, media.Auth},
		{200, `{"code":40001,"message":"words"}`, media.Transient},
		{200, `{"code":777,"message":"invalid access_token"}`, media.Transient},
		{401, `{"code":777,"message":"words"}`, media.Transient},
		{401, ``, media.Transient},
		{503, `{"code":777,"message":"invalid refresh_token"}`, media.Transient},
		{200, `{"code":40002,"message":"refresh_token of another app"}`, media.Invalid},
		{200, `{"code":40000,"message":"refresh_token is missing"}`, media.Bug},
		{200, `{"code":-429,"message":"words"}`, media.Quota},
		{200, coded(`{"access_token":"at-1","refresh_token":""}`), media.Transient},
	} {
		_, err := New().Refresh(t.Context(), &transport{status: c.status, answers: []string{c.body}}, app, "rt-0")
		e := failure(t, err)
		require.Equal(t, c.want, e.Class, c.body)
		require.False(t, e.Expired, "a refresh does not fix a refresh")
		require.NotContains(t, err.Error(), "rt-0")
		require.NotContains(t, err.Error(), "SECRET")
	}
}

// login answers the calls of a listing: a page of accounts of each subject, then an empty one. change may replace an
// answer.
func login(accounts map[string]string, change func(call, answer string) string) *server {
	return &server{answer: func(call string) string {
		data := "[]"
		switch {
		case strings.HasPrefix(call, "GET oauth2/subjects?"):
			data = `[{"subject_id":9000001,"subject_name":"A"},{"subject_id":9000002,"subject_name":"B"}]`
		case strings.Contains(call, "&page=1&") || strings.Contains(call, "?page=1&"):
			for subject, rows := range accounts {
				if strings.Contains(call, "subject_id="+subject) {
					data = "[" + rows + "]"
				}
			}
		}
		if change != nil {
			data = change(call, data)
		}
		return coded(data)
	}}
}

func found(ctx context.Context, s *server) (accounts []media.FoundAccount, err error) {
	err = New().Accounts(ctx, s, "", func(page []media.FoundAccount) error {
		accounts = append(accounts, page...)
		return nil
	})
	return accounts, err
}

var twoSubjects = map[string]string{
	"9000001": `{"account_id":1135369,"account_name":"shop"},{"account_id":1135436,"account_name":"game"}`,
	"9000002": `{"account_id":1135503}`,
}

func TestAccounts_AreThoseOfAllSubjects(t *testing.T) {
	t.Parallel()
	s := login(twoSubjects, nil)
	accounts, err := found(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, accounts, 3, "the second reading yields no account again")
	require.Equal(t, media.FoundAccount{ExternalID: "1135369", Name: "shop", Timezone: "Asia/Shanghai", Currency: "CNY",
		Raw: []any{"shop", "9000001", "A"}, JSON: json.RawMessage(`{"account_id":1135369,"account_name":"shop"}`)},
		accounts[0])
	require.Equal(t, "1135503", accounts[2].ExternalID)
	want := []string{"GET oauth2/subjects?"}
	for _, subject := range []string{"9000001", "9000002"} {
		for page := 1; page <= 2; page++ {
			want = append(want, fmt.Sprintf("GET oauth2/accounts?page=%d&page_size=100&subject_id=%s", page, subject))
		}
	}
	require.Equal(t, append(want, want...), s.calls)
}

// The list has no total: what the first reading missed, the second one finds.
func TestAccounts_OneThatMovedIsFoundInTheSecondReading(t *testing.T) {
	t.Parallel()
	readings := 0
	s := login(twoSubjects, func(call, answer string) string {
		if strings.HasPrefix(call, "GET oauth2/subjects?") {
			readings++
		} else if readings == 1 && strings.Contains(answer, "1135436") {
			return `[{"account_id":1135369}]`
		}
		return answer
	})
	accounts, err := found(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, accounts, 3)
}

// An account that is not yielded counts as gone: a broken list must fail.
func TestAccounts_ABrokenListFails(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{subjectsEndpoint, accountsEndpoint} {
		for _, data := range []string{"{}", "null", "5", `{"list":[]}`} {
			_, err := found(t.Context(), login(twoSubjects, func(call, answer string) string {
				if strings.HasPrefix(call, "GET "+endpoint) {
					return data
				}
				return answer
			}))
			requireClass(t, media.Transient, err)
		}
	}
	for _, subject := range []string{`{}`, `{"subject_id":"x"}`, `null`, `5`} {
		_, err := found(t.Context(), login(twoSubjects, func(call, answer string) string {
			if strings.HasPrefix(call, "GET "+subjectsEndpoint) {
				return `[` + subject + `]`
			}
			return answer
		}))
		requireClass(t, media.Transient, err)
	}
	// A platform that ignores the page's number would be read forever.
	_, err := found(t.Context(), login(nil, func(call, answer string) string {
		if strings.HasPrefix(call, "GET "+accountsEndpoint) {
			return `[{"account_id":1135369}]`
		}
		return answer
	}))
	requireClass(t, media.Transient, err)
	accounts, err := found(t.Context(), login(map[string]string{"9000002": `{"account_id":"x"},{"account_id":7}`}, nil))
	require.NoError(t, err)
	require.True(t, accounts[0].Lost)
	require.Equal(t, "7", accounts[1].ExternalID)
}

func FuzzReaders(f *testing.F) {
	for _, s := range []string{
		`[` + unitRow + `]`, `[{"campaign_id":501,"campaign_name":"SG","status":1}]`, `[null]`, `{"rows":[null]}`,
		`[{"creative_id":1,"video_id":5,"image_ids":[4,{}]}]`, `[{"date":"2026-11-15","cost_cash":0.7}]`,
		`{"rows":[{"dimensions":{"date_time":"2026-09-01","hour":9,"unit_id":1},"metrics":{"show_count":"-"}}],"total":1}`,
		`{"rows":[{"date_time":"2026-09-01 09:00:00","hour":9,"unit_id":1,"charged_cost_milli":1.5}]}`,
		`{"cash":1234.56,"red_packet":"30.5"}`, `[{"subject_id":9000001,"account_id":7}]`, pair,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, body []byte) {
		ctx, s := context.Background(), answering(string(body))
		for _, list := range New().Lists() {
			_, _ = list.Page(ctx, s, media.ListQuery{}, "")
		}
		for _, report := range New().Reports() {
			if page, err := report.Page(ctx, s, media.ReportQuery{}, ""); err == nil && len(page.Rows) > 0 {
				_, _ = report.Values(page.Rows[0].JSON)
			}
		}
		_, _ = New().Funds().Balance.Fetch(ctx, s)
		_, _ = New().Funds().Daily.Page(ctx, s, media.ReportQuery{}, "")
		_, _ = found(ctx, s)
		_, _ = readSubjects(body)
		_, _ = readTokens(body)
		_, _ = New().Decode(http.StatusOK, http.Header{}, body)
	})
}
