package tiktok

import (
	"context"
	"encoding/json"
	"time"

	"adsync/base/day"
	"adsync/media"
	"adsync/media/wire"
)

// probeMax is how many accounts one report may cover.
const probeMax = 5

// ProbeMax implements media.Prober.
func (Platform) ProbeMax() int { return probeMax }

// probed are the figures that show whether an account spends. A report of several accounts has money without decimals,
// so that a small spend is 0: the impressions show it.
var probed = []string{"spend", "impressions"}

// Probe implements media.Prober. The answer has no row of an account without delivery.
func (Platform) Probe(ctx context.Context, api media.API, accounts []media.Account, now time.Time) (
	map[int64]bool, error) {
	ids := make([]string, len(accounts))
	ours := map[string]int64{}
	for i, a := range accounts {
		ids[i], ours[a.ExternalID] = a.ExternalID, a.ID
	}
	today := day.Of(now, accounts[0].Zone)
	query := byAccount.query(today, today, probed, nil)
	query.Set("advertiser_ids", asJSON(ids))
	spending := map[int64]bool{}
	_, err := media.Numbered{Endpoint: reportEndpoint, Size: reportPage}.Page(ctx, api, "", query,
		func(_ *media.Page, raw json.RawMessage) {
			row := wire.Open(raw)
			figures := row.In("metrics")
			for _, name := range probed {
				value, err := wire.ParseDecimal(wire.String(figures.Fields()[name]))
				n, scaled := value.Scaled(6)
				if err == nil && scaled == nil && n > 0 {
					spending[ours[row.In("dimensions").Key(byAccount.id)]] = true
				}
			}
		})
	delete(spending, 0) // a row of another account
	return spending, err
}
