package pull

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/base/trace"
	"adsync/media"
	"adsync/media/wire"
)

// operationParams are the params of a task that pulls a log of operations.
type operationParams struct {
	// Days is how many days are pulled, the planned day included; 0 means 1.
	Days int `json:"days"`
}

func (p *puller) operationsHandler(log media.Operations) media.Handler {
	parse := func(raw json.RawMessage) (operationParams, error) {
		var params operationParams
		if err := media.CheckParams(raw, &params); err != nil {
			return params, err
		}
		if params.Days < 0 || params.Days > log.LookBack+1 {
			return params, fmt.Errorf("params.days: %d is refused: want 1 to %d, which is all that the platform keeps",
				params.Days, log.LookBack+1)
		}
		return params, nil
	}
	return media.Handler{
		Name:   p.platform.Name() + "." + media.OperationsName,
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
			return reportParts(plan, reportParams{Days: params.Days}, media.Report{MaxDays: log.MaxDays, LookBack: log.LookBack})
		},
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			return p.runOperations(ctx, work, log)
		},
	}
}

func (p *puller) runOperations(ctx context.Context, work media.Work, log media.Operations) (media.Result, error) {
	from, to, err := parseDays(work.Part)
	if err != nil {
		return media.Result{}, err
	}
	account, err := p.account(ctx, work.AccountID)
	if err != nil {
		return media.Result{}, err
	}
	scope := results.Scope{AccountID: account.ID, Media: account.Media, Report: media.OperationsName,
		Level: media.OperationsLevel, Days: day.Between(from, to)}
	ctx, claim, _, err := p.begin(ctx, scope, work)
	if err != nil {
		return media.Result{}, err
	}
	api := p.Caller.For(account)
	got, err := fetch(ctx, terms{}, func(ctx context.Context, token string) (media.Page, error) {
		page, err := log.Page(ctx, api, media.ReportQuery{From: from, To: to}, token)
		for i := range page.Rows {
			completeOperation(&page.Rows[i], account)
		}
		addFutureFaults(page.Rows, p.latest())
		return page, err
	})
	if err != nil {
		return media.Result{Calls: api.Calls()}, fmt.Errorf("fetch %s of account %s for %s: %w", media.OperationsName,
			account.ExternalID, work.Part, err)
	}
	result, err := p.writeOperations(ctx, account, *claim, got)
	return media.Result{Rows: result.Written, Calls: api.Calls()}, err
}

// completeOperation sets the day of an entry, and its id if the platform gives none. An entry without a usable time,
// level or object is lost.
func completeOperation(row *media.Row, account media.Account) {
	o := row.Operation
	lose := func(field, why string) {
		row.Lost = true
		row.Faults = append(slices.Clip(row.Faults), wire.Fault{Field: field, Kind: wire.KeyFault, Why: why})
	}
	isKey := func(text string, most int) bool {
		return len(text) <= most && !strings.ContainsFunc(text, func(c rune) bool { return c > unicode.MaxASCII })
	}
	if o == nil {
		lose("operation", "is missing")
		return
	}
	switch year := o.At.UTC().Year(); {
	case year < 1970 || year > 9999:
		lose("time", "is not a time from 1970 to 9999")
	case o.Level == "" || !isKey(o.Level, levelMax):
		lose("level", fmt.Sprintf("%.40q is not a level", o.Level))
	case !isKey(o.Object, objectMax):
		lose("object", fmt.Sprintf("%.40q… is not an id of up to %d letters and digits", o.Object, objectMax))
	}
	row.Day, row.Modified = day.Of(o.At, account.Zone), o.At
	if row.Object == "" {
		row.Object = digest(o)
	}
}

// levelMax is the greatest length of a level's name.
const levelMax = 16

// digest returns an id for an entry without one: equal entries have equal ids.
func digest(o *media.Operation) string {
	text := fmt.Sprintf("%d %q %q %q %q %q", o.At.UnixMicro(), o.By, o.Kind, o.Level, o.Object, o.Fields)
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

func (p *puller) writeOperations(ctx context.Context, account media.Account, claim results.Claim,
	got fetched) (results.ReportResult, error) {
	got.keepDays(claim.Days)
	write := results.OperationWrite{Claim: claim, Whole: got.note == "", Note: got.note,
		Unusable: gather(claim.Days, got.rows, got.lost, got.apart)}
	for _, r := range got.rows {
		o := results.Operation{Day: r.Day, ID: r.Object, At: r.Operation.At, By: fitText(r.Operation.By),
			Kind: fitText(r.Operation.Kind), Level: r.Operation.Level, Object: r.Operation.Object}
		for _, f := range r.Operation.Fields {
			o.Fields = append(o.Fields, results.FieldChange(f))
		}
		write.Operations = append(write.Operations, o)
	}
	writing, span := trace.Start(ctx, "write", "config_change")
	span.Number("adsync.rows", int64(len(write.Operations)))
	result, err := p.Store.WriteOperations(writing, write)
	span.End(err)
	if err != nil {
		return result, fenced(err)
	}
	p.metrics.rows.WithLabelValues(account.Media, claim.Report).Add(float64(result.Written))
	p.reportUnusable(account, claim.Report, claim.Level, write.Unusable)
	switch note := cmp.Or(got.note, lostNote(write.Unusable)); {
	case note != "":
		p.metrics.partial.WithLabelValues(account.Media, claim.Report).Inc()
		return result, notWhole(note)
	case len(result.Fenced) > 0 && !result.FencedComplete:
		return result, errFencedOpen
	}
	return result, nil
}
