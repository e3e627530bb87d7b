package main

import (
	"context"
	"errors"
	"time"

	"adsync/client/outcomes"
	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

// follow reads all outcomes of the load, as a program would that is started now. It does nothing where nothing can be
// said of them.
func (t *trial) follow(ctx context.Context, f *judge.Facts) error {
	if t.stuck || t.scenario.losesTopics {
		return nil
	}
	data := t.store.Data.Writer(ctx)
	err := rig.Await(ctx, stage.Patience, "all notices are sent", func(context.Context) (bool, error) {
		var left int
		err := data.Raw("SELECT COUNT(*) FROM outcome_notice").Row().Scan(&left)
		return left == 0, err
	})
	if err != nil {
		t.tell(judge.Stuck, "%v", err)
	}
	var numbers int
	if err := errors.Join(data.Raw("SELECT COALESCE(SUM(seq), 0) FROM outcome_seq").Row().Scan(&numbers),
		data.Raw("SELECT id FROM run WHERE application = ?", loadPrefix).Scan(&f.Followed).Error); err != nil {
		return err
	}
	if numbers == 0 {
		return errors.New("the load has no outcomes")
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cfg := outcomes.Config{
		Brokers: []string{t.stack.Kafka.Addr()}, Topic: t.name + ".outcomes", Group: t.name + ".follower",
		Application: loadPrefix, Problem: func(err error) { t.log("follow outcomes: %v", err) },
	}
	f.Outcomes, err = stage.Follow(ctx, cfg, numbers)
	t.log("%d of %d outcomes were received", len(f.Outcomes), numbers)
	return err
}
