package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"adsync/test/services/local"
)

// Kafka has three brokers in these, and each topic three copies.
var kafkaNodesScenarios = []scenario{
	{
		name: "kafka-broker-killed", long: true,
		doc:    "kill -9 of one broker of three, for a quarter of a minute: the others lead what it led",
		before: withBrokers,
		steps: func(ctx context.Context, t *trial) error {
			if err := t.outage(ctx, t.anyBroker()); err != nil {
				return err
			}
			return t.stack.brokers.Await(ctx)
		},
	},
}

// MariaDB has a replica in these.
var mariadbPairScenarios = []scenario{
	{
		name: "mariadb-promoted", long: true,
		doc:    "the replica is promoted, twice: the writer refuses writes, the replica has all that it had, and all go to it",
		before: withPair,
		steps: func(ctx context.Context, t *trial) error {
			for range 2 {
				if err := t.stack.pair.Promote(ctx); err != nil {
					return err
				}
				t.stack.write(t.stack.pair.Writer())
				t.strike("promotions", 1)
				if err := t.wait(ctx, t.between(6*time.Second, 10*time.Second)); err != nil {
					return err
				}
			}
			return nil
		},
	},
}

func withBrokers(ctx context.Context, s *stack) (undo func(context.Context) error, err error) {
	d := &local.KafkaCluster{}
	undo, err = s.launch(ctx, "brokers", d, func() { s.brokers, s.brokerAt = nil, nil })
	if err != nil {
		return nil, err
	}
	s.brokers = d
	s.brokerAt = map[string]any{"brokers": d.Addrs(), "replication": 3, "min_insync": 2}
	return undo, nil
}

// withPair has adsync use an account that a replica refuses to write for.
func withPair(ctx context.Context, s *stack) (undo func(context.Context) error, err error) {
	d := &local.MariaDBPair{}
	undo, err = s.launch(ctx, "pair", d, func() {
		s.pair, s.account = nil, root
		s.write(s.mariadbServer)
	})
	if err != nil {
		return nil, err
	}
	s.pair, s.account = d, "adsync"
	s.write(d.Writer())
	// The rights that docs/operations.md lists, on the databases that are made later.
	for _, statement := range []string{
		"CREATE USER adsync",
		"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, CREATE VIEW, SHOW VIEW ON *.* TO adsync",
	} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("make an account: %w", err), undo(ctx))
		}
	}
	return undo, nil
}
