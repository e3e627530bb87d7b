package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"adsync/test/chaos/stage"
	"adsync/test/services/local"
)

// In these scenarios Kafka has three brokers, and each topic three copies.
var kafkaNodesScenarios = []scenario{
	{
		name: "kafka-broker-killed", long: true,
		doc:    "kill -9 of one broker of three, for 15 s: the others lead its partitions",
		before: withBrokers,
		steps: func(ctx context.Context, t *trial) error {
			if err := t.outage(ctx, t.anyBroker()); err != nil {
				return err
			}
			return t.stack.Brokers.Await(ctx)
		},
	},
}

// In these scenarios MariaDB has a replica.
var mariadbPairScenarios = []scenario{
	{
		name: "mariadb-promoted", long: true,
		doc: "the replica is promoted, twice: the writer refuses writes, the replica has all that it had, and all go to " +
			"it",
		before: withPair,
		steps: func(ctx context.Context, t *trial) error {
			for range 2 {
				if err := t.stack.Pair.Promote(ctx); err != nil {
					return err
				}
				t.stack.Write(t.stack.Pair.Writer())
				t.strike("promotions", 1)
				if err := t.wait(ctx, t.between(6*time.Second, 10*time.Second)); err != nil {
					return err
				}
			}
			return nil
		},
	},
}

func withBrokers(ctx context.Context, s *stage.Stack) (undo func(context.Context) error, err error) {
	d := &local.KafkaCluster{}
	undo, err = s.Launch(ctx, "brokers", d, func() { s.Brokers, s.BrokerAt = nil, nil })
	if err != nil {
		return nil, err
	}
	s.Brokers = d
	s.BrokerAt = map[string]any{"brokers": d.Addrs(), "replication": 3, "min_insync": 2}
	return undo, nil
}

// withPair makes adsync use an account that a replica refuses to write for.
func withPair(ctx context.Context, s *stage.Stack) (undo func(context.Context) error, err error) {
	d := &local.MariaDBPair{}
	undo, err = s.Launch(ctx, "pair", d, func() {
		s.Pair, s.Account = nil, stage.Root
		s.Write(s.MariaDBServer)
	})
	if err != nil {
		return nil, err
	}
	s.Pair, s.Account = d, "adsync"
	s.Write(d.Writer())
	// The rights that docs/servers.md lists, on the databases that are made later.
	for _, statement := range []string{
		"CREATE USER adsync",
		"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, CREATE VIEW, SHOW VIEW ON *.* TO adsync",
	} {
		if _, err := s.DB.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("make an account: %w", err), undo(ctx))
		}
	}
	return undo, nil
}
