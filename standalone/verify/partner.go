package verify

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"adsync/base/day"
)

// partnerFigures are the columns of the partner's figures, in its own table and in adsync's copy.
var partnerFigures = []string{"new_users", "returning_users", "pay_amount_d1", "pay_amount_d3", "pay_amount_d7",
	"pay_amount_d14", "pay_amount_d30"}

var partnerTexts = []string{"game", "os", "media", "level", "object_id"}

// partnerAccount is an account as the partner names it.
type partnerAccount struct{ media, externalID string }

// partnerRow is a row of the partner's table, or of adsync's copy.
type partnerRow struct {
	id      int64
	day     day.Day
	account string
	texts   [5]string // as partnerTexts
	figures []sql.NullInt64
}

func (r partnerRow) level() string  { return r.texts[3] }
func (r partnerRow) object() string { return r.texts[4] }

// readPartner reads the partner's rows.
func (v *verifier) readPartner(ctx context.Context) error {
	v.partner = map[partnerAccount][]partnerRow{}
	if v.Partner == nil {
		return nil
	}
	all, err := readPartnerRows(v.Partner.QueryContext(ctx, "SELECT id, day, account, "+
		strings.Join(slices.Concat(partnerTexts, partnerFigures), ", ")+" FROM partner_daily WHERE deleted = 0"))
	if err != nil {
		return fmt.Errorf("read the partner's rows: %w", err)
	}
	for _, r := range all {
		key := partnerAccount{r.texts[2], r.account}
		v.partner[key] = append(v.partner[key], r)
	}
	return nil
}

// readPartnerRows reads the outcome of a query.
func readPartnerRows(rows *sql.Rows, err error) ([]partnerRow, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []partnerRow
	for rows.Next() {
		r := partnerRow{figures: make([]sql.NullInt64, len(partnerFigures))}
		dest := []any{&r.id, &r.day, &r.account}
		for i := range r.texts {
			dest = append(dest, &r.texts[i])
		}
		for i := range r.figures {
			dest = append(dest, &r.figures[i])
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// comparePartner compares adsync's copy of the partner's rows with them, and the accounts that the copy assigns.
func (v *verifier) comparePartner(ctx context.Context) error {
	if v.Partner == nil {
		return nil
	}
	copied, err := readPartnerRows(v.Store.Data.Writer(ctx).Raw("SELECT partner_id, day, external_id, " +
		strings.Join(slices.Concat(partnerTexts, partnerFigures), ", ") + " FROM partner_daily").Rows())
	if err != nil {
		return fmt.Errorf("read partner_daily: %w", err)
	}
	have := map[int64]partnerRow{}
	for _, r := range copied {
		have[r.id] = r
	}
	c := v.table("partner_daily", 2+len(partnerTexts)+len(partnerFigures))
	for _, ofAccount := range v.partner {
		for _, want := range ofAccount {
			v.report.ExpectedRows++
			v.report.NonzeroRows++
			what := fmt.Sprintf("row %d", want.id)
			r, ok := have[want.id]
			delete(have, want.id)
			c.expect(ok, what)
			if !ok {
				continue
			}
			c.equal(what+" day", r.day.String(), want.day.String())
			c.equal(what+" external_id", r.account, want.account)
			for i, name := range partnerTexts {
				c.equal(what+" "+name, r.texts[i], want.texts[i])
			}
			for i, name := range partnerFigures {
				c.equal(what+" "+name, number(r.figures[i]), number(want.figures[i]))
			}
		}
	}
	for id := range have {
		c.extra(fmt.Sprintf("row %d", id))
	}
	c.close()
	return nil
}

// number returns a figure as text.
func number(n sql.NullInt64) string {
	if !n.Valid {
		return "NULL"
	}
	return fmt.Sprint(n.Int64)
}
