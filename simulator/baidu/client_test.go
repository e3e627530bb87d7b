package baidu_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/baidu"
	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

type fields = simtest.Fields

const (
	search     = "sms/service/"
	feed       = "feed/v1/"
	getReport  = search + "OpenApiReportService/getReportData"
	createTask = search + "OpenApiReportService/createReportTask"
	getTask    = search + "OpenApiReportService/getTaskStatus"
	adgroups   = feed + "AdgroupFeedService/getAdgroupFeed"
	managed    = feed + "MccFeedService/getUserListByMccid"

	managerName = "星尘管家1"
)

// sim is a simulator with a client of the platform.
type sim struct {
	*simtest.Sim
	t *testing.T
}

func newSim(t *testing.T, accounts int) *sim {
	t.Helper()
	return &sim{simtest.New(t, baidu.New(), accounts), t}
}

func (s *sim) post(path string, body any) *httptest.ResponseRecorder {
	return s.Do(httptest.NewRequest(http.MethodPost, "/baidu/"+path, strings.NewReader(simtest.JSON(body))))
}

// as makes a call as a user, with a token.
func (s *sim) as(user, token, path string, body fields) *httptest.ResponseRecorder {
	return s.post("json/"+path, fields{"header": fields{"userName": user, "accessToken": token}, "body": body})
}

// call makes a call for an account, with its login's token.
func (s *sim) call(a *world.Account, path string, body fields) *httptest.ResponseRecorder {
	return s.as(a.Name(), s.Token(a), path, body)
}

// manage makes a call as the first login's manager.
func (s *sim) manage(path string, body fields) *httptest.ResponseRecorder {
	return s.as(managerName, s.Token(s.Account(0)), path, body)
}

// status returns the status of an answer and the codes of its failures.
func status(t testing.TB, w *httptest.ResponseRecorder) (status int64, codes []int64) {
	t.Helper()
	h := simtest.Decoded(t, w)["header"].(fields)
	for _, x := range h["failures"].([]any) {
		codes = append(codes, simtest.Number(t, x.(fields), "code"))
	}
	require.Equal(t, w.Header().Get("X-B3-Traceid"), h["traceid"])
	return simtest.Number(t, h, "status"), codes
}

// code returns the only code of an answer that failed, or 0 for a good one.
func code(t testing.TB, w *httptest.ResponseRecorder) int64 {
	t.Helper()
	state, codes := status(t, w)
	if state == 0 {
		require.Empty(t, codes)
		return 0
	}
	require.NotEqual(t, int64(1), state, "%s", w.Body)
	require.Len(t, codes, 1)
	return codes[0]
}

// rows returns the data of a good answer.
func rows(t testing.TB, w *httptest.ResponseRecorder) (list []fields) {
	t.Helper()
	for _, x := range simtest.Decoded(t, w)["body"].(fields)["data"].([]any) {
		list = append(list, x.(fields))
	}
	return list
}

// list returns the data of a call for an account that succeeds.
func (s *sim) list(a *world.Account, path string, body fields) []fields {
	s.t.Helper()
	w := s.call(a, path, body)
	require.Zero(s.t, code(s.t, w), "%s", w.Body)
	return rows(s.t, w)
}

func with(a fields, more ...any) fields {
	b := maps.Clone(a)
	for i := 0; i < len(more); i += 2 {
		b[more[i].(string)] = more[i+1]
	}
	return b
}

// ids returns a field of rows as it is.
func ids(rows []fields, name string) (list []any) {
	for _, x := range rows {
		list = append(list, x[name])
	}
	return list
}
