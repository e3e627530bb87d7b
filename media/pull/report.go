package pull

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/trace"
	"adsync/media"
)

// reportParams are the params of a report task.
type reportParams struct {
	// Level is the public level: "account", "adgroup".
	Level string `json:"level"`
	// Days is how many days are pulled, the planned day included; 0 means 1.
	Days int `json:"days"`
	// Skip is how many of the newest days are left out: {"days": 30, "skip": 7} pulls the days that {"days": 7} does
	// not.
	Skip int `json:"skip"`
	// MovingHours is how many of the last hours at the planned moment are pulled, the current hour included. At the
	// beginning of a day these include the last hours of the day before. 0 means whole days. Orders that name days pull
	// whole days.
	MovingHours int `json:"moving_hours"`
}

func (p *puller) reportHandler(name string, levels []media.Report) media.Handler {
	parse := remember(func(raw json.RawMessage) (reportPlan, error) { return parseReportParams(raw, levels) })
	return media.Handler{
		Name:   p.platform.Name() + "." + name,
		Target: media.Accounts,
		Check: func(raw json.RawMessage) error {
			_, err := parse(raw)
			return err
		},
		Parts: func(plan media.Plan) ([]string, error) {
			params, err := parse(plan.Params)
			if err != nil {
				return nil, err
			}
			return reportParts(plan, params.reportParams, params.report)
		},
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			params, err := parse(work.Params)
			if err != nil {
				return media.Result{}, &media.Error{Class: media.Invalid, Message: err.Error()}
			}
			return p.runReport(ctx, work, params.report)
		},
	}
}

// reportPlan is what the params of a report task mean.
type reportPlan struct {
	reportParams
	report media.Report // that of the level
}

// rememberedMax bounds how many params a handler remembers.
const rememberedMax = 1000

// remember returns a parse that remembers what it returned: all subtasks of a task have the same params. Errors are
// not remembered.
func remember[T any](parse func(json.RawMessage) (T, error)) func(json.RawMessage) (T, error) {
	var mu sync.Mutex
	known := map[string]T{}
	return func(raw json.RawMessage) (T, error) {
		mu.Lock()
		value, ok := known[string(raw)]
		mu.Unlock()
		if ok {
			return value, nil
		}
		value, err := parse(raw)
		if err != nil {
			return value, err
		}
		mu.Lock()
		defer mu.Unlock()
		if len(known) >= rememberedMax {
			clear(known)
		}
		known[string(raw)] = value
		return value, nil
	}
}

func parseReportParams(raw json.RawMessage, levels []media.Report) (reportPlan, error) {
	var params reportParams
	if err := media.CheckParams(raw, &params); err != nil {
		return reportPlan{}, err
	}
	var known []string
	for _, r := range levels {
		if r.Level != params.Level {
			known = append(known, r.Level)
			continue
		}
		if params.Days < 0 || params.Days > r.LookBack+1 {
			return reportPlan{}, fmt.Errorf("params.days: %d is refused: want 1 to %d, which is all that the platform keeps",
				params.Days, r.LookBack+1)
		}
		if days := max(params.Days, 1); params.Skip < 0 || params.Skip >= days {
			return reportPlan{}, fmt.Errorf("params.skip: %d is refused: want 0 to %d, fewer than params.days", params.Skip,
				days-1)
		}
		return reportPlan{params, r}, params.checkHours(r)
	}
	return reportPlan{}, fmt.Errorf("params.level: %q is refused: want one of %s", params.Level,
		strings.Join(known, ", "))
}

// reportParts cuts the days of a plan into parts of up to MaxDays days, the most that one query, or one file, may span.
// The days are those of the planned moment in the account's zone, so that a late subtask still pulls the planned day.
func reportParts(plan media.Plan, params reportParams, report media.Report) ([]string, error) {
	if params.MovingHours > 0 && plan.From == "" {
		return movingParts(plan, params.MovingHours), nil
	}
	today := day.Of(plan.PlannedAt, plan.Zone)
	from, to := today.Add(1-max(params.Days, 1)), today.Add(-params.Skip)
	if plan.From != "" {
		from, to = plan.From, plan.To
		if to > today {
			return nil, fmt.Errorf("to: %s is refused: want a day up to %s, today in the account's zone", to, today)
		}
		if oldest := today.Add(-report.LookBack); from < oldest {
			return nil, fmt.Errorf("from: %s is refused: want %s or later, the platform keeps %d days", from, oldest,
				report.LookBack)
		}
		if from > to {
			return nil, fmt.Errorf("from: %s is refused: want a day up to %s", from, to)
		}
	}
	var parts []string
	for from <= to {
		last := min(lastOfPart(report, from, today), to)
		parts = append(parts, formatDays(from, last))
		from = last.Add(1)
	}
	return parts, nil
}

// lastOfPart returns the last day of a part that begins with from. No part has days that come as files and others.
func lastOfPart(report media.Report, from, today day.Day) day.Day {
	if report.Files != nil {
		if first := today.Add(-report.Files.PageDays); from < first {
			return min(from.Add(max(report.Files.MaxDays, 1)-1), first.Add(-1))
		}
	}
	return from.Add(max(report.MaxDays, 1) - 1)
}

func formatDays(from, to day.Day) string {
	if from == to {
		return from.String()
	}
	return from.String() + ".." + to.String()
}

func parseDays(part string) (from, to day.Day, err error) {
	first, last, isRange := strings.Cut(part, "..")
	if !isRange {
		last = first
	}
	from, err1 := day.Parse(first)
	to, err2 := day.Parse(last)
	if err := errors.Join(err1, err2); err != nil {
		return "", "", &media.Error{Class: media.Bug, Message: fmt.Sprintf("part %q is not a day or a range of days", part),
			Err: err}
	}
	return from, to, nil
}

func (p *puller) runReport(ctx context.Context, work media.Work, report media.Report) (media.Result, error) {
	from, to, fromHour, err := parsePart(work.Part)
	if err != nil {
		return media.Result{}, err
	}
	account, err := p.account(ctx, work.AccountID)
	if err != nil {
		return media.Result{}, err
	}
	scope := results.Scope{AccountID: account.ID, Media: account.Media, Report: report.Name, Level: report.Level,
		Days: day.Between(from, to), FromHour: fromHour}
	if p.byFile(report, account, from) {
		return p.runFiles(ctx, work, account, report, scope)
	}
	ctx, claim, _, err := p.begin(ctx, scope, work)
	if err != nil {
		return media.Result{}, err
	}
	api := &countingAPI{CountingAPI: p.Caller.For(account)}
	var got fetched
	err = p.withFields(ctx, report, media.ReportQuery{From: from, To: to, FromHour: claim.FromHour},
		func(report media.Report, query media.ReportQuery) (err error) {
			// A retry reads its account alone, whatever the cause of the failure was.
			if work.Attempt == 0 && report.AccountsMax > 1 {
				joint := p.fetchJointly(ctx, api, report, query)
				if got.rows, err = joint.rows, joint.err; err != nil || len(got.rows) > 0 {
					return err
				}
			}
			if from == to {
				got, err = fetchDay(ctx, api, report, query)
			} else {
				got, err = fetchDays(ctx, api, report, query)
			}
			return err
		})
	if _, isOver := errors.AsType[*overCapError](err); isOver || (from != to && errors.Is(err, media.ErrNoHours)) {
		rows, err := p.splitDays(ctx, api, account, report, *claim, work)
		return media.Result{Rows: rows, Calls: api.Calls()}, err
	}
	if err != nil {
		return media.Result{Calls: api.Calls()}, fmt.Errorf("fetch %s of account %s for %s: %w", report.Name,
			account.ExternalID, work.Part, err)
	}
	result, err := p.writeReport(ctx, account, report, *claim, got, work)
	if err == nil && p.Fields != nil {
		p.Fields.Try(ctx, api)
	}
	return media.Result{Rows: result.Written + result.Deleted, Calls: api.Calls()}, err
}

// withFields calls do with the report to query and with the query completed by the fields to request.
func (p *puller) withFields(ctx context.Context, report media.Report, query media.ReportQuery,
	do func(media.Report, media.ReportQuery) error) error {
	if p.Fields == nil {
		return do(report, query)
	}
	return p.Fields.Ask(ctx, report, query, do)
}

func (p *puller) writeReport(ctx context.Context, account media.Account, report media.Report, claim results.Claim,
	got fetched, work media.Work) (results.ReportResult, error) {
	if claim.FromHour > 0 && got.note != "" {
		// A few hours that are not whole must not be written into a day that coverage calls whole.
		p.metrics.partial.WithLabelValues(account.Media, report.Name).Inc()
		return results.ReportResult{}, notWhole(got.note)
	}
	got.keepDays(claim.Days)
	rows := make([]results.ReportRow, 0, len(got.rows))
	for _, r := range got.rows {
		if r.Hour < claim.FromHour {
			continue // A platform may return more than was requested.
		}
		rows = append(rows, results.ReportRow{Day: r.Day, Object: r.Object, Hour: r.Hour, Raw: r.Raw, JSON: string(r.JSON),
			Metrics: r.Metrics})
	}
	unusable := gather(claim.Days, got.rows, got.lost, got.apart)
	writing, span := trace.Start(ctx, "write", report.Table.Name)
	span.Number("adsync.rows", int64(len(rows)))
	result, err := p.Store.WriteReport(writing, results.ReportWrite{
		Claim: claim, Raw: report.Table, Hourly: report.Hourly,
		Currency: account.Currency, Zone: account.Zone.String(),
		Rows: rows, Whole: got.note == "", Note: got.note,
		Confirmed: work.Confirmed, Compare: work.Compare, DirtySummary: report.Level == settings.AccountLevel,
		Judging: p.judgeReport(account, report), Unusable: unusable,
	})
	span.End(err)
	if err != nil {
		return result, fenced(err)
	}
	p.metrics.rows.WithLabelValues(account.Media, report.Name).Add(float64(result.Written + result.Deleted))
	p.reportUnusable(account, report.Name, report.Level, unusable)
	if got.note = cmp.Or(got.note, lostNote(unusable)); got.note != "" {
		p.metrics.partial.WithLabelValues(account.Media, report.Name).Inc()
		return result, notWhole(got.note)
	}
	p.reportDoubts(account, claim.Report, claim.Level, result.Doubts)
	if len(result.Suspect) > 0 {
		return result, p.suspect(account, claim, result)
	}
	if len(result.Fenced) > 0 && !result.FencedComplete {
		return result, errFencedOpen
	}
	return result, nil
}
