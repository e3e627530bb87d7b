package verify

import (
	"context"
	"fmt"
)

// assetUse is a row of creative_asset.
type assetUse struct{ creative, kind, id string }

func (u assetUse) String() string {
	return fmt.Sprintf("creative %s %s %s", u.creative, u.kind, u.id)
}

// compareAssets compares creative_asset, what creatives show now, with the truth. For a creative that no list shows
// any longer, the table keeps what it showed when it was last seen.
func (v *verifier) compareAssets(ctx context.Context, media string, a account) error {
	rows, err := v.Store.Data.Writer(ctx).Raw(
		"SELECT creative_id, kind, asset_id, media, signature FROM creative_asset WHERE account_id = ? AND removed_at IS "+
			"NULL", a.id).Rows()
	if err != nil {
		return fmt.Errorf("read creative_asset: %w", err)
	}
	defer rows.Close()
	type values struct{ media, signature string }
	have := map[assetUse]values{}
	for rows.Next() {
		var u assetUse
		var x values
		if err := rows.Scan(&u.creative, &u.kind, &u.id, &x.media, &x.signature); err != nil {
			return fmt.Errorf("read creative_asset: %w", err)
		}
		have[u] = x
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read creative_asset: %w", err)
	}
	c := v.table("creative_asset", 2)
	unlisted := map[string]bool{}
	err = readTruth(ctx, v.Client, v.Simulator, truthQuery{media: media, kind: "creative", account: a.externalID},
		func(r truthRow) error {
			if r.Unlisted {
				unlisted[r.Object] = true
				return nil
			}
			for _, use := range r.Assets {
				v.report.ExpectedRows++
				v.report.NonzeroRows++
				u := assetUse{creative: r.Object, kind: use.Kind, id: use.ID}
				x, ok := have[u]
				delete(have, u)
				what := fmt.Sprintf("account %s %s", a.externalID, u)
				c.expect(ok, what)
				if ok {
					c.equal(what+" media", x.media, media)
					c.equal(what+" signature", x.signature, use.Signature)
				}
			}
			return nil
		})
	for u := range have {
		if !unlisted[u.creative] {
			c.extra(fmt.Sprintf("account %s %s", a.externalID, u))
		}
	}
	c.close()
	return err
}
