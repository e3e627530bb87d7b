package pull

import (
	"fmt"

	"adsync/base/metric"
	"adsync/base/money"
	"adsync/media"
)

// difference describes the first metric whose rows do not add up to the platform's own sum; "" when all do. count is
// the number of the platform's rows. Money is rounded in each of them and in the sum by up to half of the currency's
// smallest amount, and so much difference is allowed. A metric with an unusable figure in any row is left out.
func difference(rows []media.Row, count int, sums *metric.Values, currency string) string {
	var own metric.Values
	unusable := map[string]bool{}
	for i := range rows {
		own.Add(&rows[i].Metrics)
		for _, f := range rows[i].Faults {
			unusable[f.Metric] = true
		}
	}
	for i, m := range metric.All {
		want, ok := sums.Get(i)
		if !ok || unusable[m.Name] {
			continue
		}
		var rounded int64
		if m.Unit == metric.Micros {
			rounded = int64(count+1) * money.Smallest(currency) / 2
		}
		if got, _ := own.Get(i); got < want-rounded || got > want+rounded {
			return fmt.Sprintf("the rows add up to %d of %s, the platform's own sum is %d", got, m.Name, want)
		}
	}
	return ""
}
