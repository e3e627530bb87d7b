package pull

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/store/results"
	"adsync/base/trace"
	"adsync/media"
)

// listParams are the params of a configuration task.
type listParams struct {
	// Mode is "changes" (what was modified since the last pull) or "full". Lists with NoSince are always pulled in full.
	Mode string `json:"mode"`
}

const (
	modeChanges = "changes"
	modeFull    = "full"
)

func parseListParams(raw json.RawMessage, list media.List) (listParams, error) {
	params := listParams{Mode: modeFull}
	if err := media.CheckParams(raw, &params); err != nil {
		return params, err
	}
	if params.Mode != modeChanges && params.Mode != modeFull {
		return params, fmt.Errorf("params.mode: %q is refused: want %s or %s", params.Mode, modeChanges, modeFull)
	}
	if params.Mode == modeChanges && list.NoSince {
		return params, fmt.Errorf("params.mode: %q is refused: the platform cannot list changes of the level %s: want %s",
			params.Mode, list.Name, modeFull)
	}
	return params, nil
}

func (p *puller) listHandler(list media.List) media.Handler {
	return media.Handler{
		Name:   p.platform.Name() + "." + list.Name,
		Target: media.Accounts,
		Check: func(raw json.RawMessage) error {
			_, err := parseListParams(raw, list)
			return err
		},
		Parts: func(plan media.Plan) ([]string, error) {
			if plan.From != "" {
				return nil, errors.New("from: a pull of configuration has no days: remove from and to")
			}
			params, err := parseListParams(plan.Params, list)
			return []string{params.Mode}, err
		},
		Run: func(ctx context.Context, work media.Work) (media.Result, error) { return p.runList(ctx, work, list) },
	}
}

func (p *puller) runList(ctx context.Context, work media.Work, list media.List) (media.Result, error) {
	account, err := p.account(ctx, work.AccountID)
	if err != nil {
		return media.Result{}, err
	}
	scope := results.Scope{AccountID: account.ID, Media: account.Media, Report: list.Name, Level: list.Level,
		Days: []day.Day{day.Epoch}}
	ctx, claim, highWater, err := p.begin(ctx, scope, work)
	if err != nil {
		return media.Result{}, err
	}
	var since time.Time
	if work.Part == modeChanges && !list.NoSince && highWater > 0 && highWater <= p.latest().Unix() {
		since = time.Unix(highWater, 0).Add(-windowOverlap)
		if list.SinceZone != nil {
			since = day.Of(since, list.SinceZone).Start(list.SinceZone)
		}
	}
	api := p.Caller.For(account)
	write := results.ObjectWrite{Raw: list.Table, JudgeRows: lacksAllObjects, Confirmed: work.Confirmed,
		Unlogged: list.Unlogged, MapsAssets: list.MapsAssets}
	write.AssetTables, write.MappedBy = p.assetsOf(list)
	variants := list.Variants
	if len(variants) == 0 {
		variants = []string{""}
	}
	var all fetched
	for _, variant := range variants {
		query := media.ListQuery{Variant: variant, Since: since, Until: clock.Later(p.Clock.Now(), since.Add(windowOverlap))}
		got, err := fetch(ctx, terms{}, func(ctx context.Context, token string) (media.Page, error) {
			page, err := list.Page(ctx, api, query, token)
			addFutureFaults(page.Rows, p.latest()) // latest is read after the call, which may have waited for its limits.
			return page, err
		})
		if err != nil {
			return media.Result{Calls: api.Calls()}, fmt.Errorf("fetch %s of account %s: %w", list.Name, account.ExternalID, err)
		}
		all.rows, all.lost, all.apart = append(all.rows, got.rows...), append(all.lost, got.lost...),
			append(all.apart, got.apart...)
		if got.note != "" {
			write.Note = got.note
		}
	}
	write.Rows, write.Unusable = objectRows(all.rows), gather(scope.Days, atEpoch(all.rows), atEpoch(all.lost), all.apart)
	if twice := duplicate(write.Rows); twice != "" && write.Note == "" {
		write.Note = "object " + twice + " moved between the lists during the pull"
	}
	write.Note = cmp.Or(write.Note, lostNote(write.Unusable))
	write.Claim, write.Latest = *claim, p.latest()
	write.Partial = write.Note != ""
	write.Full = since.IsZero() && !write.Partial
	writing, span := trace.Start(ctx, "write", list.Table.Name)
	span.Number("adsync.rows", int64(len(write.Rows)))
	n, err := p.Store.WriteObjects(writing, write)
	span.End(err)
	if suspect, ok := errors.AsType[*results.SuspectError](err); ok {
		p.metrics.suspect.WithLabelValues(account.Media, list.Name).Inc()
		return media.Result{Calls: api.Calls()}, notWhole(suspect.Error())
	}
	if err != nil {
		return media.Result{Calls: api.Calls()}, fenced(err)
	}
	p.metrics.rows.WithLabelValues(account.Media, list.Name).Add(float64(n))
	p.reportUnusable(account, list.Name, list.Level, write.Unusable)
	result := media.Result{Rows: n, Calls: api.Calls()}
	if write.Partial {
		p.metrics.partial.WithLabelValues(account.Media, list.Name).Inc()
		return result, notWhole(write.Note)
	}
	return result, nil
}

// latest is the latest time of a modification that is plausible now: a platform's clock may be ahead of ours. A later
// modification does not move the high-water mark, and a later mark is ignored: pulls would miss all changes until
// then.
func (p *puller) latest() time.Time { return p.Clock.Now().Add(windowOverlap) }

// assetsOf returns the raw tables of the assets that a list refers to, by kind: for a list of creatives all of them,
// for a list of assets its own. For a list of assets mappedBy is the list of the creatives that show them.
func (p *puller) assetsOf(list media.List) (tables map[string]string, mappedBy string) {
	isAsset := func(l media.List) bool { return l.Level == rawtable.AssetImage || l.Level == rawtable.AssetVideo }
	tables = map[string]string{}
	for _, l := range p.platform.Lists() {
		switch {
		case isAsset(l) && (list.MapsAssets || l.Name == list.Name):
			tables[l.Level] = l.Table.Name
		case l.MapsAssets && isAsset(list):
			mappedBy = l.Name
		}
	}
	return tables, mappedBy
}

// atEpoch sets the day of a list's rows to day.Epoch, the day of all lists.
func atEpoch(rows []media.Row) []media.Row {
	for i := range rows {
		rows[i].Day = day.Epoch
	}
	return rows
}

func objectRows(rows []media.Row) []results.ObjectRow {
	out := make([]results.ObjectRow, len(rows))
	for i, r := range rows {
		out[i] = results.ObjectRow{
			Object: r.Object, Name: r.Name, Modified: r.Modified, Deleted: r.Deleted, Raw: r.Raw, JSON: string(r.JSON),
			Assets: r.Assets, MoreAssets: r.MoreAssets,
		}
	}
	return out
}

// duplicate returns an object that is in the rows twice, or "".
func duplicate(rows []results.ObjectRow) string {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.Object
	}
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			return ids[i]
		}
	}
	return ""
}
