package baidu_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

func (s *sim) create(a *world.Account, body fields) string {
	s.t.Helper()
	return s.list(a, createTask, body)[0]["taskId"].(string)
}

func (s *sim) poll(a *world.Account, id string) fields {
	s.t.Helper()
	return s.list(a, getTask, fields{"taskId": id})[0]
}

// wait polls a task until its end.
func (s *sim) wait(a *world.Account, id string) fields {
	s.t.Helper()
	for {
		if x := s.poll(a, id); x["taskStatus"] != "SUBMITTED" && x["taskStatus"] != "RUNNING" {
			return x
		}
	}
}

func (s *sim) get(address any) *httptest.ResponseRecorder {
	return s.Do(httptest.NewRequest(http.MethodGet, address.(string), nil))
}

func TestTasks_GoThroughTheirStates(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	id := s.create(a, week)
	require.Equal(t, fields{"taskStatus": "SUBMITTED", "submitTime": "2026-11-15 12:34:56", "startTime": "",
		"finishTime": "", "fileUrl": "", "dataStartRow": s.poll(a, s.create(a, week))["dataStartRow"],
		"tableHeader": []any{"date", "userId", "adGroupId", "adGroupName", "impression", "click", "cost"}}, s.poll(a, id))
	require.Equal(t, "RUNNING", s.poll(a, id)["taskStatus"])
	done := s.poll(a, id)
	require.Equal(t, "SUCCESS", done["taskStatus"])
	require.Equal(t, "2026-11-15 12:34:56", done["finishTime"])
	require.Equal(t, int64(901_002), code(t, s.call(s.Account(3), getTask, fields{"taskId": id})), "another's task")
	require.Equal(t, int64(901_002), code(t, s.call(a, getTask, fields{"taskId": "x"})))
	s.Assume("data_object", 1)
	require.IsType(t, fields{}, simtest.Decoded(t, s.call(a, createTask, week))["body"].(fields)["data"])
}

// table returns the rows of a file, whose first one has a number.
func table(t testing.TB, file, first string, header any) (list []map[string]string) {
	t.Helper()
	text, found := strings.CutPrefix(file, "\xEF\xBB\xBF")
	require.True(t, found)
	r := csv.NewReader(bytes.NewReader([]byte(text)))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	require.NoError(t, err)
	var start int
	_, err = fmt.Sscan(first, &start)
	require.NoError(t, err)
	for _, line := range lines[start-1:] {
		x := map[string]string{}
		for i, name := range header.([]any) {
			x[name.(string)] = line[i]
		}
		list = append(list, x)
	}
	return list
}

func TestTasks_FilesEqualReports(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	want := s.report(a, week)
	id := s.create(a, week)
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(time.Minute)))
	s.Order("truth/correct", fields{"media": "baidu", "account": simtest.Text(a.ID), "from": "2026-11-08",
		"to": "2026-11-14", "percent": 10})
	done := s.wait(a, id)
	w := s.get(done["fileUrl"])
	require.Equal(t, "text/csv", w.Header().Get("Content-Type"))
	got := table(t, w.Body.String(), fmt.Sprint(done["dataStartRow"]), done["tableHeader"])
	require.Len(t, got, len(want))
	for i := range got {
		for name, value := range got[i] {
			require.Equal(t, fmt.Sprint(want[i][name]), value, "the figures are those of the creation")
		}
	}
	s.Assume("file_mark", 0)
	s.Assume("file_return", 1)
	s.Assume("file_head", 0)
	s.Assume("file_row_base", 0)
	done = s.wait(a, s.create(a, week))
	plain := s.get(done["fileUrl"]).Body.String()
	require.True(t, strings.HasPrefix(plain, "date,userId,"))
	require.Equal(t, strings.Count(plain, "\n"), strings.Count(plain, "\r\n"))
	require.Equal(t, "1", fmt.Sprint(done["dataStartRow"]))
}

func TestTasks_AndAddressesEnd(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	id := s.create(a, week)
	address := s.wait(a, id)["fileUrl"].(string)
	require.Equal(t, http.StatusForbidden, s.get(address+"0").Code)
	require.Equal(t, http.StatusForbidden, s.get(strings.Replace(address, id, "1", 1)).Code)
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(5*time.Minute-time.Second)))
	require.Equal(t, http.StatusOK, s.get(address).Code)
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(5*time.Minute)))
	require.Equal(t, http.StatusForbidden, s.get(address).Code)
	again := s.poll(a, id)["fileUrl"]
	require.Equal(t, http.StatusOK, s.get(again).Code, "each answer has a new address")
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(10*time.Minute-time.Second)))
	again = s.poll(a, id)["fileUrl"]
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(10*time.Minute)))
	require.Equal(t, int64(901_002), code(t, s.call(a, getTask, fields{"taskId": id})))
	require.Equal(t, http.StatusForbidden, s.get(again).Code)
	require.NotEmpty(t, s.create(a, week))
}

func TestTasks_FailOrExpireByOrder(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	s.Order("faults", fields{"kind": "fail_task", "media": "baidu", "account": simtest.Text(a.ID), "count": 1})
	failed := s.wait(a, s.create(a, week))
	require.Equal(t, "FAIL", failed["taskStatus"])
	require.Empty(t, failed["fileUrl"])
	s.Order("faults", fields{"kind": "expire_task", "media": "baidu", "count": 1})
	id := s.create(a, week)
	require.Equal(t, http.StatusForbidden, s.get(s.wait(a, id)["fileUrl"]).Code)
	require.Equal(t, int64(901_002), code(t, s.call(a, getTask, fields{"taskId": id})))
	require.Equal(t, http.StatusOK, s.get(s.wait(a, s.create(a, week))["fileUrl"]).Code)
}

func TestTasks_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a, b := s.Account(0), s.Account(3)
	for _, more := range [][]any{{"reportType", 1}, {"columns", []string{"date"}}, {"timeUnit", "MONTH"},
		{"endDate", "2026-11-07"}, {"userIds", "x"}} {
		require.Equal(t, int64(901_000), code(t, s.call(a, createTask, with(week, more...))), "%v", more)
	}
	several := with(week, "userIds", []int64{a.ID, b.ID})
	require.Zero(t, code(t, s.manage(createTask, several)))
	s.Order("accounts", fields{"media": "baidu", "account": simtest.Text(b.ID), "state": "frozen"})
	require.Equal(t, int64(8303), code(t, s.manage(createTask, several)))
}
