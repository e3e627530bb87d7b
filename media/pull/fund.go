package pull

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/base/store/results"
	"adsync/base/trace"
	"adsync/media"
)

// partNow is the only part of a pull of balances.
const partNow = "now"

// flowParams are the params of a task that pulls the daily cash flow.
type flowParams struct {
	// Days is how many days are pulled, up to the last one that the platform has published; 0 means 1.
	Days int `json:"days"`
}

func (p *puller) fundHandlers(funds media.Funds) []media.Handler {
	var handlers []media.Handler
	if funds.Balance.Fetch != nil {
		handlers = append(handlers, p.balanceHandler(funds.Balance))
	}
	if funds.Daily.Page != nil {
		handlers = append(handlers, p.flowHandler(funds.Daily))
	}
	return handlers
}

func (p *puller) balanceHandler(balance media.Balance) media.Handler {
	return media.Handler{
		Name:   p.platform.Name() + "." + media.BalanceName,
		Target: media.Accounts,
		Check:  func(raw json.RawMessage) error { return media.CheckParams(raw, &struct{}{}) },
		Parts: func(plan media.Plan) ([]string, error) {
			if plan.From != "" {
				return nil, errors.New("from: a balance is always the current one: remove from and to")
			}
			return []string{partNow}, nil
		},
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			return p.runFunds(ctx, work, media.BalanceName, []day.Day{day.Epoch}, balance.Table,
				func(ctx context.Context, api media.API, _ string) (media.Page, error) {
					rows, err := balance.Fetch(ctx, api)
					return media.Page{Rows: atEpoch(rows), Total: len(rows)}, err
				})
		},
	}
}

func (p *puller) flowHandler(flow media.FundDaily) media.Handler {
	parse := func(raw json.RawMessage) (flowParams, error) {
		var params flowParams
		if err := media.CheckParams(raw, &params); err != nil {
			return params, err
		}
		if params.Days < 0 || params.Days > flow.LookBack {
			return params, fmt.Errorf("params.days: %d is refused: want 1 to %d, which is all that the platform keeps",
				params.Days,
				flow.LookBack)
		}
		return params, nil
	}
	return media.Handler{
		Name:   p.platform.Name() + "." + media.FundDailyName,
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
			return flowParts(plan, params, flow)
		},
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			from, to, err := parseDays(work.Part)
			if err != nil {
				return media.Result{}, err
			}
			query := media.ReportQuery{From: from, To: to}
			return p.runFunds(ctx, work, media.FundDailyName, day.Between(from, to), flow.Table,
				func(ctx context.Context, api media.API, token string) (media.Page, error) {
					return flow.Page(ctx, api, query, token)
				})
		},
	}
}

// flowParts cuts the days of a plan into parts of up to MaxDays days, the most that one query may span. The newest
// day is the last one that the platform had published at the planned moment, in the account's zone.
func flowParts(plan media.Plan, params flowParams, flow media.FundDaily) ([]string, error) {
	last := day.Of(plan.PlannedAt.Add(-flow.PublishedAfter), plan.Zone).Add(-1)
	from, to := last.Add(1-max(params.Days, 1)), last
	if plan.From != "" {
		from, to = plan.From, plan.To
		if to > last {
			return nil, fmt.Errorf("to: %s is refused: want a day up to %s, the last one whose cash flow is published", to, last)
		}
		if oldest := day.Of(plan.PlannedAt, plan.Zone).Add(-flow.LookBack); from < oldest {
			return nil, fmt.Errorf("from: %s is refused: want %s or later, the platform keeps %d days", from, oldest,
				flow.LookBack)
		}
		if from > to {
			return nil, fmt.Errorf("from: %s is refused: want a day up to %s", from, to)
		}
	}
	var parts []string
	span := max(flow.MaxDays, 1)
	for ; from <= to; from = from.Add(span) {
		parts = append(parts, formatDays(from, min(from.Add(span-1), to)))
	}
	return parts, nil
}

// runFunds pulls and writes an account's balances or cash flow of some days.
func (p *puller) runFunds(ctx context.Context, work media.Work, report string, days []day.Day, table rawtable.Table,
	page func(ctx context.Context, api media.API, token string) (media.Page, error),
) (media.Result, error) {
	account, err := p.account(ctx, work.AccountID)
	if err != nil {
		return media.Result{}, err
	}
	scope := results.Scope{AccountID: account.ID, Media: account.Media, Report: report, Level: media.FundLevel, Days: days}
	ctx, claim, _, err := p.begin(ctx, scope, work)
	if err != nil {
		return media.Result{}, err
	}
	api := p.Caller.For(account)
	got, err := fetch(ctx, terms{}, func(ctx context.Context, token string) (media.Page, error) {
		return page(ctx, api, token)
	})
	if err != nil {
		return media.Result{Calls: api.Calls()}, fmt.Errorf("fetch %s of account %s for %s: %w", report, account.ExternalID,
			work.Part, err)
	}
	result, err := p.writeFunds(ctx, account, *claim, table, got, work.Confirmed)
	return media.Result{Rows: result.Written + result.Deleted, Calls: api.Calls()}, err
}

func (p *puller) writeFunds(ctx context.Context, account media.Account, claim results.Claim, table rawtable.Table,
	got fetched, confirmed bool) (results.ReportResult, error) {
	write := results.FundWrite{
		Claim: claim, Raw: table, Currency: account.Currency, Zone: account.Zone.String(),
		Whole: got.note == "", Note: got.note, Confirmed: confirmed, JudgeRows: lacksAllRows, Judging: p.judgeFlow(account),
	}
	got.keepDays(claim.Days)
	byDay := map[day.Day][]fund.Row{}
	for _, r := range got.rows {
		write.Rows = append(write.Rows, results.FundRow{Day: r.Day, FundType: r.Object, Raw: r.Raw, JSON: string(r.JSON)})
		byDay[r.Day] = append(byDay[r.Day], r.Funds...)
	}
	for _, d := range claim.Days {
		for _, row := range fund.Gather(byDay[d]) {
			write.Sums = append(write.Sums, results.FundSum{Day: d, Row: row})
		}
	}
	write.Unusable = gather(claim.Days, got.rows, got.lost, got.apart)
	writing, span := trace.Start(ctx, "write", table.Name)
	span.Number("adsync.rows", int64(len(write.Rows)))
	result, err := p.Store.WriteFunds(writing, write)
	span.End(err)
	if err != nil {
		return result, fenced(err)
	}
	p.metrics.rows.WithLabelValues(account.Media, claim.Report).Add(float64(result.Written + result.Deleted))
	p.reportDoubts(account, claim.Report, claim.Level, result.Doubts)
	p.reportUnusable(account, claim.Report, claim.Level, write.Unusable)
	switch got.note = cmp.Or(got.note, lostNote(write.Unusable)); {
	case got.note != "":
		p.metrics.partial.WithLabelValues(account.Media, claim.Report).Inc()
		return result, notWhole(got.note)
	case len(result.Suspect) > 0:
		return result, p.suspect(account, claim, result)
	case len(result.Fenced) > 0 && !result.FencedComplete:
		return result, errFencedOpen
	}
	return result, nil
}
