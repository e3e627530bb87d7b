package verify

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"adsync/base/day"
	"adsync/base/metric"
)

// wideTruth gathers the parts of an account's rows of wide_daily while its other tables are compared.
type wideTruth struct {
	objects map[object]truthRow
	unseen  map[object]bool // those that no list has any longer and that adsync never saw: only their ids are known
	figures map[wideKey]truthRow
	left    map[levelDay]bool // days left out of the reports are left out here
}

func newWideTruth() *wideTruth {
	return &wideTruth{objects: map[object]truthRow{}, unseen: map[object]bool{}, figures: map[wideKey]truthRow{},
		left: map[levelDay]bool{}}
}

type levelDay struct {
	level string
	day   day.Day
}

type object struct{ level, id string }

// wideKey names a row of wide_daily within an account.
type wideKey struct {
	day           day.Day
	level, object string
}

func (k wideKey) String() string { return fmt.Sprintf("%s %s %q", k.day, k.level, k.object) }

// wideTexts are the columns of wide_daily that hold texts.
var wideTexts = []string{
	"media", "external_id", "account_name", "campaign_id", "campaign_name", "adgroup_id", "adgroup_name", "creative_id",
	"creative_name", "game", "os", "currency", "day_zone",
}

type wideRow struct {
	texts   []sql.NullString
	metrics [metric.N]sql.NullInt64
	partner []sql.NullInt64
}

// compareWide compares an account's rows of wide_daily with the truth of its reports and objects, and with the
// partner's rows.
func (v *verifier) compareWide(ctx context.Context, w world, a account, sums *summaries) error {
	have, err := v.wideRowsOf(ctx, a.id)
	if err != nil {
		return fmt.Errorf("read wide_daily: %w", err)
	}
	v.wideRows += len(have)
	partner := v.wide.partnerSums(w, v.partner[partnerAccount{w.media, a.externalID}])
	keys := map[wideKey]bool{}
	for k := range v.wide.figures {
		keys[k] = true
	}
	for k := range partner {
		keys[k] = true
	}
	for k := range have {
		if v.wide.left[levelDay{k.level, k.day}] {
			delete(have, k)
		}
	}
	c := v.table("wide_daily", len(wideTexts)+metric.N+len(partnerFigures))
	for k := range keys {
		if v.wide.left[levelDay{k.level, k.day}] {
			continue
		}
		truth, told := v.wide.figures[k]
		v.expected(1, truth)
		row, ok := have[k]
		delete(have, k)
		what := "account " + a.externalID + " " + k.String()
		c.expect(ok, what)
		if !ok {
			continue
		}
		game, os := sums.gameOf(a.id, k.day)
		want := map[string]string{"media": w.media, "external_id": a.externalID, "account_name": a.name, "game": game,
			"os": os, "currency": a.Currency, "day_zone": a.Timezone}
		v.wide.name(w, k, want)
		for i, name := range wideTexts {
			c.equal(what+" "+name, texts(row.texts)[i], orNULL(want[name]))
		}
		public := w.public
		if !told {
			public = nil // every figure is NULL
		}
		compareMetrics(c, what, public, row.metrics, truth.Metrics)
		figures := partner[k]
		for i, name := range partnerFigures {
			figure := sql.NullInt64{}
			if figures != nil {
				figure = figures[i]
			}
			c.equal(what+" partner_"+name, number(row.partner[i]), number(figure))
		}
	}
	for k := range have {
		c.extra("account " + a.externalID + " " + k.String())
	}
	c.close()
	return nil
}

func orNULL(text string) string {
	if text == "" {
		return "NULL"
	}
	return text
}

// readWideDays reads the days of wide_daily: without them, an account's rows would be searched in the whole table.
func (v *verifier) readWideDays(ctx context.Context) error {
	if v.Shallow {
		return nil
	}
	err := v.Store.Data.Writer(ctx).Raw("SELECT DISTINCT day FROM wide_daily").Scan(&v.wideDays).Error
	if err != nil {
		return fmt.Errorf("read the days of wide_daily: %w", err)
	}
	return nil
}

// wideRowsOf reads an account's rows of the days that readWideDays has found.
func (v *verifier) wideRowsOf(ctx context.Context, accountID int64) (map[wideKey]wideRow, error) {
	columns := strings.Join(wideTexts, ", ") + ", " + strings.Join(metric.Names(), ", ") + ", partner_" +
		strings.Join(partnerFigures, ", partner_")
	rows, err := v.Store.Data.Writer(ctx).Raw("SELECT day, level, object_id, "+columns+
		" FROM wide_daily WHERE day IN ? AND account_id = ?", v.wideDays, accountID).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[wideKey]wideRow{}
	for rows.Next() {
		var k wideKey
		r := wideRow{texts: make([]sql.NullString, len(wideTexts)), partner: make([]sql.NullInt64, len(partnerFigures))}
		dest := []any{&k.day, &k.level, &k.object}
		for i := range r.texts {
			dest = append(dest, &r.texts[i])
		}
		for i := range r.metrics {
			dest = append(dest, &r.metrics[i])
		}
		for i := range r.partner {
			dest = append(dest, &r.partner[i])
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		all[k] = r
	}
	return all, rows.Err()
}

// chain returns an object and its ancestors, the lowest first.
func (t *wideTruth) chain(w world, level, id string) []object {
	var all []object
	for level != "" && level != "account" && id != "" {
		all = append(all, object{level, id})
		if t.unseen[object{level, id}] {
			break
		}
		above := ""
		for _, o := range w.objects {
			if o.level == level {
				above = o.above
			}
		}
		level, id = above, t.objects[object{level, id}].Parent
	}
	return all
}

// name sets the ids and names that a row must have.
func (t *wideTruth) name(w world, k wideKey, want map[string]string) {
	for _, o := range t.chain(w, k.level, k.object) {
		want[o.level+"_id"] = o.id
		if !nameless(w, o.level) && !t.unseen[o] {
			want[o.level+"_name"] = t.objects[o].Name
		}
	}
}

func nameless(w world, level string) bool {
	for _, o := range w.objects {
		if o.level == level {
			return o.nameless
		}
	}
	return false
}

// partnerSums adds up the partner's rows of an account: each counts for its object, for those above, and for the
// account.
func (t *wideTruth) partnerSums(w world, rows []partnerRow) map[wideKey][]sql.NullInt64 {
	sums := map[wideKey][]sql.NullInt64{}
	for _, r := range rows {
		for _, o := range append(t.chain(w, r.level(), r.object()), object{level: "account"}) {
			k := wideKey{r.day, o.level, o.id}
			if sums[k] == nil {
				sums[k] = make([]sql.NullInt64, len(partnerFigures))
			}
			for i, f := range r.figures {
				if f.Valid {
					sums[k][i] = sql.NullInt64{Int64: sums[k][i].Int64 + f.Int64, Valid: true}
				}
			}
		}
	}
	return sums
}

// compareWideOrphans finds rows of accounts that are not in media_account.
func (v *verifier) compareWideOrphans(ctx context.Context) error {
	if v.Shallow {
		return nil
	}
	var n int
	if err := v.Store.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM wide_daily").Row().Scan(&n); err != nil {
		return fmt.Errorf("read wide_daily: %w", err)
	}
	c := v.table("wide_daily", v.report.Tables["wide_daily"].Columns)
	for range n - v.wideRows {
		c.extra("a row of an account that is not known")
	}
	c.close()
	return nil
}
