package main

import (
	"context"
	"time"

	"adsync/test/chaos/alone"
)

var exclusiveScenarios = []scenario{{
	name: alone.Name, doc: alone.Doc, long: true, stallMax: time.Minute, extra: 4 * time.Minute,
	prepare: func(ctx context.Context, t *trial) error {
		t.alone = &alone.Trial{
			Stack: t.stack, World: t.world, Store: t.store, Random: t.random, Consumers: t.of("consumer"), Accounts: t.accounts,
			Media: []string{firstMedia, lastMedia}, Patience: t.patience, ArmAny: t.armAny, Leader: t.leader,
			API: t.producerAPI, Order: t.order, Accept: t.accept, Reload: t.reload, EachLog: t.eachLog, Strike: t.strike,
			Tell: t.tell, Void: t.void, Log: t.log,
		}
		return t.alone.Prepare(ctx)
	},
	steps: func(ctx context.Context, t *trial) error { return t.alone.Steps(ctx) },
	check: func(ctx context.Context, t *trial) error { return t.alone.Check(ctx) },
}}
