package kuaishou_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
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

const (
	taskCreate = "v1/async_task/create"
	taskList   = "v1/async_task/list"
)

// history is a report of days that are too old for real-time reports.
var history = fields{"start_date": "2026-10-01", "end_date": "2026-10-07", "view_type": 3}

// create starts a task and returns its id.
func (s *sim) create(a *world.Account, name string, params fields) json.Number {
	s.t.Helper()
	d := simtest.Data(s.t, s.call(a, taskCreate, fields{"task_name": name, "task_params": params}))
	require.Equal(s.t, json.Number(simtest.Text(a.ID)), d["advertiser_id"])
	return d["task_id"].(json.Number)
}

// poll returns a task, once.
func (s *sim) poll(a *world.Account, id json.Number) fields {
	s.t.Helper()
	rows := simtest.Data(s.t, s.call(a, taskList, fields{"task_ids": []json.Number{id}}))["details"].([]any)
	require.Len(s.t, rows, 1)
	return rows[0].(fields)
}

func (s *sim) download(a *world.Account, id json.Number) *httptest.ResponseRecorder {
	q := simtest.Query("advertiser_id", simtest.Text(a.ID), "task_id", id.String())
	return s.get(a, "v1/async_task/download", q, "")
}

// file creates a task, waits for its end, and returns its file.
func (s *sim) file(a *world.Account, name string, params fields) string {
	s.t.Helper()
	id := s.create(a, name, params)
	for state := json.Number("0"); state != "2"; {
		state = s.poll(a, id)["task_status"].(json.Number)
	}
	w := s.download(a, id)
	require.Equal(s.t, "text/csv", w.Header().Get("Content-Type"), "%s", w.Body)
	require.Equal(s.t, s.poll(a, id)["file_size"], json.Number(fmt.Sprint(w.Body.Len())))
	return w.Body.String()
}

// table returns the lines of a file by their names.
func table(t testing.TB, file string) (rows []map[string]string) {
	t.Helper()
	text, found := strings.CutPrefix(file, "\xEF\xBB\xBF")
	require.True(t, found)
	lines, err := csv.NewReader(bytes.NewReader([]byte(text))).ReadAll()
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

func TestTasks_GoThroughTheirStates(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	id := s.create(a, "a task", history)
	require.Equal(t, 401005, simtest.Code(t, s.download(a, id)), "it has no file yet")
	first := s.poll(a, id)
	require.Equal(t, fields{"advertiser_id": json.Number(simtest.Text(a.ID)), "task_id": id, "task_name": "a task",
		"create_time": "2026-11-15 12:34:56", "task_status": json.Number("0"), "file_size": json.Number("0")}, first)
	require.Equal(t, 401005, simtest.Code(t, s.download(a, id)))
	require.Equal(t, json.Number("1"), s.poll(a, id)["task_status"])
	done := s.poll(a, id)
	require.Equal(t, json.Number("2"), done["task_status"])
	require.NotEqual(t, json.Number("0"), done["file_size"])
	require.Equal(t, http.StatusOK, s.download(a, id).Code)

	s.Assume("task_polls", 0)
	quick := s.create(a, "another", history)
	require.Equal(t, json.Number("2"), s.poll(a, quick)["task_status"])
	require.Equal(t, []string{id.String(), quick.String()}, simtest.Texts(s.rows(a, taskList, nil), "task_id"))
	require.Equal(t, 410004, simtest.Code(t, s.download(s.Account(1), id)), "another account's task")
	require.Empty(t, s.rows(s.Account(1), taskList, nil))
}

func TestTasks_HaveOldDaysThatReportsNoLongerHave(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	old := fields{"start_date": "2026-10-01", "end_date": "2026-10-07"}
	require.Equal(t, 401000, simtest.Code(t, s.call(a, unitReport, old)))
	from, _ := world.ParseDay("2026-10-01")
	v := world.View{Now: s.Now(), Corrections: world.NewCorrections()}
	for _, c := range []struct {
		views  []int
		key    string
		level  world.Level
		hourly bool
	}{
		{[]int{1}, "", world.LevelAccount, false}, {[]int{1}, "", world.LevelAccount, true},
		{[]int{3}, "unit_id", world.LevelAd, false}, {[]int{3}, "unit_id", world.LevelAd, true},
		{[]int{4, 10}, "creative_id", world.LevelCreative, false},
	} {
		want, got := map[string]string{}, map[string]string{}
		for _, r := range v.TrueRows(a, world.Scope{Level: c.level, Hourly: c.hourly, From: from, To: from + 6}) {
			hour := ""
			if c.hourly {
				hour = fmt.Sprint(r.Hour)
			}
			want[fmt.Sprintln(world.FormatDay(r.Day), hour, world.ObjectText(r.Object))] =
				fmt.Sprintln(float64(r.Figures[world.Cost])/100, r.Figures[world.Impressions])
		}
		for _, view := range c.views {
			params := with(old, "view_type", view)
			if c.hourly {
				params["temporal_granularity"] = "HOURLY"
			}
			for _, x := range table(t, s.file(a, fmt.Sprint(view, c.hourly), params)) {
				var yuan float64
				_, err := fmt.Sscan(x["charge"], &yuan)
				require.NoError(t, err)
				got[fmt.Sprintln(x["stat_date"], x["stat_hour"], x[c.key])] = fmt.Sprintln(yuan, x["show"])
			}
		}
		require.NotEmpty(t, want)
		require.Equal(t, want, got, "%v", c)
	}
}

func TestTasks_FilesHaveAnAssumedForm(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	file := s.file(a, "one", history)
	require.True(t, strings.HasPrefix(file,
		"\xEF\xBB\xBFstat_date,campaign_id,campaign_name,unit_id,unit_name,status,charge,"))
	require.Equal(t, strings.Count(file, "\n"), strings.Count(file, "\r\n"))
	s.Assume("file_mark", 0)
	s.Assume("file_return", 0)
	plain := s.file(a, "two", history)
	require.Equal(t, strings.ReplaceAll(strings.TrimPrefix(file, "\xEF\xBB\xBF"), "\r\n", "\n"), plain)
}

func TestTasks_FilesHaveTheFiguresOfTheirCreation(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	s.Assume("task_polls", 0)
	id := s.create(a, "one", history)
	before := s.download(a, id).Body.String()
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(time.Hour)))
	s.Order("truth/correct", fields{"media": "kuaishou", "account": simtest.Text(a.ID), "from": "2026-10-01",
		"to": "2026-10-07", "percent": 10})
	require.Equal(t, before, s.download(a, id).Body.String())
	require.NotEqual(t, before, s.file(a, "two", history))
}

func TestTasks_Conditions(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	all := table(t, s.file(a, "all", history))
	one := all[0]
	for name, params := range map[string]fields{
		"unit_id":     with(history, "unit_ids", []string{one["unit_id"]}),
		"campaign_id": with(history, "campaign_ids", []string{one["campaign_id"]}),
		"status":      with(history, "status", json.Number(one["status"])),
	} {
		rows := table(t, s.file(a, name, params))
		require.NotEmpty(t, rows, name)
		require.Less(t, len(rows), len(all), name)
		for _, x := range rows {
			require.Equal(t, one[name], x[name])
		}
	}
	program := table(t, s.file(a, "program", with(history, "view_type", 10)))
	rows := table(t, s.file(a, "creative", with(history, "view_type", 10, "virtual_creative_ids",
		[]string{program[0]["creative_id"]})))
	require.NotEmpty(t, rows)
	require.Less(t, len(rows), len(program))
	require.Len(t, table(t, s.file(a, "scene", with(history, "report_dims", "adScene"))), len(all))
	for _, view := range []int{5, 7, 8, 21, 25} {
		require.Empty(t, table(t, s.file(a, fmt.Sprint(view), with(history, "view_type", view))))
	}
}

func TestTasks_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for name, c := range map[string]struct {
		name   string
		params any
	}{
		"no name":                    {"", history},
		"a name of 51 characters":    {strings.Repeat("名", 51), history},
		"no parameters":              {"a", nil},
		"parameters that are a list": {"a", []int{1}},
		"no view":                    {"a", with(history, "view_type", nil)},
		"another view":               {"a", with(history, "view_type", 6)},
		"no start":                   {"a", with(history, "start_date", nil)},
		"the end before the start":   {"a", with(history, "end_date", "2026-09-30")},
		"days before six months":     {"a", with(history, "start_date", "2026-05-14")},
		"more than six months":       {"a", with(history, "start_date", "2026-05-15", "end_date", "2026-11-16")},
		"another granularity":        {"a", with(history, "temporal_granularity", "WEEKLY")},
		"another dimension":          {"a", with(history, "report_dims", "gender")},
		"5001 units":                 {"a", with(history, "unit_ids", make([]int64, 5001))},
		"photos of units":            {"a", with(history, "photo_ids", []int{1})},
		"words of units":             {"a", with(history, "word_info_ids", []int{1})},
		"a query of units":           {"a", with(history, "query", []string{"x"})},
		"columns of units":           {"a", with(history, "selected_columns", []string{"charge"})},
		"another status":             {"a", with(history, "status", 4)},
	} {
		require.Equal(t, 401000, simtest.Code(t, s.call(a, taskCreate, fields{"task_name": c.name, "task_params": c.params})),
			name)
	}
	s.create(a, strings.Repeat("名", 50), with(history, "start_date", "2026-05-15", "end_date", "2026-11-15"))
	require.Equal(t, 401000, simtest.Code(t, s.call(a, taskList, fields{"task_ids": make([]int64, 11)})))
	require.Equal(t, 401000, simtest.Code(t, s.call(a, taskList, fields{"page_size": 201})))
	require.Equal(t, 401000, simtest.Code(t, s.download(a, "x")))
	require.Equal(t, 410004, simtest.Code(t, s.download(a, "1")))
	require.Equal(t, http.StatusNotFound, s.call(a, "v1/async_task/download", fields{"task_id": 1}).Code)
	for _, path := range []string{taskCreate, taskList} {
		require.Equal(t, 400004, simtest.Code(t, s.call(a, path, fields{"advertiser_id": 1})), path)
	}
}

func TestTasks_NamesAreUniqueInAnAccount(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	s.create(s.Account(0), "a", history)
	s.create(s.Account(1), "a", history)
	again := s.call(s.Account(0), taskCreate, fields{"task_name": "a", "task_params": history})
	require.Equal(t, 401003, simtest.Code(t, again))
}

func TestTasks_AreFiftyADay(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a, b := s.Account(0), s.Account(1)
	for i := range 50 {
		s.create(a, fmt.Sprint(i), history)
	}
	more := func(a *world.Account) int {
		return simtest.Code(t, s.call(a, taskCreate, fields{"task_name": "more", "task_params": history}))
	}
	require.Equal(t, 401004, more(a))
	s.Assume("tasks_by_app", 1)
	require.Equal(t, 401004, more(b), "the documents do not say what the limit counts")
	s.Assume("tasks_by_app", 0)
	require.Equal(t, 0, more(b))
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(12*time.Hour)))
	require.Equal(t, 0, more(a))
}

func TestTasks_End(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	id := s.create(a, "a", history)
	s.Assume("task_polls", 0)
	s.Assume("task_life", 3600)
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(time.Hour-time.Second)))
	require.Equal(t, json.Number("2"), s.poll(a, id)["task_status"])
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(time.Hour)))
	require.Empty(t, s.rows(a, taskList, nil))
	require.Equal(t, 410004, simtest.Code(t, s.download(a, id)))
}

func TestTasks_FailOrExpireByOrder(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	s.Assume("task_polls", 1)
	s.Order("faults", fields{"kind": "fail_task", "media": "kuaishou", "account": simtest.Text(a.ID), "count": 1})
	failed := s.create(a, "fails", history)
	require.Equal(t, json.Number("0"), s.poll(a, failed)["task_status"])
	require.Equal(t, json.Number("3"), s.poll(a, failed)["task_status"])
	require.Equal(t, 401005, simtest.Code(t, s.download(a, failed)))

	s.Order("faults", fields{"kind": "expire_task", "media": "kuaishou", "count": 1})
	gone := s.create(a, "expires", history)
	s.poll(a, gone)
	require.Equal(t, json.Number("2"), s.poll(a, gone)["task_status"])
	require.Equal(t, 410004, simtest.Code(t, s.download(a, gone)))
	require.Equal(t, []string{failed.String()}, simtest.Texts(s.rows(a, taskList, nil), "task_id"),
		"its id is unknown now")
	require.NotEmpty(t, s.file(a, "again", history), "each order concerned one task")
}

func TestTasks_AFileIsCutOrLacksAColumnByOrder(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	s.Assume("task_polls", 0)
	whole := s.file(a, "whole", history)
	s.Order("faults", fields{"kind": "cut_task", "media": "kuaishou", "count": 1})
	id := s.create(a, "cut", history)
	require.Equal(t, json.Number(fmt.Sprint(len(whole))), s.poll(a, id)["file_size"])
	cut := s.download(a, id).Body.String()
	require.Len(t, table(t, cut), len(table(t, whole))-1)
	require.True(t, strings.HasPrefix(whole, cut))

	s.Order("faults", fields{"kind": "bare_task", "media": "kuaishou", "count": 1})
	bare := table(t, s.file(a, "bare", history)) // its size is announced
	require.Len(t, bare, len(table(t, whole)))
	require.NotContains(t, bare[0], "charge")
	require.Contains(t, bare[0], "ad_show")

	answer := s.Do(httptest.NewRequest(http.MethodGet, "/_sim/tasks?media=kuaishou", http.NoBody))
	var tasks struct {
		Tasks []struct {
			Name  string
			Reads int
		}
	}
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &tasks))
	require.Len(t, tasks.Tasks, 3)
	require.Equal(t, "cut", tasks.Tasks[1].Name)
	require.Equal(t, 1, tasks.Tasks[1].Reads)
}
