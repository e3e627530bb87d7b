package main

import (
	"context"
	"errors"
	"time"

	"adsync/test/chaos/judge"
	"adsync/test/chaos/stage"
	"adsync/test/services/local"
)

// In these scenarios Redis is several servers: with Sentinel, or as a Cluster. In the Cluster the keys of the first
// platform are on another node than those of the last.
var redisNodesScenarios = []scenario{
	{
		name: "sentinel-master-killed", long: true,
		doc:    "kill -9 of the master: Sentinel promotes a replica",
		before: withSentinel,
		steps: func(ctx context.Context, t *trial) error {
			return sentinelLoses(ctx, t, (*local.Server).Kill, (*local.Server).Start)
		},
		check: checkCallsAreBack,
	},
	{
		name: "sentinel-master-frozen", long: true,
		doc: "SIGSTOP of the master, then SIGCONT after a replica was promoted: the old master acts as if it were " +
			"still the master",
		before: withSentinel,
		steps: func(ctx context.Context, t *trial) error {
			return sentinelLoses(ctx, t, (*local.Server).Pause, (*local.Server).Continue)
		},
		check: checkCallsAreBack,
	},
	{
		name: "sentinel-failover", long: true,
		doc:    "a planned failover, twice: for some seconds two servers take writes",
		before: withSentinel,
		extra:  time.Minute,
		steps: func(ctx context.Context, t *trial) error {
			for range 2 {
				order := func(*local.Server) error { return t.stack.Sentinel.Failover(ctx) }
				if err := sentinelLoses(ctx, t, order, (*local.Server).Continue); err != nil {
					return err
				}
				if err := t.stack.Sentinel.Await(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		check: checkCallsAreBack,
	},
	{
		name: "cluster-node-killed", long: true,
		doc:    "kill -9 of a node of the Cluster: its replica is promoted, and the other platform's calls continue",
		before: withCluster,
		steps: func(ctx context.Context, t *trial) error {
			return clusterLoses(ctx, t, (*local.Server).Kill, (*local.Server).Start)
		},
		check: checkCallsAreBack,
	},
	{
		name: "cluster-failover", long: true,
		doc:    "a planned failover of a node of the Cluster to its replica",
		before: withCluster,
		steps: func(ctx context.Context, t *trial) error {
			order := func(owner *local.Server) error { return t.stack.Cluster.Failover(ctx, owner) }
			return clusterLoses(ctx, t, order, (*local.Server).Continue)
		},
		check: checkCallsAreBack,
	},
	{
		name: "cluster-node-lost", long: true,
		doc: "kill -9 of a node of the Cluster and of its replica for 20 s: one platform is without Redis, the other's " +
			"calls continue",
		before: withCluster,
		steps: func(ctx context.Context, t *trial) error {
			owner, err := t.stack.Cluster.Owner(ctx, slotKey)
			if err != nil {
				return err
			}
			replica, err := t.stack.Cluster.Replica(ctx, owner)
			if err != nil {
				return err
			}
			if err := t.wait(ctx, judge.BeforeLoss); err != nil {
				return err
			}
			if err := errors.Join(replica.Kill(), owner.Kill()); err != nil {
				return err
			}
			t.strike("nodes lost", 2)
			t.lose(nil, []string{lastMedia})
			return errors.Join(t.wait(ctx, judge.BackWithin+judge.CallsWindow), owner.Start(), replica.Start())
		},
		check: checkCallsAreBack,
	},
	{
		name: "redis-rights-removed", long: true,
		doc:    "the Redis user loses its channels, then all commands, and then has them again",
		before: withUser,
		steps: func(ctx context.Context, t *trial) error {
			for _, rights := range []string{"resetchannels", "-@all"} {
				if err := t.stack.Cache.ACLSetUser(ctx, redisUser, rights).Err(); err != nil {
					return err
				}
				t.strike("rights removed", 1)
				// Open connections keep their user's rights.
				if err := t.wait(ctx, t.between(8*time.Second, 10*time.Second)); err != nil {
					return err
				}
				if err := t.stack.Cache.ACLSetUser(ctx, redisUser, "allchannels", "+@all").Err(); err != nil {
					return err
				}
				if err := t.wait(ctx, t.between(3*time.Second, 5*time.Second)); err != nil {
					return err
				}
			}
			return nil
		},
	},
}

// slotKey is a key in the slot of the first platform's keys, whatever their prefix.
var slotKey = "{" + firstMedia + "}"

// redisUser is adsync's user in withUser.
const redisUser = "adsync"

// sentinelLoses disturbs the master, undoes that when another server is the master, and waits until calls are back.
func sentinelLoses(ctx context.Context, t *trial, do, undo func(master *local.Server) error) error {
	master, err := t.stack.Sentinel.Master(ctx)
	if err != nil {
		return err
	}
	return t.replaced(ctx, master, do, undo, loss{media: allMedia}, t.stack.Sentinel.AwaitMaster)
}

// clusterLoses disturbs the node that has the first platform's keys, undoes that when another node has them, and waits
// until calls are back.
func clusterLoses(ctx context.Context, t *trial, do, undo func(owner *local.Server) error) error {
	owner, err := t.stack.Cluster.Owner(ctx, slotKey)
	if err != nil {
		return err
	}
	await := func(ctx context.Context, old *local.Server) (*local.Server, error) {
		return t.stack.Cluster.AwaitOwner(ctx, slotKey, old)
	}
	return t.replaced(ctx, owner, do, undo, loss{media: []string{firstMedia}, others: []string{lastMedia}}, await)
}

// replaced disturbs a server, undoes that when await has returned its replacement, and waits until calls are back.
func (t *trial) replaced(
	ctx context.Context, server *local.Server, do, undo func(*local.Server) error, l loss,
	await func(ctx context.Context, old *local.Server) (*local.Server, error),
) error {
	if err := t.wait(ctx, judge.BeforeLoss); err != nil {
		return err
	}
	if err := do(server); err != nil {
		return err
	}
	t.strike("servers lost", 1)
	t.lose(l.media, l.others)
	began := time.Now()
	if _, err := await(ctx, server); err != nil {
		return err
	}
	t.log("another server after %s", time.Since(began).Round(100*time.Millisecond))
	if err := undo(server); err != nil {
		return err
	}
	return t.wait(ctx, judge.BackWithin+judge.CallsWindow)
}

func withSentinel(ctx context.Context, s *stage.Stack) (undo func(context.Context) error, err error) {
	d := &local.RedisSentinel{}
	undo, err = s.Launch(ctx, "sentinel", d, func() { s.Sentinel, s.RedisAt = nil, nil })
	if err != nil {
		return nil, err
	}
	s.Sentinel = d
	s.RedisAt = map[string]any{"mode": "sentinel", "master_name": local.SentinelMaster, "addrs": d.Addrs()}
	return undo, nil
}

func withCluster(ctx context.Context, s *stage.Stack) (undo func(context.Context) error, err error) {
	// Without this setting the loss of one node stops all others.
	d := &local.RedisCluster{Settings: []string{"cluster-require-full-coverage no"}}
	undo, err = s.Launch(ctx, "cluster", d, func() { s.Cluster, s.RedisAt = nil, nil })
	if err != nil {
		return nil, err
	}
	s.Cluster = d
	s.RedisAt = map[string]any{"mode": "cluster", "addrs": d.Addrs()}
	return undo, nil
}

// withUser makes adsync use its own Redis user.
func withUser(ctx context.Context, s *stage.Stack) (undo func(context.Context) error, err error) {
	const password = "chaos"
	if err := s.Cache.ACLSetUser(ctx, redisUser, "reset", "on", ">"+password, "~*", "allchannels",
		"+@all").Err(); err != nil {
		return nil, err
	}
	s.RedisAt = map[string]any{"addrs": []string{s.Redis.Addr()}, "username": redisUser, "password": password}
	return func(ctx context.Context) error {
		s.RedisAt = nil
		return s.Cache.ACLDelUser(ctx, redisUser).Err()
	}, nil
}
