// Package embedded runs a Kafka broker inside the process, for one machine that has no Kafka.
//
// It keeps its topics, messages and committed offsets in a directory and is meant only for the process that starts
// it: it listens on the loopback interface and requires no password. It has one copy of everything. So it must hold
// only work that can be planned again, never the only copy of a result.
package embedded

import (
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Broker is a running broker.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
	close   sync.Once
}

// Start starts a broker on a free port of 127.0.0.1 that continues with the contents of dir. dir is created if it
// does not exist. Only one broker may use a directory at a time. However the process ends, everything acknowledged is
// available again. After a crash of the machine the last moments may be missing: forcing every write to the disk made
// writes twenty times slower, and a writer must be able to send lost messages again with any broker. With dir "" all
// is in memory and ends with the process.
func Start(dir string) (*Broker, error) {
	options := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{
			"default.replication.factor": "1",
			"min.insync.replicas":        "1",
		}),
	}
	if dir != "" {
		options = append(options, kfake.DataDir(dir))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		return nil, fmt.Errorf("start embedded broker in %s: %w", dir, err)
	}
	return &Broker{cluster: cluster, addr: cluster.ListenAddrs()[0]}, nil
}

// Addr returns the address (host:port) to connect to. The port changes with each start.
func (b *Broker) Addr() string { return b.addr }

// Close stops the broker and writes the rest to the disk. Close its clients before. It may be called twice.
func (b *Broker) Close() { b.close.Do(b.cluster.Close) }
