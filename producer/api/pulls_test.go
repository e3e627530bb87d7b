package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/media"
	"adsync/media/mediatest/invented"
)

// claimed is the answer to a claim.
type claimed struct {
	ID      string
	Version int64
}

// pullBench is a bench with an account of tulip and its raw tables.
func pullBench(t *testing.T) *bench {
	t.Helper()
	b := setup(t)
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	require.NoError(t, b.store.EnsureRawTables(t.Context(), media.Tables(invented.New())))
	return b
}

// begin claims 20 November of the account's report.
func (b *bench) begin(report, level string) (got claimed) {
	b.t.Helper()
	w := b.post("/api/v1/pulls", fmt.Sprintf(
		`{"media":"tulip","account":"9001","report":%q,"level":%q,"day":"2026-11-20"}`, report, level))
	require.Equal(b.t, http.StatusCreated, w.Code, w.Body.String())
	decode(b.t, w.Body.String(), &got)
	return got
}

func (b *bench) stage(of claimed, part int, rows string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.call(http.MethodPut, fmt.Sprintf("/api/v1/pulls/%s/parts/%d", of.ID, part), `{"rows":[`+rows+`]}`,
		operatorToken)
}

func (b *bench) complete(of claimed, body string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.post("/api/v1/pulls/"+of.ID+"/complete", body)
}

// staged stages rows as part 1 and completes the pull.
func (b *bench) staged(of claimed, rows string, total int) *httptest.ResponseRecorder {
	b.t.Helper()
	require.Equal(b.t, http.StatusOK, b.stage(of, 1, rows).Code)
	return b.complete(of, fmt.Sprintf(`{"parts":1,"total":%d}`, total))
}

// ended requires the state of an ended pull.
func (b *bench) ended(w *httptest.ResponseRecorder, state string) {
	b.t.Helper()
	require.Equal(b.t, http.StatusOK, w.Code, w.Body.String())
	require.Contains(b.t, w.Body.String(), `"state":"`+state+`"`)
}

// figures returns "object cost clicks" of the public rows of a table.
func (b *bench) figures(table string) (all []string) {
	b.t.Helper()
	rows, err := b.store.Data.Writer(b.t.Context()).Raw(
		"SELECT object_id, COALESCE(cost, -1), COALESCE(clicks, -1) FROM " + table + " ORDER BY level, object_id").Rows()
	require.NoError(b.t, err)
	defer rows.Close()
	for rows.Next() {
		var object string
		var cost, clicks int64
		require.NoError(b.t, rows.Scan(&object, &cost, &clicks))
		all = append(all, fmt.Sprintf("%s %d %d", object, cost, clicks))
	}
	require.NoError(b.t, rows.Err())
	return all
}

// covered returns the row of coverage of a report on the day.
func (b *bench) covered(report, level string) results.Coverage {
	b.t.Helper()
	found, err := b.store.FindAccounts(b.t.Context(), "tulip", []string{"9001"})
	require.NoError(b.t, err)
	all, err := b.store.ReadCoverage(b.t.Context(), found["9001"].ID, day.Day("2026-11-20"), day.Day("2026-11-20"))
	require.NoError(b.t, err)
	for _, c := range all {
		if c.Report == report && c.Level == level {
			return c
		}
	}
	return results.Coverage{}
}

func TestPulls_WriteTheRowsUnderTheirClaim(t *testing.T) {
	t.Parallel()
	b := pullBench(t)
	pull := b.begin("report_daily", "adgroup")
	require.Positive(t, pull.Version)
	w := b.stage(pull, 1, `{"id":"11","cost":"1.5","clicks":3},{"id":"12","cost":"x"}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Contains(t, w.Body.String(), `"field":"cost"`)
	w = b.stage(pull, 1, `{"id":"11","cost":"12.345678","clicks":3,"extra":{"a":[1.50]}}`)
	require.Equal(t, http.StatusOK, w.Code, "it replaces the part")
	require.Equal(t, http.StatusOK, b.stage(pull, 2, `{"id":12,"cost":"0.01","clicks":null}`).Code)
	require.Empty(t, b.figures("report_daily"))
	first := b.complete(pull, `{"parts":2,"total":2}`)
	b.ended(first, "complete")
	require.Equal(t, []string{"11 12345678 3", "12 10000 -1"}, b.figures("report_daily"))
	require.Zero(t, b.count(b.store.Data, "outside_part"))
	c := b.covered("report_daily", "adgroup")
	require.Equal(t, []any{results.Complete, pull.Version, int64(2)}, []any{c.State, c.CompleteVersion, c.RowCount})

	again := b.complete(pull, `{"parts":2,"total":2}`)
	require.JSONEq(t, first.Body.String(), again.Body.String())
	require.Equal(t, http.StatusConflict, b.stage(pull, 1, `{"id":"11"}`).Code, "it has ended")

	b.ended(b.staged(b.begin("report_daily", "adgroup"), `{"id":"11","cost":"12.345678","clicks":4}`, 1), "complete")
	require.Equal(t, []string{"11 12345678 4"}, b.figures("report_daily"), "the row that it lacks is deleted")
	require.Equal(t, 1, b.count(b.store.Data, "tulip_report_daily"))
	require.Equal(t, 1, b.count(b.store.Data, "report_tombstone"))
}

// A client that has waited for too long sends the end again while the first request is still at work.
func TestPulls_EndsAtOnceHaveOneAnswer(t *testing.T) {
	t.Parallel()
	b := pullBench(t)
	for round := range 8 {
		pull := b.begin("report_daily", "adgroup")
		for part := range 3 {
			require.Equal(t, http.StatusOK, b.stage(pull, part+1, fmt.Sprintf(`{"id":"%d","clicks":%d}`, part+11, round)).Code)
		}
		answers := make([]*httptest.ResponseRecorder, 8)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = b.complete(pull, `{"parts":3,"total":3}`) })
		}
		all.Wait()
		for _, w := range answers {
			b.ended(w, "complete")
			require.JSONEq(t, answers[0].Body.String(), w.Body.String())
		}
		require.Len(t, b.figures("report_daily"), 3)
	}
}

func TestPulls_AnOlderOneChangesNothing(t *testing.T) {
	t.Parallel()
	b := pullBench(t)
	older, newer := b.begin("report_daily", "account"), b.begin("report_daily", "account")
	require.Greater(t, newer.Version, older.Version, "also within the database's millisecond")
	b.ended(b.staged(newer, `{"cost":"2"}`, 1), "complete")
	w := b.staged(older, `{"cost":"1"}`, 1)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, b.problem(w).Detail, fmt.Sprint(newer.Version))
	require.Equal(t, []string{" 2000000 -1"}, b.figures("report_daily"))
	require.Equal(t, http.StatusConflict, b.complete(older, `{"parts":1,"total":1}`).Code, "again the same")
}

func TestPulls_ThatAreNotWholeNameWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := pullBench(t)
	b.ended(b.staged(b.begin("report_daily", "adgroup"), `{"id":"11","cost":"1"},{"id":"12","cost":"1"}`, 2), "complete")
	pull := b.begin("report_daily", "adgroup")
	require.Equal(t, http.StatusOK, b.stage(pull, 1, `{"id":"11","cost":"3"}`).Code)
	require.Equal(t, http.StatusOK, b.stage(pull, 4, `{"id":"11","cost":"3"}`).Code)
	for body, want := range map[string]string{
		`{"parts":3,"total":1}`: "missing: 2, 3; more than the parts that were announced: 4",
		`{"parts":0,"total":0}`: "announced: 1, 4",
	} {
		w := b.complete(pull, body)
		require.Equal(t, http.StatusConflict, w.Code)
		require.Contains(t, b.problem(w).Detail, want)
	}
	require.Equal(t, http.StatusOK, b.stage(pull, 2, ``).Code)
	require.Equal(t, http.StatusOK, b.stage(pull, 3, ``).Code)
	w := b.complete(pull, `{"parts":4,"total":2}`)
	require.Contains(t, b.problem(w).Detail, "came twice")
	require.Equal(t, http.StatusOK, b.stage(pull, 4, ``).Code)
	w = b.complete(pull, `{"parts":4,"total":3}`)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, b.problem(w).Detail, "1 row came of a total of 3")
	require.Equal(t, []string{"11 1000000 -1", "12 1000000 -1"}, b.figures("report_daily"), "nothing was written")

	w = b.complete(pull, `{"parts":4,"total":3,"partial":true}`)
	b.ended(w, "partial")
	require.Equal(t, []string{"11 3000000 -1", "12 1000000 -1"}, b.figures("report_daily"), "nothing was deleted")
	require.Equal(t, results.Partial, b.covered("report_daily", "adgroup").State)
}

func TestPulls_AreJudgedAsOurOwn(t *testing.T) {
	t.Parallel()
	b := pullBench(t)
	first := b.begin("report_daily", "adgroup")
	b.ended(b.staged(first, `{"id":"11","cost":"100"},{"id":"12","cost":"50"}`, 2), "complete")
	empty := b.begin("report_daily", "adgroup")
	w := b.complete(empty, `{"parts":0,"total":0}`)
	b.ended(w, "suspect")
	require.Contains(t, w.Body.String(), "lacks 2 of the earlier rows")
	require.Len(t, b.figures("report_daily"), 2)
	require.JSONEq(t, w.Body.String(), b.complete(empty, `{"parts":0,"total":0}`).Body.String())
	// The account's own answer lacks what its ad groups have.
	w = b.staged(b.begin("report_daily", "account"), `{"cost":"20"}`, 1)
	b.ended(w, "suspect")
	require.Equal(t, results.Suspect, b.covered("report_daily", "account").State)

	// Unusable values cost only themselves.
	w = b.staged(b.begin("report_hourly", "adgroup"),
		`{"id":"11","hour":3,"cost":"1.0000001","clicks":5},{"id":"12","hour":24,"cost":"1"},{"id":"a b","hour":1}`, 3)
	b.ended(w, "partial")
	require.Equal(t, []string{"11 -1 5"}, b.figures("report_hourly"))
	require.Equal(t, int64(3), b.covered("report_hourly", "adgroup").Unusable)
}

func TestPulls_SummariesFollow(t *testing.T) {
	t.Parallel()
	b := pullBench(t)
	b.ended(b.staged(b.begin("report_daily", "account"), `{"cost":"7.25","clicks":2}`, 1), "complete")
	days, err := b.store.DirtyDays(t.Context(), "tulip", 1<<62, 10)
	require.NoError(t, err)
	require.Len(t, days, 1)
	_, err = b.store.RebuildSummary(t.Context(), days[0])
	require.NoError(t, err)
	var cost int64
	require.NoError(t, b.store.Data.Writer(t.Context()).Raw("SELECT cost FROM summary_daily").Row().Scan(&cost))
	require.Equal(t, int64(7_250_000), cost)
	require.Equal(t, 1, b.count(b.store.Data, "wide_day"))
}

// A process that is killed after the write and before the answer's row repeats the write.
func TestPulls_AKillBetweenWriteAndAnswerChangesNothing(t *testing.T) {
	t.Parallel()
	b := pullBench(t)
	pull := b.begin("report_daily", "adgroup")
	row := `{"id":"11","cost":"5"}`
	first := b.staged(pull, row, 1)
	b.ended(first, "complete")
	db := b.store.Data.Writer(t.Context())
	require.NoError(t, db.Exec("UPDATE outside_pull SET answer = ''").Error)
	require.JSONEq(t, first.Body.String(), b.staged(pull, row, 1).Body.String())
	require.Equal(t, []string{"11 5000000 -1"}, b.figures("report_daily"))
	require.Zero(t, b.count(b.store.Data, "outside_part"))

	require.Equal(t, http.StatusOK, b.stage(b.begin("report_daily", "account"), 1, `{"cost":"1"}`).Code)
	gone, err := b.store.PurgeOutsidePulls(t.Context(), results.OutsidePullsKept)
	require.NoError(t, err)
	require.Zero(t, gone)
	require.NoError(t, db.Exec("UPDATE outside_pull SET created_at = '2026-01-01 00:00:00.000'").Error)
	gone, err = b.store.PurgeOutsidePulls(t.Context(), results.OutsidePullsKept)
	require.NoError(t, err)
	require.Equal(t, 2, gone)
	require.Zero(t, b.count(b.store.Data, "outside_part"))
	require.Equal(t, http.StatusNotFound, b.complete(pull, `{"parts":1,"total":1}`).Code)
}

func TestPulls_RefuseWhatTheyDoNotKnowByItsField(t *testing.T) {
	t.Parallel()
	b := pullBench(t)
	begin := func(changes string) string {
		fields := map[string]string{"media": `"tulip"`, "account": `"9001"`, "report": `"report_daily"`,
			"level": `"account"`, "day": `"2026-11-20"`}
		for change := range strings.SplitSeq(changes, ",") {
			name, value, _ := strings.Cut(change, "=")
			fields[name] = value
		}
		var all []string
		for name, value := range fields {
			all = append(all, `"`+name+`":`+value)
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	for changes, field := range map[string]string{
		`media="myspace"`: "media", `account="1"`: "account", `report="report_weekly"`: "report", `level="campaign"`: "level",
		`day="2026-11-22"`: "day", `day="2026-02-30"`: "day", `run_id="x"`: "run_id", `zone="UTC"`: "zone",
	} {
		faults := b.refused(http.MethodPost, "/api/v1/pulls", begin(changes))
		require.Equal(t, field, faults[0].Field, changes)
	}
	daily, hourly := b.begin("report_daily", "account"), b.begin("report_hourly", "adgroup")
	for row, field := range map[string]string{
		`{"clics":1}`: "rows[0].clics", `{"cost":1.5}`: "rows[0].cost", `{"id":"1"}`: "rows[0].id",
		`{"hour":1}`:      "rows[0].hour",
		`{"clicks":true}`: "rows[0].clicks", `{"extra":[]}`: "rows[0].extra", `{"cost":"1","cost":"2"}`: "rows[0].cost",
	} {
		path := fmt.Sprintf("/api/v1/pulls/%s/parts/1", daily.ID)
		require.Equal(t, field, b.refused(http.MethodPut, path, `{"rows":[`+row+`]}`)[0].Field, row)
	}
	require.Equal(t, "rows[1].name", b.refused(http.MethodPut, "/api/v1/pulls/"+hourly.ID+"/parts/1",
		`{"rows":[{"id":"1","hour":2,"name":"n"},{"id":"2","hour":2,"name":5}]}`)[0].Field)
	require.Equal(t, http.StatusNotFound, b.stage(daily, 1001, ``).Code)
	require.Equal(t, http.StatusNotFound, b.stage(claimed{ID: "1-" + strings.Repeat("0", 36)}, 1, ``).Code)
	require.Equal(t, http.StatusNotFound, b.complete(claimed{ID: "x"}, `{"parts":1,"total":1}`).Code)
	require.Zero(t, b.count(b.store.Data, "outside_part"))
}
