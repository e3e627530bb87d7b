package outside

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/plural"
	"adsync/base/store/results"
	"adsync/client"
	"adsync/media"
	"adsync/media/pull"
)

// Complete writes a pull's staged rows, judged as those of our own pulls. Each step may be repeated: the write changes
// nothing that it has written before, and the answer is stored before the staged rows are deleted.
func (p *Pulls) Complete(c *gin.Context, request *client.CompletePullRequest) (any, error) {
	ctx := c.Request.Context()
	of, err := p.open(ctx, c.Param("id"))
	if err != nil {
		return nil, err
	}
	if of.Answer != "" {
		return json.RawMessage(of.Answer), nil
	}
	answer, err := p.end(ctx, &of, request)
	if err != nil {
		// The same request may have ended the pull meanwhile: its parts are gone, and a newer pull may follow.
		if again, fail := p.open(ctx, of.ID); fail == nil && again.Answer != "" {
			return json.RawMessage(again.Answer), nil
		}
	}
	return answer, err
}

// end is Complete of a pull that had not ended.
func (p *Pulls) end(ctx context.Context, of *results.OutsidePull, request *client.CompletePullRequest) (any, error) {
	account, err := p.accountOf(ctx, of)
	if err != nil {
		return nil, err
	}
	report, form, err := p.form(of)
	if err != nil {
		return nil, err
	}
	parts, err := p.store.OutsideParts(ctx, of.AccountID, of.ID)
	if err != nil {
		return nil, err
	}
	if err := checkParts(parts, int(request.Parts)); err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	for _, part := range parts {
		var some []json.RawMessage
		if err := json.Unmarshal([]byte(part.Rows), &some); err != nil {
			return nil, fmt.Errorf("read part %d of the pull %s: %w", part.Part, of.ID, err)
		}
		raw = append(raw, some...)
	}
	if len(raw) > rowsMax {
		return nil, httpapi.NewProblem(http.StatusConflict, "The pull has %d rows, and a pull may have %d.", len(raw),
			rowsMax)
	}
	rows, lost, err := readRows(form, raw)
	if err != nil {
		return nil, err
	}
	got := pull.OutsideRows{Rows: rows, Lost: lost}
	if got.Note = differs(&got, int(request.Total)); got.Note != "" && !request.Partial {
		return nil, httpapi.NewProblem(http.StatusConflict,
			"The rows are not whole: %s. Stage what is missing, or begin another pull, or write them with partial.", got.Note)
	}
	return p.write(ctx, of, account, report, got)
}

// write writes the rows, and stores and returns the answer.
func (p *Pulls) write(ctx context.Context, of *results.OutsidePull, account media.Account, report media.Report,
	got pull.OutsideRows) (any, error) {
	state, note, err := p.writer.Write(ctx, account, report, of.Claim(), got)
	if _, fenced := results.IsFenced(err); fenced {
		p.ended.WithLabelValues(of.Media, of.Report, "fenced").Inc()
		return nil, p.fenced(ctx, of)
	}
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(listsOf(p.platforms, of.Media), func(l media.List) bool { return l.Level == of.Level }) {
		if err := p.store.WriteNames(ctx, of.Media, of.AccountID, of.Level, namesIn(got.Rows)); err != nil {
			return nil, err
		}
	}
	answer, err := json.Marshal(client.EndedPull{ID: of.ID, Version: of.Version, State: string(state),
		Rows: int64(len(got.Rows)), Note: note})
	if err != nil {
		return nil, err
	}
	stored, err := p.store.EndOutsidePull(ctx, of.AccountID, of.ID, string(answer))
	if err != nil {
		return nil, err
	}
	p.ended.WithLabelValues(of.Media, of.Report, string(state)).Inc()
	return json.RawMessage(stored), nil
}

// fenced returns the problem of a pull whose day a newer pull has written.
func (p *Pulls) fenced(ctx context.Context, of *results.OutsidePull) error {
	newer, err := p.store.ClaimedVersion(ctx, of.Claim().Scope)
	if err != nil {
		return err
	}
	return httpapi.NewProblem(http.StatusConflict,
		"A newer pull has written the day, with the version %d; this one has %d. Nothing was written: drop these rows.",
		newer, of.Version)
}

// listsOf returns the lists of configuration of a platform.
func listsOf(platforms []media.Platform, name string) []media.List {
	for _, p := range platforms {
		if p.Name() == name {
			return p.Lists()
		}
	}
	return nil
}

// namesIn returns the names of the objects of rows that have one.
func namesIn(rows []media.Row) map[string]string {
	names := map[string]string{}
	for i := range rows {
		if r := &rows[i]; r.Name != "" && r.Object != "" {
			names[r.Object] = r.Name
		}
	}
	return names
}

// checkParts refuses staged parts that are not 1 to n.
func checkParts(parts []results.OutsidePart, n int) error {
	staged := map[int]bool{}
	var beyond, missing []string
	for _, p := range parts {
		staged[p.Part] = true
		if p.Part > n {
			beyond = append(beyond, strconv.Itoa(p.Part))
		}
	}
	for part := 1; part <= n; part++ {
		if !staged[part] {
			missing = append(missing, strconv.Itoa(part))
		}
	}
	var wrong []string
	if len(missing) > 0 {
		wrong = append(wrong, "missing: "+shortened(missing))
	}
	if len(beyond) > 0 {
		wrong = append(wrong, "more than the parts that were announced: "+shortened(beyond))
	}
	if len(wrong) == 0 {
		return nil
	}
	return httpapi.NewProblem(http.StatusConflict, "The staged parts are not 1 to %d (%s).", n, strings.Join(wrong, "; "))
}

// shortened lists up to 20 numbers.
func shortened(numbers []string) string {
	const most = 20
	if more := len(numbers) - most; more > 0 {
		return strings.Join(numbers[:most], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(numbers, ", ")
}

// differs returns why the rows of a pull are not total distinct ones; "" if they are. Of a row that came twice the last
// one stays.
func differs(got *pull.OutsideRows, total int) (note string) {
	type key struct {
		object string
		hour   int
	}
	at := make(map[key]int, len(got.Rows))
	distinct := got.Rows[:0]
	for _, row := range got.Rows {
		k := key{row.Object, row.Hour}
		if i, known := at[k]; known {
			note = fmt.Sprintf("row %q of hour %d came twice", row.Object, row.Hour)
			distinct[i] = row
			continue
		}
		at[k] = len(distinct)
		distinct = append(distinct, row)
	}
	got.Rows = distinct
	if came := len(got.Rows) + len(got.Lost); note == "" && came != total {
		note = fmt.Sprintf("%s came of a total of %d", plural.Count(came, "row", "rows"), total)
	}
	return note
}
