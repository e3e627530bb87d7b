package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/client"
)

// differenceItems lists the figures that are not the sums of their levels.
type differenceItems struct {
	*facts

	store  accountNames
	glance interface {
		Confirmed(limit int) ([]results.Difference, error)
	}
}

// addDifferences groups the accounts' figures that are not the sums of their levels by platform and level.
func (l *differenceItems) addDifferences(ctx context.Context) error {
	rows, err := l.glance.Confirmed(groupRowsMax)
	if err != nil || len(rows) == 0 {
		return err
	}
	type key struct{ media, level string }
	groups := map[key][]results.Difference{}
	var ids []int64
	for i := range rows {
		k := key{rows[i].Media, rows[i].Level}
		groups[k] = append(groups[k], rows[i])
		ids = append(ids, rows[i].AccountID)
	}
	accounts, err := l.store.AccountsByID(ctx, unique(ids))
	if err != nil {
		return err
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.media, b.media), cmp.Compare(a.level, b.level))
	})
	for _, k := range keys {
		a := item{Attention: client.Attention{Kind: "difference", Severity: Warn, Media: k.media,
			Title: "Accounts' figures are not the sums of their " + k.level + "s", MoneyOf: "difference in cost",
			AtLeast: len(rows) == groupRowsMax,
			Remedy: "Both levels were pulled again and still differ. Compare them with the platform's console, then pull the " +
				"days again.",
			Command: "adsync reconcile --media " + k.media}}
		apart, metrics, days := map[string]int64{}, map[string]bool{}, map[day.Day]bool{}
		for i := range groups[k] {
			d := &groups[k][i]
			a.ids = append(a.ids, d.AccountID)
			metrics[d.Metric], days[d.Day] = true, true
			if d.Metric == "cost" {
				apart[accounts[d.AccountID].Currency] += max(d.AccountValue-d.SumValue, d.SumValue-d.AccountValue)
			}
			if since := d.FirstSeenAt.Time; a.Since.IsZero() || since.Before(a.Since) {
				a.Since = since
			}
		}
		a.count()
		a.Money = moneyOf(apart)
		a.Cause = fmt.Sprintf("What differs: %s, of %s.", few(slices.Sorted(maps.Keys(metrics))),
			span(slices.Sorted(maps.Keys(days))))
		l.add(a)
	}
	return nil
}
