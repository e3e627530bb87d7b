package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"adsync/base/task"
	"adsync/client"
	"adsync/producer/overview"
)

// readAttention exports the first page's items that need attention, so that boards and alerts show the same accounts
// and money.
func (w *Watch) readAttention(ctx context.Context, _ []task.Task) (metrics, error) {
	var m metrics
	if w.Overview == nil {
		return m, nil
	}
	o := w.Overview(ctx)
	if o.At.IsZero() {
		return m, errors.New("the first page has not been read yet")
	}
	if i := slices.IndexFunc(o.Troubles, func(t client.Trouble) bool { return t.What == overview.Tables }); i >= 0 {
		return m, fmt.Errorf("the first page is as old as %s: %s", o.At, o.Troubles[i].Why)
	}
	type item struct{ kind, severity, media string }
	items := map[item]int{}
	for i := range o.Attention {
		a := &o.Attention[i]
		items[item{a.Kind, a.Severity, a.Media}]++
	}
	for k, n := range items {
		m.gauge(attentionItems, float64(n), k.kind, k.severity, k.media)
	}
	for _, s := range o.Stakes {
		m.gauge(attentionAccounts, float64(s.Accounts), s.Kind, s.Media)
		for _, of := range s.Money {
			m.gauge(attentionMicros, float64(of.Micros), s.Kind, s.Media, of.Currency)
		}
	}
	return m, nil
}
