package main

import (
	"context"
	"errors"
	"time"

	"adsync/test/chaos/stage"
	"adsync/test/services/local"
)

// In these scenarios one outage causes two faults. Rows and counts must still be right; how soon work continues is not
// promised.
var pairScenarios = []scenario{
	{
		name: "broker-and-redis-lost", long: true, stallMax: -1,
		doc:    "a machine is lost that had one broker of three and the master of Redis",
		before: both(withBrokers, withSentinel),
		steps: func(ctx context.Context, t *trial) error {
			master, err := t.stack.Sentinel.Master(ctx)
			if err != nil {
				return err
			}
			return t.outage(ctx, t.anyBroker(), master)
		},
	},
	{
		name: "broker-and-cluster-node-lost", long: true, stallMax: -1,
		doc:    "a machine is lost that had one broker of three and a node of the Redis Cluster",
		before: both(withBrokers, withCluster),
		steps: func(ctx context.Context, t *trial) error {
			owner, err := t.stack.Cluster.Owner(ctx, slotKey)
			if err != nil {
				return err
			}
			return t.outage(ctx, t.anyBroker(), owner)
		},
	},
	{
		name: "leader-and-broker-lost", long: true, stallMax: -1,
		doc:    "a machine is lost that had the leader and one broker of three",
		before: withBrokers,
		steps: func(ctx context.Context, t *trial) error {
			leader, err := t.leader(ctx)
			if err != nil {
				return err
			}
			if err := leader.Kill(); err != nil {
				return err
			}
			return errors.Join(t.outage(ctx, t.anyBroker()), leader.Start())
		},
	},
	{
		name: "consumer-and-redis-lost", long: true, stallMax: -1,
		doc:    "a machine is lost that had a consumer and the master of Redis",
		before: withSentinel,
		steps: func(ctx context.Context, t *trial) error {
			master, err := t.stack.Sentinel.Master(ctx)
			if err != nil {
				return err
			}
			consumer := t.any("consumer")
			if err := consumer.Kill(); err != nil {
				return err
			}
			return errors.Join(t.outage(ctx, master), consumer.Start())
		},
	},
	{
		name: "rack-cut-off", long: true, stallMax: -1,
		doc: "the network between two racks: the leader and a consumer reach none of the servers, and continue when they " +
			"do " +
			"again",
		steps: func(ctx context.Context, t *trial) error {
			leader, err := t.leader(ctx)
			if err != nil {
				return err
			}
			for _, i := range []*stage.Instance{leader, t.any("consumer")} {
				for _, way := range []interface{ Cut() }{i.Kafka, i.MariaDB, i.Redis} {
					way.Cut()
				}
				t.log("%s is cut off", i.Name)
			}
			return t.wait(ctx, t.between(15*time.Second, 25*time.Second))
		},
	},
	{
		name: "promoted-in-a-rolling-restart", long: true, stallMax: -1,
		doc:    "the replica of MariaDB is promoted while the consumers are restarted one after the other",
		before: withPair,
		steps: func(ctx context.Context, t *trial) error {
			promoted := make(chan error, 1)
			after := t.between(time.Second, 8*time.Second)
			go func() {
				err := t.wait(ctx, after)
				if err == nil {
					err = t.stack.Pair.Promote(ctx)
				}
				if err == nil {
					t.stack.Write(t.stack.Pair.Writer())
				}
				promoted <- err
			}()
			var errs []error
			for _, i := range t.of("consumer") {
				errs = append(errs, i.Stop())
				t.strike("stops", 1)
				errs = append(errs, i.StartReady(ctx))
			}
			t.strike("promotions", 1)
			return errors.Join(append(errs, <-promoted)...)
		},
	},
	{
		name: "promoted-and-redis-lost", long: true, stallMax: -1,
		doc: "a machine that had the writer of MariaDB and the master of Redis is abandoned: the replica of each is " +
			"promoted",
		before: both(withPair, withSentinel),
		steps: func(ctx context.Context, t *trial) error {
			master, err := t.stack.Sentinel.Master(ctx)
			if err != nil {
				return err
			}
			if err := master.Kill(); err != nil {
				return err
			}
			t.strike("servers lost", 1)
			if err := t.stack.Pair.Promote(ctx); err != nil {
				return err
			}
			t.stack.Write(t.stack.Pair.Writer())
			t.strike("promotions", 1)
			return errors.Join(t.wait(ctx, t.between(12*time.Second, 18*time.Second)), master.Start())
		},
	},
}

func (t *trial) anyBroker() *local.Server {
	all := t.stack.Brokers.Servers()
	return all[t.random.IntN(len(all))]
}

// outage kills servers at the same time, and starts them again later.
func (t *trial) outage(ctx context.Context, servers ...*local.Server) error {
	if err := local.KillAll(servers); err != nil {
		return err
	}
	t.strike("servers lost", len(servers))
	if err := t.wait(ctx, t.between(12*time.Second, 18*time.Second)); err != nil {
		return err
	}
	for _, s := range servers {
		if err := s.Start(); err != nil {
			return err
		}
	}
	return nil
}

type preparation = func(context.Context, *stage.Stack) (undo func(context.Context) error, err error)

// both prepares the servers in two ways.
func both(a, b preparation) preparation {
	return func(ctx context.Context, s *stage.Stack) (func(context.Context) error, error) {
		undoA, err := a(ctx, s)
		if err != nil {
			return nil, err
		}
		undoB, err := b(ctx, s)
		if err != nil {
			return nil, errors.Join(err, undoA(ctx))
		}
		return func(ctx context.Context) error { return errors.Join(undoB(ctx), undoA(ctx)) }, nil
	}
}
