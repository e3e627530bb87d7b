package kuaishou_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/media"
	"adsync/media/kuaishou"
)

func filesOf(t *testing.T, name, level string) *media.Files {
	t.Helper()
	return reportOf(t, name, level).Files
}

// Document 2927.
func TestFiles_CreateAJobForEachLevel(t *testing.T) {
	t.Parallel()
	q := media.ReportQuery{From: "2026-09-01", To: "2026-09-30"}
	for _, c := range []struct {
		level, variant string
		view           int
	}{{"account", "", 1}, {"campaign", "", 2}, {"adgroup", "", 3}, {"creative", "custom", 4},
		{"creative", "program", 10}} {
		for name, granularity := range map[string]string{"report_daily": "DAILY", "report_hourly": "HOURLY"} {
			s := answering(t, envelope(`{"advertiser_id":20000681,"task_id":1230104}`))
			q.Variant = c.variant
			id, err := filesOf(t, name, c.level).Create(t.Context(), s, "adsync-1", q)
			require.NoError(t, err)
			require.Equal(t, "1230104", id)
			require.Equal(t, []string{fmt.Sprintf(`v1/async_task/create {"advertiser_id":20000681,"task_name":"adsync-1",`+
				`"task_params":{"end_date":"2026-09-30","start_date":"2026-09-01","temporal_granularity":%q,"view_type":%d}}`,
				granularity, c.view)}, s.asked)
		}
	}
	s := answering(t, envelope(`{"task_id":"1"}`), envelope(`{"task_id":2}`), envelope(`{"task_id":3}`))
	for _, c := range []struct {
		level string
		split int
	}{{"adgroup", 1}, {"creative", 1}, {"creative", 2}} {
		_, err := filesOf(t, "report_daily", c.level).Create(t.Context(), s, "adsync-2",
			media.ReportQuery{Variant: "custom", Within: []string{"609161", "609162"}, WithinLevel: c.split})
		require.NoError(t, err)
	}
	require.Contains(t, s.asked[0], `"campaign_ids":[609161,609162]`)
	require.Contains(t, s.asked[1], `"campaign_ids":[609161,609162]`)
	require.Contains(t, s.asked[2], `"unit_ids":[609161,609162]`)
	require.NotContains(t, s.asked[2], "campaign_ids")
}

const (
	oldJob = `{"advertiser_id":20000681,"task_id":1230104,"task_name":"adsync-1","create_time":"2026-11-20 09:00:00",` +
		`"task_status":2,"file_size":4096}`
	newJob = `{"advertiser_id":20000681,"task_id":1230105,"task_name":"adsync-10","create_time":"2026-11-20 10:00:00",` +
		`"task_status":0,"file_size":0}`
)

// A name is an account's only one. The code for a name that is taken is not documented.
func TestFiles_ANameThatIsTakenIsFound(t *testing.T) {
	t.Parallel()
	create := func(answers ...string) (string, *server, error) {
		s := answering(t, answers...)
		id, err := filesOf(t, "report_daily", "account").Create(t.Context(), s, "adsync-1",
			media.ReportQuery{From: "2026-09-01", To: "2026-09-01"})
		return id, s, err
	}
	for _, code := range []int{401000, 401003, 410002} {
		id, s, err := create(refusal(code, "the name"), rows(newJob, oldJob))
		require.NoError(t, err)
		require.Equal(t, "1230104", id)
		require.Equal(t, `v1/async_task/list {"advertiser_id":20000681,"page":1,"page_size":50}`, s.asked[1])
	}
	for _, answers := range [][]string{{refusal(401003, "the days"), rows(newJob)},
		{refusal(401003, "the days"), rows()}, {refusal(401003, "the days"), refusal(410000, "busy")}} {
		_, _, err := create(answers...)
		requireClass(t, media.Bug, err)
		require.ErrorContains(t, err, "the days")
	}
	for code, class := range map[int]media.Class{400001: media.Quota, 400003: media.Transient, 402001: media.Auth,
		402007: media.Invalid} {
		_, s, err := create(refusal(code, "why"))
		requireClass(t, class, err)
		require.Len(t, s.asked, 1)
	}
	for _, data := range []string{`null`, `[]`, `{}`, `{"task_id":null}`, `{"task_id":"x"}`, `{"task_id":1.5}`} {
		_, _, err := create(envelope(data))
		requireClass(t, media.Transient, err)
	}
}

func TestFiles_FindReadsAllPages(t *testing.T) {
	t.Parallel()
	find := filesOf(t, "report_daily", "account").Find
	s := answering(t, rowsOf(52, newJob), rowsOf(52, `null`, oldJob))
	id, err := find(t.Context(), s, "adsync-1")
	require.NoError(t, err)
	require.Equal(t, "1230104", id)
	require.Contains(t, s.asked[1], `"page":2`)
	id, err = find(t.Context(), answering(t, rows(newJob)), "adsync-1")
	require.NoError(t, err)
	require.Empty(t, id)
	_, err = find(t.Context(), answering(t, envelope(`{}`)), "adsync-1")
	requireClass(t, media.Transient, err)
}

// Document 2928.
func TestFiles_StatesOfAJob(t *testing.T) {
	t.Parallel()
	state := filesOf(t, "report_daily", "account").State
	made := media.Job{ID: "1230104", State: media.JobMaking, Size: -1, Rows: -1}
	done, sized, failed := made, made, made
	done.State, sized.State, sized.Size = media.JobDone, media.JobDone, 4096
	failed.State, failed.Reason = media.JobFailed, "task_status 3"
	for fields, want := range map[string]media.Job{
		`"task_status":0`: made, `"task_status":1,"file_size":4096`: made, `"task_status":2,"file_size":4096`: sized,
		`"task_status":2`: done, `"task_status":2,"file_size":0`: done, `"task_status":2,"file_size":null`: done,
		`"task_status":"2","file_size":"4096"`: sized, `"task_status":3`: failed, `"task_status":{}`: made,
		`"task_status":null`: made,
	} {
		s := answering(t, rows(newJob, `{"task_id":1230104,`+fields+`}`))
		job, err := state(t.Context(), s, "1230104")
		require.NoError(t, err)
		require.Equal(t, want, job, fields)
		require.Equal(t, []string{`v1/async_task/list {"advertiser_id":20000681,"page":1,"page_size":50,` +
			`"task_ids":[1230104]}`}, s.asked)
	}
	for _, answer := range []string{rows(), rows(newJob), envelope(`{"total_count":0,"details":null}`)} {
		_, err := state(t.Context(), answering(t, answer), "1230104")
		require.ErrorIs(t, err, media.ErrJobGone)
	}
	for _, answer := range []string{envelope(`null`), envelope(`[]`), envelope(`{"details":5}`), `busy`} {
		_, err := state(t.Context(), answering(t, answer), "1230104")
		requireClass(t, media.Transient, err)
	}
}

func TestFiles_AreOpened(t *testing.T) {
	t.Parallel()
	open, job := filesOf(t, "report_daily", "account").Open, media.Job{ID: "1230104", State: media.JobDone}
	s := &server{t: t, files: []string{"stat_date,charge\r\n2026-09-01,76.00\r\n", refusal(410000, "busy"),
		envelope(`{}`), refusal(402002, "expired"), refusal(410004, "the file is over")}}
	file, err := open(t.Context(), s, job)
	require.NoError(t, err)
	text, err := io.ReadAll(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, "stat_date,charge\r\n2026-09-01,76.00\r\n", string(text))
	require.Equal(t, []string{"v1/async_task/download?advertiser_id=20000681&task_id=1230104"}, s.asked)
	for _, class := range []media.Class{media.Transient, media.Transient, media.Auth} {
		_, err = open(t.Context(), s, job)
		requireClass(t, class, err)
	}
	_, err = open(t.Context(), s, job)
	require.ErrorIs(t, err, media.ErrJobGone)
}

func TestFiles_HaveTheColumnsOfTheReport(t *testing.T) {
	t.Parallel()
	q := media.ReportQuery{Extra: []string{"share"}, Without: []string{"ad_show"}}
	for _, r := range kuaishou.New().Reports() {
		columns := r.Files.Columns(q)
		require.Equal(t, r.Keys, columns[:len(r.Keys)])
		want := media.ReportQuery{Without: q.Without}.Fields(r.Figures.Fields())
		require.Equal(t, want, columns[len(r.Keys):], "without ad_show; a file has an added field if there is one")
	}
}

// The lines of a file are texts by column.
func TestFiles_ReadTheirLines(t *testing.T) {
	t.Parallel()
	var page media.Page
	read := filesOf(t, "report_hourly", "adgroup").Read
	read(&page, []byte(`{"stat_date":"2026-09-01","stat_hour":"23","unit_id":"2165304","charge":"76.05","bclick":"40",`+
		`"ad_show":"","event_pay":"-"}`))
	read(&page, []byte(`{"stat_date":"2026-09-01","stat_hour":"24","unit_id":"2165304"}`))
	require.Len(t, page.Rows, 2)
	row := page.Rows[0]
	require.Equal(t, day.Day("2026-09-01"), row.Day)
	require.Equal(t, 23, row.Hour)
	require.Equal(t, "2165304", row.Object)
	require.Empty(t, row.Faults)
	requireMetrics(t, map[string]int64{"cost": 76_050_000, "clicks": 40}, row.Metrics)
	require.True(t, page.Rows[1].Lost)
}

func TestFiles_AreSplitByCampaignsThenByUnits(t *testing.T) {
	t.Parallel()
	for level, most := range map[string][]int{"account": nil, "campaign": nil, "adgroup": {200}, "creative": {200, 100}} {
		for _, name := range []string{"report_daily", "report_hourly"} {
			splits := filesOf(t, name, level).Splits
			require.Len(t, splits, len(most), level)
			for i, split := range splits {
				require.Equal(t, most[i], split.Most)
			}
		}
	}
	splits := filesOf(t, "report_daily", "creative").Splits
	s := answering(t, rows(campaignRow), rows(unitRow))
	page, err := splits[0].Page(t.Context(), s, media.ReportQuery{From: "2026-09-01", To: "2026-09-01"}, "")
	require.NoError(t, err)
	require.Equal(t, "227785633", page.Rows[0].Object)
	page, err = splits[1].Page(t.Context(), s, media.ReportQuery{Within: []string{"609161"}, WithinLevel: 1}, "")
	require.NoError(t, err)
	require.Equal(t, "2165304", page.Rows[0].Object)
	require.Equal(t, []string{`gw/dsp/campaign/list {"advertiser_id":20000681,"page":1,"page_size":200,"status":-2}`,
		`gw/dsp/unit/list {"advertiser_id":20000681,"campaign_id":609161,"page":1,"page_size":200,"status":-2}`}, s.asked)
}
