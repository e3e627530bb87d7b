package tiktok_test

import (
	"encoding/csv"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

// untitled is a week of ad groups with the names of the API, as an asynchronous report has it.
func untitled() fields {
	q := with(levels[2].query("stat_time_day"), "enable_report_title_translation", false)
	delete(q, "filtering")
	return q
}

func (s *sim) createTask(a *world.Account, body fields) *httptest.ResponseRecorder {
	return s.post(s.Token(a), "report/task/create", with(fields{"advertiser_id": simtest.Text(a.ID)}, pairs(body)...))
}

// task starts an asynchronous report and returns its id.
func (s *sim) task(a *world.Account, body fields) string {
	s.t.Helper()
	return simtest.Data(s.t, s.createTask(a, body))["task_id"].(string)
}

func (s *sim) check(a *world.Account, id string) string {
	s.t.Helper()
	return simtest.Data(s.t, s.call(a, "report/task/check", fields{"task_id": id}))["status"].(string)
}

func (s *sim) download(a *world.Account, id string) *httptest.ResponseRecorder {
	return s.call(a, "report/task/download", fields{"task_id": id})
}

// file makes the calls of an asynchronous report, and ignores refusals.
func (s *sim) file(a *world.Account, q fields) {
	s.Assume("task_polls", 0)
	body := maps.Clone(q)
	delete(body, "filtering")
	w := s.createTask(a, body)
	if _, rest, ok := strings.Cut(w.Body.String(), `"task_id":"`); ok {
		id, _, _ := strings.Cut(rest, `"`)
		s.download(a, id)
	}
}

// table returns the rows of a file by the names of its columns.
func table(t *testing.T, body string) (rows []map[string]string) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(body, "\ufeff"))).ReadAll()
	require.NoError(t, err)
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func TestTasks_AdvanceWhenTheyArePolled(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	id := s.task(a, untitled())
	require.Equal(t, 40201, simtest.Code(t, s.download(a, id)), "it is not ready")
	require.Equal(t, "QUEUING", s.check(a, id))
	require.Equal(t, 40201, simtest.Code(t, s.download(a, id)))
	require.Equal(t, "PROCESSING", s.check(a, id))
	require.Equal(t, "SUCCESS", s.check(a, id))
	w := s.download(a, id)
	require.Equal(t, "text/csv", w.Header().Get("Content-Type"))
	rows := table(t, w.Body.String())
	var want []map[string]string
	for _, x := range s.rows(a, reportGet, with(untitled(), "filtering", []any{})) {
		row := map[string]string{}
		for _, part := range []string{"dimensions", "metrics"} {
			for name, value := range x[part].(fields) {
				row[name] = value.(string)
			}
		}
		want = append(want, row)
	}
	require.NotEmpty(t, want)
	require.Equal(t, want, rows, "a file has the rows of the report, without deleted objects")
	s.Assume("task_hides_deleted", 0)
	require.Greater(t, len(table(t, s.download(a, id).Body.String())), len(rows))
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(3*24*time.Hour)))
	s.Assume("task_hides_deleted", 1)
	require.Equal(t, rows, table(t, s.download(a, id).Body.String()), "it has the figures of its creation")
}

func TestTasks_AFileHasAnAssumedForm(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	s.Assume("task_polls", 0)
	id := s.task(a, with(untitled(), "enable_report_title_translation", true, "filtering",
		[]any{condition("adgroup_ids", "1")}))
	const names = "Adgroup Id,Stat Time Day,Spend,Impressions,Clicks,Conversion,App Install,Total Purchase Value"
	require.Equal(t, "\ufeff"+names+"\r\n", s.download(a, id).Body.String())
	s.Assume("file_mark", 0)
	s.Assume("file_return", 0)
	require.Equal(t, names+"\n", s.download(a, id).Body.String())
}

func TestTasks_AFileHasAnAddress(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	s.Assume("task_polls", 0)
	id := s.task(a, with(untitled(), "output_format", "CSV_DOWNLOAD", "file_name", "week"))
	d := simtest.Data(t, s.download(a, id))
	require.Equal(t, "week.csv", d["file_name"])
	require.Equal(t, "CSV_DOWNLOAD", d["output_format"])
	address := d["download_url"].(string)
	fetch := func(address string) *httptest.ResponseRecorder {
		return s.Do(httptest.NewRequest(http.MethodGet, address, nil))
	}
	require.NotEmpty(t, table(t, fetch(address).Body.String()), "it needs no token")
	bare, _, _ := strings.Cut(address, "&key")
	for name, wrong := range map[string]string{
		"another key": address + "0", "no key": bare,
		"another account": strings.Replace(address, simtest.Text(a.ID), simtest.Text(s.Account(1).ID), 1),
		"no account":      strings.Replace(address, simtest.Text(a.ID), "1", 1),
	} {
		require.Equal(t, 40007, simtest.Code(t, fetch(wrong)), name)
	}
	require.Equal(t, http.StatusForbidden, fetch(address+"0").Code)
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(time.Hour)))
	require.Equal(t, 40007, simtest.Code(t, fetch(address)), "it ends after an hour")
	again := simtest.Data(t, s.download(a, id))["download_url"].(string)
	require.NotEqual(t, address, again)
	require.NotEmpty(t, table(t, fetch(again).Body.String()))
	other := s.task(a, with(untitled(), "output_format", "CSV_DOWNLOAD"))
	require.Equal(t, "report_"+other+".csv", simtest.Data(t, s.download(a, other))["file_name"])
}

func TestTasks_AreCancelled(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	id := s.task(a, untitled())
	cancel := func() *httptest.ResponseRecorder {
		return s.post(s.Token(a), "report/task/cancel", fields{"advertiser_id": simtest.Text(a.ID), "task_id": id})
	}
	require.Equal(t, "CANCELED", simtest.Data(t, cancel())["status"])
	require.Equal(t, "CANCELED", s.check(a, id))
	require.Equal(t, 40200, simtest.Code(t, s.download(a, id)))
	require.Equal(t, 40200, simtest.Code(t, cancel()), "it has ended")
	id = "1"
	require.Equal(t, 40007, simtest.Code(t, cancel()))
}

func TestTasks_EndOrFail(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a, b := s.Account(0), s.Account(1)
	s.Assume("task_polls", 1)
	order := fields{"kind": "fail_task", "media": "tiktok", "endpoint": "report/task/create", "count": 1}
	s.Order("faults", order)
	failed := s.task(a, untitled())
	require.Equal(t, "QUEUING", s.check(a, failed))
	d := simtest.Data(t, s.call(a, "report/task/check", fields{"task_id": failed}))
	require.Equal(t, "FAILED", d["status"])
	require.NotEmpty(t, d["message"])
	require.Equal(t, 40200, simtest.Code(t, s.download(a, failed)))
	s.Order("faults", with(order, "kind", "expire_task"))
	gone := s.task(a, untitled())
	s.check(a, gone)
	require.Equal(t, "SUCCESS", s.check(a, gone))
	require.Equal(t, 40007, simtest.Code(t, s.download(a, gone)), "its file has expired")
	require.Equal(t, 40007, simtest.Code(t, s.call(a, "report/task/check", fields{"task_id": gone})))
	require.Equal(t, 40007, simtest.Code(t, s.call(b, "report/task/check", fields{"task_id": failed})),
		"it is another account's")
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(7*24*time.Hour)))
	require.Equal(t, 40007, simtest.Code(t, s.call(a, "report/task/check", fields{"task_id": failed})), "it is over")
	s.Assume("code_task_gone", 40200)
	require.Equal(t, 40200, simtest.Code(t, s.call(a, "report/task/check", fields{"task_id": failed})))
}

func TestTasks_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for name, body := range map[string]fields{
		"no parameters": {}, "31 days": with(untitled(), "start_date", "2026-10-15"),
		"a condition on the status": with(untitled(), "filtering", []any{condition("adgroup_status", "STATUS_ALL")}),
		"another format":            with(untitled(), "output_format", "XLSX_DOWNLOAD"),
		"a special character":       with(untitled(), "file_name", "a/b"),
		"a long name":               with(untitled(), "file_name", strings.Repeat("x", 256)),
		"titles that are no flag":   with(untitled(), "enable_report_title_translation", "x"),
		"several accounts":          with(untitled(), "advertiser_ids", []string{simtest.Text(a.ID)}),
		"no account":                with(untitled(), "advertiser_id", ""),
	} {
		require.Equal(t, 40002, simtest.Code(t, s.createTask(a, body)), name)
	}
	require.Equal(t, 40001, simtest.Code(t, s.createTask(a, with(untitled(), "advertiser_id", "1"))))
	for _, path := range []string{"report/task/check", "report/task/download"} {
		require.Equal(t, 40002, simtest.Code(t, s.call(a, path, fields{"task_id": "x"})), path)
		require.Equal(t, 40007, simtest.Code(t, s.call(a, path, fields{"task_id": "1"})), path)
	}
}
