// Package baidu implements the API of Baidu Marketing (百度营销).
//
// Its peculiarities: all calls are POSTs whose credentials are in the JSON body, with the name of the account that the
// call is about; a manager's token reads the accounts below it; an account has search and feed advertising, each with
// its own endpoints, fields and reports; lists have no pages, no totals, no deleted objects and no selection by change;
// errors come with HTTP 200, and an answer may hold the good part of a call that partly failed.
//
// Search and feed campaigns, ad groups and creatives are one level each. The columns of raw tables have the names of
// search fields, also for feed rows; row_json has the platform's own names.
//
// Sources of facts are pages of the platform's developer site, by their number, and comments of client libraries that
// repeat them. What neither states is marked "not documented".
package baidu

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
	"adsync/media/wire"
)

// Name is the media name of Baidu.
const Name = "baidu"

// The currency and zone of all accounts. The platform documents neither.
const (
	zoneName = "Asia/Shanghai"
	currency = "CNY"
)

// china is the zone of all times of the platform.
var china = time.FixedZone("UTC+8", 8*60*60)

// Where the services of search and of feed advertising are, below the base URL.
const (
	searchPath = "json/sms/service/"
	feedPath   = "json/feed/v1/"
)

// Platform implements media.Platform.
type Platform struct{}

var (
	_ media.Platform       = Platform{}
	_ media.Authoriser     = Platform{}
	_ media.CallbackReader = Platform{}
	_ media.PostReader     = Platform{}
	_ media.Consoler       = Platform{}
	_ media.UserNamer      = Platform{}
)

// New returns the platform.
func New() Platform { return Platform{} }

// Name implements media.Platform.
func (Platform) Name() string { return Name }

// BaseURL implements media.Platform. Calls for tokens have another host: see oauthURL.
func (Platform) BaseURL() string { return "https://api.baidu.com" }

// Limits implements media.Platform. Grants may differ from these defaults, which developers report. Whether the
// platform counts apps, accounts or addresses is not documented: apps is the strictest for adsync.
func (Platform) Limits() []grant.Rule {
	perSecond := func(endpoint string, each bool, calls int) grant.Rule {
		return grant.Rule{Media: Name, Endpoint: endpoint, Each: each, Scope: grant.ScopeApp, Period: time.Second,
			Limit: calls}
	}
	return []grant.Rule{
		perSecond("*", true, 10), perSecond(searchCampaigns.endpoint, false, 100),
		perSecond(searchAdgroups.endpoint, false, 50), perSecond(searchCreatives.endpoint, false, 100),
		perSecond(reportEndpoint, false, 50),
	}
}

// Reads implements media.PostReader: adsync only reads.
func (Platform) Reads(endpoint string) bool { return strings.HasPrefix(endpoint, "json/") }

// UserName implements media.UserNamer.
func (Platform) UserName() string { return "userName" }

// request is the body of a call.
type request struct {
	Header struct {
		UserName    string `json:"userName"`
		AccessToken string `json:"accessToken"`
	} `json:"header"`
	Body json.RawMessage `json:"body"`
}

// Sign implements media.Platform. It adds the token to the body, and the login's name to a call that names no account.
func (Platform) Sign(req *http.Request, accessToken string, _ time.Time) {
	if req.GetBody == nil {
		return
	}
	body, err := req.GetBody()
	if err != nil {
		return
	}
	var r request
	if json.NewDecoder(body).Decode(&r) != nil {
		return
	}
	r.Header.UserName = cmp.Or(r.Header.UserName, media.LoginOf(req.Context()).Name)
	r.Header.AccessToken = accessToken
	signed, err := json.Marshal(r)
	if err != nil {
		return
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(signed)), nil }
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(signed)), int64(len(signed))
}

// ask makes a call for the account of the API, or for its login.
func ask(ctx context.Context, api media.API, endpoint string, body map[string]any) (json.RawMessage, error) {
	account := api.Account()
	if account.ExternalID != "" && account.Name == "" {
		return nil, &media.Error{Class: media.Invalid, Message: "the name of account " + account.ExternalID +
			" is not known, and calls need it: the task " + Name + ".account_list brings it"}
	}
	var r request
	r.Header.UserName = account.Name
	var err error
	if r.Body, err = json.Marshal(body); err != nil {
		return nil, &media.Error{Class: media.Bug, Message: "the body of " + endpoint + " cannot be encoded", Err: err}
	}
	return api.Post(ctx, endpoint, r)
}

// failure is an error of a call, or of a part of it: of the id in a field, for example.
type failure struct {
	code           wire.Int
	message, field string
	id             wire.ID
}

func readFailure(raw json.RawMessage) failure {
	r := wire.Open(raw)
	return failure{r.Int("code"), r.Text("message"), r.Text("field"), r.ID("id")}
}

// The states of an answer (page 100441). All others are errors.
const (
	statusGood   = 0
	statusPart   = 1
	statusSystem = 3
)

// failuresField is the field of what failed in the payload of an answer that has the good part of a call. The good part
// is the field data.
const failuresField = "adsync_failures"

// Decode implements media.Platform. Its payload is the answer's data, or an object with failuresField. Answers to calls
// for tokens have another envelope.
func (Platform) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	var answer struct {
		Header *struct {
			Status   wire.Int          `json:"status"`
			Desc     string            `json:"desc"`
			Trace    string            `json:"traceid"`
			Failures []json.RawMessage `json:"failures"`
		} `json:"header"`
		Body struct {
			Data json.RawMessage `json:"data"`
		} `json:"body"`
	}
	err := json.Unmarshal(body, &answer)
	if answer.Header == nil || status >= http.StatusInternalServerError || status == statusBusy {
		return decodeOther(status, header, body)
	}
	data := answer.Body.Data
	switch {
	case err != nil || !answer.Header.Status.Set:
		return nil, media.HTTPError(status, header, "the answer is not in the platform's format")
	case answer.Header.Status.Value == statusGood:
		return data, nil
	case answer.Header.Status.Value == statusPart && len(data) > 0 && len(answer.Header.Failures) > 0:
		return json.Marshal(map[string]any{failuresField: answer.Header.Failures, "data": data})
	}
	f := failure{message: answer.Header.Desc}
	if len(answer.Header.Failures) > 0 {
		f = readFailure(answer.Header.Failures[0])
	}
	failed := f.as(answer.Header.Status.Value == statusSystem, header)
	if answer.Header.Trace != "" {
		failed.Message += " (request " + answer.Header.Trace + ")"
	}
	return nil, failed
}

// open returns the data of a payload, and what failed.
func open(payload json.RawMessage) (data json.RawMessage, failures []failure) {
	fields, _ := wire.Fields(payload) // A list has none.
	failed, _ := wire.Elements(fields[failuresField])
	if len(failed) == 0 {
		return payload, nil
	}
	for _, raw := range failed {
		failures = append(failures, readFailure(raw))
	}
	return fields["data"], failures
}

// rowsOf reads a payload that is a list. Each failure is a row that is lost, so that the objects below it do not count
// as deleted.
func rowsOf(endpoint string, payload json.RawMessage) (rows wire.List, lost []media.Row, err error) {
	data, failures := open(payload)
	if rows, err = wire.Elements(data); err != nil || rows == nil {
		return nil, nil, media.Broken(endpoint, errors.New("the data are not a list"))
	}
	for _, f := range failures {
		lost = append(lost, media.OpenRow(json.RawMessage("{}"), func(r *wire.Row) media.Row {
			r.Lose(cmp.Or(f.field, "failures"), fmt.Errorf("has the id %s, which failed: %w", f.id, f.as(false, nil)))
			return media.Row{}
		}))
	}
	return rows, lost, nil
}

// readTime parses a time of the platform.
var readTime = wire.TimeIn(china, time.DateTime)
