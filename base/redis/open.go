// Package redis opens the deployment's Redis and names its keys.
//
// Redis is the fast path and never the source of truth: its contents must be rebuildable from the database, and every
// user of it must handle its absence.
package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// silent is the library's logger. What its pool logs about an unreachable server is also the error of each command.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func init() { goredis.SetLogger(silent{}) }

// Open returns a client for cfg, which must be valid. It reads the certificate files but opens no connection, so an
// unreachable Redis is no error at start. The caller closes the client.
func Open(cfg Config) (goredis.UniversalClient, error) {
	opts, err := options(cfg)
	if err != nil {
		return nil, err
	}
	switch cfg.Mode {
	case ModeSentinel:
		return goredis.NewFailoverClient(opts.Failover()), nil
	case ModeCluster:
		return openCluster(opts.Cluster()), nil
	default:
		return goredis.NewClient(opts.Simple()), nil
	}
}

// clusterReload is how often a client reads which node of a cluster has which keys. With the library's interval of a
// minute, keys of a lost node stay unreachable that long although a replica has replaced it.
const clusterReload = 10 * time.Second

func openCluster(o *goredis.ClusterOptions) *goredis.ClusterClient {
	o.ClusterStateReloadInterval = clusterReload
	client := goredis.NewClusterClient(o)
	client.AddHook(reload{client})
	return client
}

// reload makes a cluster's client read the layout again when a node does not answer. The library itself does so only
// when a node answers that the keys are elsewhere.
type reload struct{ client *goredis.ClusterClient }

func (reload) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (r reload) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		r.after(ctx, err)
		return err
	}
}

func (r reload) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		err := next(ctx, cmds)
		r.after(ctx, err)
		return err
	}
}

func (r reload) after(ctx context.Context, err error) {
	if err != nil && isOutOfReach(err) {
		r.client.ReloadState(ctx)
	}
}

// isOutOfReach reports whether an error means that no node answers for the keys: it is no answer of a server, or the
// answer that the cluster is down.
func isOutOfReach(err error) bool {
	answer, ok := errors.AsType[goredis.Error](err)
	if !ok {
		return !errors.Is(err, context.Canceled)
	}
	return strings.HasPrefix(answer.Error(), "CLUSTERDOWN")
}

func options(cfg Config) (*goredis.UniversalOptions, error) {
	tlsConfig, err := cfg.TLS.Load()
	if err != nil {
		return nil, fmt.Errorf("open redis: %w", err)
	}
	retries := cfg.MaxRetries
	if retries == 0 {
		retries = -1 // go-redis interprets 0 as its default of 3.
	}
	return &goredis.UniversalOptions{
		Addrs:            cfg.Addrs,
		MasterName:       cfg.MasterName,
		Username:         cfg.Username,
		Password:         cfg.Password.Reveal(),
		SentinelUsername: cfg.SentinelUsername,
		SentinelPassword: cfg.SentinelPassword.Reveal(),
		DB:               cfg.DB,
		TLSConfig:        tlsConfig,
		PoolSize:         cfg.PoolSize,
		PoolTimeout:      cfg.PoolTimeout,
		DialTimeout:      cfg.DialTimeout,
		ReadTimeout:      cfg.ReadTimeout,
		WriteTimeout:     cfg.WriteTimeout,
		// Without this a caller's deadline does not apply to the socket, and a budget of 200 ms takes the whole read
		// timeout.
		ContextTimeoutEnabled: true,
		MaxRetries:            retries,
		MinRetryBackoff:       10 * time.Millisecond,
		MaxRetryBackoff:       100 * time.Millisecond,
		// Each try of a command dials once. go-redis would dial 5 times within each, and a dead server would cost seconds.
		DialerRetries: 1,
		// Notifications of planned maintenance are a feature of one vendor. Requesting them costs each connection a round
		// trip.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}, nil
}
