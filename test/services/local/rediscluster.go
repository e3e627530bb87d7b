package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

const (
	clusterMasters = 3
	clusterSlots   = 16384
)

// RedisCluster is a Redis Cluster of three masters with a replica each.
//
// Promote one node twice only after 20 s (four node timeouts): within them Redis 7.0 takes the votes of the first
// election for those of the second, and the other nodes do not accept it.
type RedisCluster struct {
	// Settings are lines added to the configuration of all nodes, such as "cluster-require-full-coverage no".
	Settings []string

	nodes []*Server // the first masters, then their replicas
}

// Launch starts the nodes with their data below dir, makes a cluster of them, and returns when it can be used. Stop
// it in the end, also after an error.
func (d *RedisCluster) Launch(ctx context.Context, dir string, ports *Ports, stderr io.Writer) error {
	settings := append([]string{
		"cluster-node-timeout 5000", "repl-diskless-sync-delay 0",
		// Nodes do not name a replica that has received nothing yet, and an idle master sends something every 10 s.
		"repl-ping-replica-period 1",
	}, d.Settings...)
	var kinds []Kind
	for i := range 2 * clusterMasters {
		kinds = append(kinds, &Redis{Label: fmt.Sprintf("redis-%d", i+1), Settings: settings, clustered: true})
	}
	var err error
	if d.nodes, err = LaunchAll(ctx, dir, ports, stderr, kinds...); err != nil {
		return err
	}
	if err := d.join(ctx); err != nil {
		return fmt.Errorf("make a Redis Cluster: %w", err)
	}
	return d.Await(ctx)
}

// join gives each master its slots and each of the other nodes its master.
func (d *RedisCluster) join(ctx context.Context) error {
	for i, s := range d.nodes {
		node := redisOf(s)
		// Nodes that begin with the same epoch would spend a while on agreeing about another.
		commands := [][]any{{"CLUSTER", "SET-CONFIG-EPOCH", i + 1}}
		if i < clusterMasters {
			commands = append(commands, []any{
				"CLUSTER", "ADDSLOTSRANGE", i * clusterSlots / clusterMasters, (i+1)*clusterSlots/clusterMasters - 1,
			})
		}
		if i > 0 {
			host, port, err := net.SplitHostPort(redisOf(d.nodes[0]).addr)
			if err != nil {
				return err
			}
			commands = append(commands, []any{"CLUSTER", "MEET", host, port, redisOf(d.nodes[0]).busPort})
		}
		if err := node.do(ctx, commands...); err != nil {
			return err
		}
	}
	for i := range clusterMasters {
		client := redisOf(d.nodes[i]).client()
		id, err := client.Do(ctx, "CLUSTER", "MYID").Text()
		_ = client.Close()
		if err != nil {
			return err
		}
		replica := redisOf(d.nodes[clusterMasters+i])
		// After a moment the replica knows its master.
		if err := AwaitReady(ctx, replica.Name(), func(ctx context.Context) error {
			return replica.do(ctx, []any{"CLUSTER", "REPLICATE", id})
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends all nodes.
func (d *RedisCluster) Stop() error { return StopAll(d.nodes) }

// Servers returns all nodes.
func (d *RedisCluster) Servers() []*Server { return d.nodes }

// Addrs returns the addresses of all nodes.
func (d *RedisCluster) Addrs() []string { return redisAddrs(d.nodes) }

// Await waits until all nodes run, agree that all slots are served, and each replica follows its master.
func (d *RedisCluster) Await(ctx context.Context) error {
	return AwaitReady(ctx, "Redis Cluster", d.whole, nil)
}

func (d *RedisCluster) whole(ctx context.Context) error {
	for _, s := range d.nodes {
		node := redisOf(s)
		if err := node.seesCluster(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.Name(), err)
		}
		replication, err := node.replication(ctx)
		if err != nil {
			return err
		}
		if replication["role"] == "slave" && replication["master_link_status"] != "up" {
			return fmt.Errorf("%s does not follow its master", s.Name())
		}
	}
	return nil
}

// seesCluster returns an error unless the node sees all slots served by masters with a replica each. A node that does
// not know yet that another is a replica does not vote for it.
func (s *Redis) seesCluster(ctx context.Context) error {
	client := s.client()
	defer client.Close()
	text, err := client.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	if info := fields(text); info["cluster_state"] != "ok" || info["cluster_slots_ok"] != strconv.Itoa(clusterSlots) {
		return fmt.Errorf("the cluster is in the state %s with %s slots", info["cluster_state"], info["cluster_slots_ok"])
	}
	slots, err := client.ClusterSlots(ctx).Result() //nolint:staticcheck // CLUSTER SHARDS names failed nodes too.
	if err != nil {
		return err
	}
	if len(slots) != clusterMasters {
		return fmt.Errorf("%d nodes serve slots, want %d", len(slots), clusterMasters)
	}
	for _, r := range slots {
		if len(r.Nodes) != 2 {
			return fmt.Errorf("%d nodes have the slots from %d on, want a master and a replica", len(r.Nodes), r.Start)
		}
	}
	return nil
}

// Owner returns the master of a key's slot, as most nodes see it.
func (d *RedisCluster) Owner(ctx context.Context, key string) (*Server, error) {
	return agreed(ctx, d.nodes, d.nodes, func(ctx context.Context, node *Redis) (string, error) {
		client := node.client()
		defer client.Close()
		slot, err := client.ClusterKeySlot(ctx, key).Result()
		if err != nil {
			return "", err
		}
		slots, err := client.ClusterSlots(ctx).Result() //nolint:staticcheck // CLUSTER SHARDS names failed nodes too.
		if err != nil {
			return "", err
		}
		for _, s := range slots {
			if int64(s.Start) <= slot && slot <= int64(s.End) && len(s.Nodes) > 0 {
				return s.Nodes[0].Addr, nil
			}
		}
		return "", fmt.Errorf("%s knows no owner of slot %d", node.Name(), slot)
	})
}

// Masters returns the nodes that serve slots, each one time.
func (d *RedisCluster) Masters(ctx context.Context) ([]*Server, error) {
	var masters []*Server
	for _, s := range d.nodes {
		replication, err := redisOf(s).replication(ctx)
		if err != nil {
			return nil, err
		}
		if replication["role"] == "master" {
			masters = append(masters, s)
		}
	}
	return masters, nil
}

// Replica returns the node that follows a master.
func (d *RedisCluster) Replica(ctx context.Context, master *Server) (*Server, error) {
	_, port, err := net.SplitHostPort(redisOf(master).addr)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, s := range d.nodes {
		replication, err := redisOf(s).replication(ctx)
		if err == nil && replication["role"] == "slave" && replication["master_port"] == port {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(append(errs, fmt.Errorf("%s has no replica", master.Name()))...)
}

// AwaitOwner waits until another node than old is the master of a key's slot, for the cluster and for itself, and
// returns it.
func (d *RedisCluster) AwaitOwner(ctx context.Context, key string, old *Server) (owner *Server, err error) {
	err = AwaitReady(ctx, "another master than "+old.Name(), func(ctx context.Context) (err error) {
		if owner, err = d.Owner(ctx, key); err == nil {
			err = promoted(ctx, owner, old)
		}
		return err
	}, nil)
	return owner, err
}

// Failover orders a planned failover of a master to its replica, which takes over when it has everything.
func (d *RedisCluster) Failover(ctx context.Context, master *Server) error {
	replica, err := d.Replica(ctx, master)
	if err != nil {
		return err
	}
	return redisOf(replica).do(ctx, []any{"CLUSTER", "FAILOVER"})
}
