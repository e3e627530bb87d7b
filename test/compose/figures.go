package compose

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/simulator"
)

// Platforms are those that the simulator serves.
var Platforms = slices.Sorted(maps.Keys(simulator.Platforms()))

// Figure is one figure from each source: the board's query, run by Prometheus; the first page; the public tables, by
// SQL; and the platforms. Amounts are in millionths of the currency. A source without the figure has no value.
type Figure struct {
	Name                           string
	Board, Page, Tables, Platforms *int64
	Money                          bool
}

// Agrees reports whether all sources that have the figure have the same value.
func (f Figure) Agrees() bool {
	var told []int64
	for _, v := range []*int64{f.Board, f.Page, f.Tables, f.Platforms} {
		if v != nil {
			told = append(told, *v)
		}
	}
	return len(slices.Compact(told)) == 1
}

// spendKey is whose spend it is.
type spendKey struct{ media, currency, game string }

// spent is today's spend, the spend in its whole hours, and in the same hours of yesterday.
type spent struct{ today, hours, before int64 }

func (s *spent) add(micros int64, of day.Day, hour int, today day.Day, present int) {
	switch {
	case of == today:
		s.today += micros
		if hour < present {
			s.hours += micros
		}
	case of == today.Add(-1) && hour < present:
		s.before += micros
	}
}

// account is an account of the deployment.
type account struct {
	id              int64
	media, external string
	currency, game  string
	today           day.Day
	hour            int
	parked          string
}

// Figures compares the present figures of the boards, the first page, the tables and the platforms. They agree only
// while the platforms' clock is stopped.
func (d *Deployment) Figures(ctx context.Context) ([]Figure, error) {
	accounts, err := d.accounts(ctx)
	if err != nil {
		return nil, err
	}
	tables, err := d.spentInTables(ctx, accounts)
	if err != nil {
		return nil, err
	}
	platforms, err := d.spentOnPlatforms(ctx, accounts)
	if err != nil {
		return nil, err
	}
	page, err := d.spentOnPage(ctx)
	if err != nil {
		return nil, err
	}
	overview, err := d.panels("overview")
	if err != nil {
		return nil, err
	}
	business, err := d.panels("business")
	if err != nil {
		return nil, err
	}
	all := &comparison{d: d, overview: overview, business: business}
	for _, key := range keysOf(platforms, tables) {
		if err := all.spend(ctx, key, page[key], tables[key], platforms[key]); err != nil {
			return nil, err
		}
	}
	for _, media := range Platforms {
		if err := all.standing(ctx, media, accounts); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all.figures, func(a, b Figure) int { return cmp.Compare(a.Name, b.Name) })
	return all.figures, nil
}

// comparison gathers figures, and asks the boards for theirs: overview and business are the queries of the two
// boards' panels, by title.
type comparison struct {
	d                  *Deployment
	overview, business map[string]string
	figures            []Figure
}

// add reads a figure from Prometheus by its board's query.
func (c *comparison) add(ctx context.Context, f Figure, expr string, of spendKey) error {
	if expr == "" {
		return fmt.Errorf("no board has a panel for %s", f.Name)
	}
	values := map[string]string{"media": of.media, "currency": of.currency}
	if of.game != "" {
		values["game"] = of.game
	}
	samples, err := c.d.Query(ctx, Fill(expr, values))
	if err != nil {
		return err
	}
	scale := 1.0
	if f.Money {
		scale = 1e6
	}
	sum := int64(0)
	for _, s := range samples {
		sum += int64(math.Round(s.Number() * scale))
	}
	f.Board = &sum
	c.figures = append(c.figures, f)
	return nil
}

// spend adds the figures of what was spent: of a game its spend today, of all games also what the page shows and
// whole hours.
func (c *comparison) spend(ctx context.Context, key spendKey, shown int64, t, p spent) error {
	name := key.media + " " + key.currency
	if key.game != "" {
		today := Figure{Name: name + " " + key.game + ": spend today", Tables: &t.today, Platforms: &p.today, Money: true}
		return c.add(ctx, today, c.business["Spend by game and media, $currency"], key)
	}
	today := Figure{Name: name + ": spend today", Page: &shown, Tables: &t.today, Platforms: &p.today, Money: true}
	hours := Figure{Name: name + ": whole hours of today", Tables: &t.hours, Platforms: &p.hours, Money: true}
	before := Figure{Name: name + ": the same hours of yesterday", Tables: &t.before, Platforms: &p.before, Money: true}
	if err := c.add(ctx, today, c.overview["Spend today, $currency"], key); err != nil {
		return err
	}
	if err := c.add(ctx, hours, c.business["Whole hours of today, $currency"], key); err != nil {
		return err
	}
	return c.add(ctx, before, c.business["The same hours of yesterday, $currency"], key)
}

// standing adds figures that are not spend: balances and counts.
func (c *comparison) standing(ctx context.Context, media string, accounts []account) error {
	byExternal := map[string]account{}
	for _, a := range accounts {
		if a.media == media {
			byExternal[a.external] = a
		}
	}
	if err := c.balances(ctx, media, byExternal); err != nil {
		return err
	}
	parked := int64(0)
	for _, a := range byExternal {
		if a.parked != "" {
			parked++
		}
	}
	var states struct {
		Accounts []struct{ Media, Account, State string }
	}
	if err := c.d.Ask(ctx, http.MethodGet, c.d.World+"/_sim/accounts", nil, &states); err != nil {
		return err
	}
	closed := int64(0)
	for _, s := range states.Accounts {
		if s.Media == media && s.State != "open" {
			closed++
		}
	}
	if err := c.add(ctx, Figure{Name: media + ": accounts parked", Tables: &parked, Platforms: &closed},
		c.overview["Accounts parked"], spendKey{media: media}); err != nil {
		return err
	}
	var waiting, suspect int64
	if err := c.d.Config.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM media_token t WHERE media = ? AND state = 'reauthorise'"+
			" AND EXISTS (SELECT 1 FROM media_account a WHERE a.token_id = t.id AND a.bound = 1)",
		media).Scan(&waiting); err != nil {
		return err
	}
	if err := c.add(ctx, Figure{Name: media + ": logins that wait for a person", Tables: &waiting},
		c.overview["Logins that wait for a person"], spendKey{media: media}); err != nil {
		return err
	}
	err := c.d.Data.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM coverage WHERE media = ? AND level = 'account' AND report = 'report_daily' AND state IN "+
			"('suspect', 'partial')", media).Scan(&suspect)
	if err != nil {
		return err
	}
	return c.add(ctx, Figure{Name: media + ": days not to be trusted", Tables: &suspect},
		c.business["Days not to be trusted, and figures that do not add up"], spendKey{media: media})
}

// balances adds the sums of a platform's balances by currency.
func (c *comparison) balances(ctx context.Context, media string, accounts map[string]account) error {
	theirs := map[string]int64{}
	// Some platforms do not report the spendable part of a balance.
	var told bool
	if err := c.d.Data.QueryRowContext(ctx, "SELECT COUNT(valid_balance) > 0 FROM account_balance WHERE media = ?",
		media).Scan(&told); err != nil {
		return err
	}
	err := c.d.truth(ctx, url.Values{"media": {media}, "kind": {"balance"}}, func(row truthRow) {
		can := row.ValidBalance
		if !told {
			can = row.Balance
		}
		theirs[accounts[row.Account].currency] += can
	})
	if err != nil {
		return err
	}
	ours := map[string]int64{}
	rows, err := c.d.Data.QueryContext(ctx,
		"SELECT currency, CAST(SUM(COALESCE(valid_balance, balance)) AS SIGNED) FROM account_balance WHERE media = ? AND "+
			"fund = 'total' GROUP BY currency", media)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var currency string
		var sum int64
		if err := rows.Scan(&currency, &sum); err != nil {
			return err
		}
		ours[currency] = sum
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for currency, sum := range theirs {
		if err := c.add(ctx, Figure{Name: media + " " + currency + ": balances", Tables: new(ours[currency]), Platforms: &sum,
			Money: true},
			c.business["Balances, $currency"], spendKey{media: media, currency: currency}); err != nil {
			return err
		}
	}
	return nil
}

func keysOf(all ...map[spendKey]spent) []spendKey {
	seen := map[spendKey]bool{}
	var keys []spendKey
	for _, of := range all {
		for k := range of {
			if !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// noGame is the game of an account without one, in the summaries.
const noGame = "unassigned"

func (d *Deployment) accounts(ctx context.Context) ([]account, error) {
	// Of several bindings that hold on a day the one that begins last counts; days are the accounts' own.
	rows, err := d.Config.QueryContext(ctx,
		"SELECT id, media, external_id, currency, timezone, parked FROM media_account WHERE bound = 1")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []account
	now := time.Now()
	for rows.Next() {
		var a account
		var timezone string
		if err := rows.Scan(&a.id, &a.media, &a.external, &a.currency, &timezone, &a.parked); err != nil {
			return nil, err
		}
		zone, err := schedule.Zone(timezone)
		if err != nil {
			return nil, err
		}
		a.today, a.hour = day.Of(now, zone), now.In(zone).Hour()
		all = append(all, a)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for i := range all {
		a := &all[i]
		err := d.Config.QueryRowContext(ctx,
			"SELECT game FROM account_binding WHERE account_id = ? AND from_day <= ? AND to_day >= ? ORDER BY from_day DESC "+
				"LIMIT 1",
			a.id, a.today.String(), a.today.String()).Scan(&a.game)
		if errors.Is(err, sql.ErrNoRows) {
			a.game = noGame
		} else if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func addSpent(into map[spendKey]spent, a account, micros int64, of day.Day, hour int) {
	for _, key := range []spendKey{{a.media, a.currency, ""}, {a.media, a.currency, a.game}} {
		s := into[key]
		s.add(micros, of, hour, a.today, a.hour)
		into[key] = s
	}
}

// spentInTables adds up the public table of hours, which the summaries are made of.
func (d *Deployment) spentInTables(ctx context.Context, accounts []account) (map[spendKey]spent, error) {
	byID := map[int64]account{}
	first := day.Of(time.Now(), time.UTC).Add(-2)
	for _, a := range accounts {
		byID[a.id] = a
	}
	rows, err := d.Data.QueryContext(ctx,
		"SELECT account_id, CAST(day AS CHAR), hour, COALESCE(cost, 0) FROM report_hourly WHERE level = 'account' AND day "+
			">= ?", first.String())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[spendKey]spent{}
	for rows.Next() {
		var id, micros int64
		var of string
		var hour int
		if err := rows.Scan(&id, &of, &hour, &micros); err != nil {
			return nil, err
		}
		if a, ok := byID[id]; ok {
			addSpent(all, a, micros, day.Day(of), hour)
		}
	}
	return all, rows.Err()
}

// truthRow is a row of the simulator's truth.
type truthRow struct {
	Account      string
	Day          day.Day
	Hour         int
	Metrics      map[string]int64
	Balance      int64
	ValidBalance int64 `json:"valid_balance"`
	Count        *int
}

func (d *Deployment) truth(ctx context.Context, query url.Values, each func(truthRow)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.World+"/_sim/truth?"+query.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := d.httpClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for lines := json.NewDecoder(bufio.NewReader(resp.Body)); ; {
		var row truthRow
		if err := lines.Decode(&row); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read the truth of %s: %w", query.Get("media"), err)
		}
		if row.Count != nil {
			return nil
		}
		each(row)
	}
}

// spentOnPlatforms reads the spend from the platforms' own ledger.
func (d *Deployment) spentOnPlatforms(ctx context.Context, accounts []account) (map[spendKey]spent, error) {
	all := map[spendKey]spent{}
	utc := day.Of(time.Now(), time.UTC)
	for _, media := range Platforms {
		of := map[string]account{}
		for _, a := range accounts {
			if a.media == media {
				of[a.external] = a
			}
		}
		query := url.Values{"media": {media}, "kind": {"report_hourly"}, "level": {"account"}, "from": {utc.Add(-2).String()},
			"to": {utc.Add(1).String()}}
		err := d.truth(ctx, query, func(row truthRow) {
			if a, ok := of[row.Account]; ok {
				addSpent(all, a, row.Metrics["cost"], row.Day, row.Hour)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// spentOnPage returns today's spend on the first page.
func (d *Deployment) spentOnPage(ctx context.Context) (map[spendKey]int64, error) {
	overview, err := d.API().GetOverview(ctx)
	if err != nil {
		return nil, err
	}
	all := map[spendKey]int64{}
	for i := range overview.Media {
		m := &overview.Media[i]
		for _, s := range m.Spend {
			all[spendKey{media: m.Name, currency: s.Currency}] += s.Ours
		}
	}
	return all, nil
}

// Text is the figures in columns, those that differ marked.
func Text(figures []Figure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-44s %16s %16s %16s %16s\n", "FIGURE", "BOARD", "FIRST PAGE", "TABLES", "PLATFORMS")
	for _, f := range figures {
		mark := ""
		if !f.Agrees() {
			mark = "  DIFFERS"
		}
		fmt.Fprintf(&b, "%-44s %16s %16s %16s %16s%s\n", f.Name, f.text(f.Board), f.text(f.Page), f.text(f.Tables),
			f.text(f.Platforms), mark)
	}
	return b.String()
}

func (f Figure) text(value *int64) string {
	switch {
	case value == nil:
		return "-"
	case f.Money:
		return fmt.Sprintf("%.2f", float64(*value)/1e6)
	default:
		return fmt.Sprint(*value)
	}
}
