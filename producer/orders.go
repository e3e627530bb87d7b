package producer

import (
	"context"
	"encoding/json"
	"fmt"

	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/media"
)

const ordersAtOnce = 100

// takeOrders makes the runs of the waiting orders. Orders hold the ids of their runs, so that a repeated call makes no
// second run.
func (p *planning) takeOrders(ctx context.Context) error {
	orders, err := p.store.OpenOrders(ctx, ordersAtOnce)
	if err != nil {
		return err
	}
	for _, o := range orders {
		run := ledger.Run{ID: o.RunID, TaskID: o.TaskID, Kind: ledger.RunOfOrder, PlannedAt: o.OrderedAt}
		why := p.fillOrder(ctx, &run, o)
		if err := p.addRuns(ctx, []ledger.Run{run}); err != nil {
			return err
		}
		if err := p.store.TakeOrder(ctx, p.lease, o.RunID, why); err != nil {
			return err
		}
		result := "taken"
		if why != "" {
			result = "refused"
			p.logger.Warn("order refused", "run", o.RunID, "by", o.Request.By, "reason", why)
		}
		p.metrics.orders.WithLabelValues(result).Inc()
	}
	return nil
}

// fillOrder fills the run of an order, or returns why it fails.
func (p *planning) fillOrder(ctx context.Context, run *ledger.Run, o ledger.RunOrder) string {
	why := ""
	tk, loaded := p.tasks.Current().Tasks[o.TaskID]
	if !loaded {
		// The task may be younger than the last reload.
		if err := p.tasks.Reload(ctx); err != nil {
			p.logger.Warn("cannot reload the tasks for an order", "err", err)
		}
		tk, loaded = p.tasks.Current().Tasks[o.TaskID]
	}
	switch {
	case o.Malformed != nil:
		why = o.Malformed.Error()
	case !loaded:
		why = fmt.Sprintf("there is no usable task with id %d", o.TaskID)
	}
	if loaded {
		p.fill(run, tk, &o.Request)
		params, err := ChangedParams(p.kinds, &tk.Task, &o.Request)
		if err != nil && why == "" {
			why = err.Error()
		}
		run.Settings.Params = params
	}
	if why != "" {
		p.fail(run, task.RunFailed, why)
	}
	return why
}

// ChangedParams returns the params of a run of a task with an order's changes. The error begins with "params", and is
// that of the handler or of the task's serial key, which the changed params must be able to fill.
func ChangedParams(kinds *media.Registry, tk *task.Task, o *task.Order) (json.RawMessage, error) {
	params, err := kinds.ChangeParams(tk.Handler, tk.Params, o.Params)
	if err != nil || len(o.Params) == 0 {
		return params, err
	}
	if err := task.CheckSerialKey(tk.SerialKey, params); err != nil {
		return params, fmt.Errorf("params: do not fit the serial_key of the task: %w", err)
	}
	return params, nil
}
