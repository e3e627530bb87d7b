package broker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"adsync/base/telemetry"
)

const (
	dialTimeout = 5 * time.Second
	// requestTimeout bounds one request. An interrupted request is repeated if that is safe.
	requestTimeout = 5 * time.Second
	// metadataAge bounds how old the cached layout of the cluster may be. So after a failover the new leader of a
	// partition is unknown for at most this long.
	metadataAge = 4 * time.Second
	// idleAge is how long an unused connection is kept. It is well below the ten minutes of the brokers.
	idleAge = 30 * time.Second
)

// Client is one program's connection to a Kafka cluster. It is safe for concurrent use.
type Client struct {
	cfg       Config
	logger    *slog.Logger
	causes    *telemetry.CauseLog
	metrics   *metrics
	dialer    *kafka.Dialer // for readers and groups, which have their own connections
	transport *transport    // for everything else
	kafka     *kafka.Client
	troubles  troubles
}

// New returns a client. It opens no connection yet. It fails on invalid settings, unreadable certificates, and
// metrics that are registered already. Close it after all groups of it are stopped.
func New(cfg Config, logger *slog.Logger, registerer prometheus.Registerer) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("broker config: %w", err)
	}
	tlsConfig, err := cfg.TLS.Load()
	if err != nil {
		return nil, err
	}
	mechanism, err := cfg.SASL.mechanism()
	if err != nil {
		return nil, fmt.Errorf("set up sasl: %w", err)
	}
	if cfg.SASL.Mechanism == MechanismPlain && !cfg.TLS.Enabled {
		logger.Warn("the Kafka password is unencrypted: sasl.mechanism is plain without tls")
	}
	metrics, err := newMetrics(registerer)
	if err != nil {
		return nil, err
	}
	c := &Client{
		cfg:     cfg,
		logger:  logger,
		causes:  telemetry.NewCauseLog(logger),
		metrics: metrics,
		dialer: &kafka.Dialer{
			ClientID: cfg.ClientID, Timeout: dialTimeout, DualStack: true,
			DialFunc: cfg.Dial, TLS: tlsConfig, SASLMechanism: mechanism,
		},
		// TLS is set on the transport and not wrapped into Dial, where the library would not find it.
		transport: newTransport(func(topics []string) *kafka.Transport {
			return &kafka.Transport{
				ClientID: cfg.ClientID, DialTimeout: dialTimeout, IdleTimeout: idleAge,
				MetadataTTL: metadataAge, MetadataTopics: topics,
				Dial: cfg.Dial, TLS: tlsConfig, SASL: mechanism,
			}
		}),
	}
	c.kafka = &kafka.Client{Addr: kafka.TCP(cfg.Brokers...), Transport: c.transport}
	return c, nil
}

// Ping reports whether a broker answers and accepts this user. It uses a connection and no cached answer.
func (c *Client) Ping(ctx context.Context) error {
	// Any answer will do. The request must be one that requires signing in and is not cached.
	err := c.retryRead(ctx, func(ctx context.Context) error {
		_, err := c.kafka.FindCoordinator(ctx, &kafka.FindCoordinatorRequest{Key: c.cfg.Prefix,
			KeyType: kafka.CoordinatorKeyTypeConsumer})
		return err
	})
	if err != nil {
		return fmt.Errorf("ping kafka at %v: %w", c.cfg.Brokers, err)
	}
	return nil
}

// Close closes each connection when its current call has ended. Later calls fail. It may be called twice.
func (c *Client) Close() error {
	c.transport.close()
	return nil
}
