package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// SentinelMaster is the name by which the sentinels know the master.
const SentinelMaster = "adsync"

// RedisSentinel is a master, two replicas, and three sentinels that promote a replica when the master is lost.
type RedisSentinel struct {
	// Settings are lines added to the configuration of the three servers, such as "min-replicas-to-write 1".
	Settings []string

	nodes     []*Server
	sentinels []*Server
}

// Launch starts everything with its data below dir, and returns when all sentinels know all others. Stop it in the
// end, also after an error.
func (d *RedisSentinel) Launch(ctx context.Context, dir string, ports *Ports, stderr io.Writer) error {
	master := &Redis{Label: "redis-1", Settings: d.Settings}
	var err error
	if d.nodes, err = LaunchAll(ctx, dir, ports, stderr, master); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(master.addr)
	if err != nil {
		return err
	}
	// A replica of an idle master need not wait for others to be copied to at the same time.
	replicaOf := append([]string{"replicaof " + host + " " + port, "repl-diskless-sync-delay 0"}, d.Settings...)
	replicas, err := LaunchAll(ctx, dir, ports, stderr,
		&Redis{Label: "redis-2", Settings: replicaOf}, &Redis{Label: "redis-3", Settings: replicaOf})
	d.nodes = append(d.nodes, replicas...)
	if err != nil {
		return err
	}
	// A sentinel asks the master for its replicas when it starts, and again after 10 s: they must be there the first
	// time.
	if err := AwaitReady(ctx, "the replicas of "+master.Name(), func(ctx context.Context) error {
		return linked(ctx, master, 2)
	}, nil); err != nil {
		return err
	}
	watch := []string{
		fmt.Sprintf("sentinel monitor %s %s %s 2", SentinelMaster, host, port),
		"sentinel down-after-milliseconds " + SentinelMaster + " 3000",
		// After a failover the sentinels begin no other one for twice this time.
		"sentinel failover-timeout " + SentinelMaster + " 5000",
		"sentinel parallel-syncs " + SentinelMaster + " 1",
	}
	var kinds []Kind
	for i := range 3 {
		kinds = append(kinds, &Redis{Label: fmt.Sprintf("sentinel-%d", i+1), Settings: watch, sentinel: true})
	}
	if d.sentinels, err = LaunchAll(ctx, dir, ports, stderr, kinds...); err != nil {
		return err
	}
	return d.Await(ctx)
}

// Stop ends all servers.
func (d *RedisSentinel) Stop() error { return StopAll(d.Servers()) }

// Servers returns all servers: those with data, then the sentinels.
func (d *RedisSentinel) Servers() []*Server { return slices.Concat(d.nodes, d.sentinels) }

// Sentinels returns the sentinels.
func (d *RedisSentinel) Sentinels() []*Server { return d.sentinels }

// Addrs returns the addresses of the sentinels.
func (d *RedisSentinel) Addrs() []string { return redisAddrs(d.sentinels) }

// Await waits until all servers run, the replicas follow the master, and the sentinels know all of it.
func (d *RedisSentinel) Await(ctx context.Context) error {
	return AwaitReady(ctx, "Redis Sentinel", d.whole, nil)
}

func (d *RedisSentinel) whole(ctx context.Context) error {
	master, err := d.Master(ctx)
	if err != nil {
		return err
	}
	if err := linked(ctx, redisOf(master), len(d.nodes)-1); err != nil {
		return err
	}
	for _, s := range d.sentinels {
		if err := redisOf(s).seesAll(ctx, len(d.nodes)-1); err != nil {
			return fmt.Errorf("%s: %w", s.Name(), err)
		}
	}
	return nil
}

// seesAll returns an error unless the sentinel knows the other sentinels and a master with so many replicas. One
// that last saw a replica as a master would undo its promotion.
func (s *Redis) seesAll(ctx context.Context, replicas int) error {
	client := redis.NewSentinelClient(s.options())
	defer func() { _ = client.Close() }()
	master, err := client.Master(ctx, SentinelMaster).Result()
	if err != nil {
		return err
	}
	if master["flags"] != "master" || master["num-other-sentinels"] != "2" {
		return fmt.Errorf("it knows a %s and %s other sentinels, want a master and 2", master["flags"],
			master["num-other-sentinels"])
	}
	known, err := client.Replicas(ctx, SentinelMaster).Result()
	if err != nil {
		return err
	}
	good := 0
	for _, r := range known {
		if r["flags"] == "slave" && r["role-reported"] == "slave" && r["master-link-status"] == "ok" {
			good++
		}
	}
	if good != replicas {
		return fmt.Errorf("it knows %d replicas that follow the master, want %d", good, replicas)
	}
	return nil
}

// Master returns the server that most of the sentinels name as the master.
func (d *RedisSentinel) Master(ctx context.Context) (*Server, error) {
	return agreed(ctx, d.nodes, d.sentinels, func(ctx context.Context, sentinel *Redis) (string, error) {
		client := redis.NewSentinelClient(sentinel.options())
		addr, err := client.GetMasterAddrByName(ctx, SentinelMaster).Result()
		_ = client.Close()
		if err != nil || len(addr) != 2 {
			return "", errors.Join(err, fmt.Errorf("%s names no master", sentinel.Name()))
		}
		return net.JoinHostPort(addr[0], addr[1]), nil
	})
}

// Replicas returns the servers that are not the master, whether they run or not.
func (d *RedisSentinel) Replicas(ctx context.Context) ([]*Server, error) {
	master, err := d.Master(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(d.nodes), func(s *Server) bool { return s == master }), nil
}

// AwaitMaster waits until another server than old is the master, for the sentinels and for itself, and returns it.
func (d *RedisSentinel) AwaitMaster(ctx context.Context, old *Server) (master *Server, err error) {
	err = AwaitReady(ctx, "another master than "+old.Name(), func(ctx context.Context) (err error) {
		if master, err = d.Master(ctx); err == nil {
			err = promoted(ctx, master, old)
		}
		return err
	}, nil)
	return master, err
}

// Failover orders a planned failover: a sentinel promotes a replica while the master works. It returns when the
// sentinel has begun. After another failover call Await first, or the sentinel may end this one without a new master.
func (d *RedisSentinel) Failover(ctx context.Context) error {
	var errs []error
	for _, s := range d.sentinels {
		client := redis.NewSentinelClient(redisOf(s).options())
		err := client.Failover(ctx, SentinelMaster).Err()
		_ = client.Close()
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("order a failover of %s: %w", s.Name(), err))
	}
	return errors.Join(errs...)
}
