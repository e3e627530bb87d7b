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
	// requestTimeout bounds one request; what it interrupts is repeated where that is safe.
	requestTimeout = 5 * time.Second
	// metadataAge bounds how old the cached layout of the cluster may be, and so how long a new leader of a
	// partition stays unknown after a failover.
	metadataAge = 4 * time.Second
	// idleAge is how long an unused connection is kept, well below the ten minutes of the brokers.
	idleAge = 30 * time.Second
)

// Client is one program's connection to a Kafka cluster. It is safe for concurrent use.
type Client struct {
	cfg       Config
	logger    *slog.Logger
	causes    *telemetry.CauseLog
	metrics   *metrics
	dialer    *kafka.Dialer // for readers and groups, which hold connections of their own
	transport *transport    // for everything else
	kafka     *kafka.Client
	troubles  troubles
}

// New makes a client; it opens no connection yet. It fails on settings that are refused, certificates that cannot
// be read, and metrics that are registered already. Close it when all groups made from it are stopped.
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
		logger.Warn("the Kafka password crosses the network unencrypted: sasl.mechanism is plain and tls is off")
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
		// TLS is given to the transport and never wrapped into Dial: the library would look for it in vain.
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

// Ping tells whether a broker answers and lets this user in, over a connection and not from memory.
func (c *Client) Ping(ctx context.Context) error {
	// Any answer will do; but it must be to a question that is not taken before signing in, and not kept in a cache.
	err := c.retryRead(ctx, func(ctx context.Context) error {
		_, err := c.kafka.FindCoordinator(ctx, &kafka.FindCoordinatorRequest{Key: c.cfg.Prefix, KeyType: kafka.CoordinatorKeyTypeConsumer})
		return err
	})
	if err != nil {
		return fmt.Errorf("ping kafka at %v: %w", c.cfg.Brokers, err)
	}
	return nil
}

// Close drops the connections, each when the call that uses it has ended; later calls fail. It may be called twice.
func (c *Client) Close() error {
	c.transport.close()
	return nil
}
