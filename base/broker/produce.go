package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"
)

// partitioner is the one of Kafka's Java client, so that other programs agree on the partition of a key. Changing it,
// like changing the number of partitions, moves keys to other partitions.
var partitioner kafka.Murmur2Balancer

// choosePartition returns the partition of a key: always the same for equal keys and counts; any for a nil key.
func choosePartition(key []byte, count int) int {
	partitions := partitionNumbers(count)
	return partitioner.Balance(kafka.Message{Key: key}, partitions...)
}

var numbers = func() []int {
	out := make([]int, 256)
	for i := range out {
		out[i] = i
	}
	return out
}()

// partitionNumbers returns 0 … count-1.
func partitionNumbers(count int) []int {
	if count <= len(numbers) {
		return numbers[:count]
	}
	out := make([]int, count)
	for i := range out {
		out[i] = i
	}
	return out
}

// produceAnswer is the result of one request: a result for each queue.
type produceAnswer struct {
	queues  []*queue
	results []produceResult
}

type produceResult struct {
	base int64 // offset of the batch's first message; -1 if the broker does not report it
	err  error
}

// produce sends the batches of queues, which have one leader, in one request.
func (w *write) produce(ctx context.Context, queues []*queue) produceAnswer {
	answer := produceAnswer{queues: queues, results: make([]produceResult, len(queues))}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	req := &produce.Request{
		Acks: int16(kafka.RequireAll),
		// The broker times out before this side does, so that its answer, and not silence, ends a slow write.
		Timeout: int32((requestTimeout * 4 / 5).Milliseconds()), //nolint:gosec // Some seconds.
	}
	topics := make(map[string]int)
	for _, q := range queues {
		at, ok := topics[q.place.Topic]
		if !ok {
			at = len(req.Topics)
			topics[q.place.Topic] = at
			req.Topics = append(req.Topics, produce.RequestTopic{Topic: q.place.Topic})
		}
		req.Topics[at].Partitions = append(req.Topics[at].Partitions, produce.RequestPartition{
			Partition: int32(q.place.Partition), //nolint:gosec // Kafka's own number, in 32 bits.
			RecordSet: protocol.RecordSet{
				Attributes: protocol.Attributes(compressions[w.client.cfg.Compression]),
				Records:    w.records(q.sent),
			},
		})
	}

	res, err := roundTrip[*produce.Response](ctx, w.client, req)
	for i := range answer.results {
		answer.results[i] = produceResult{base: -1, err: err}
	}
	if err != nil {
		return answer
	}
	reported := make(map[Position]produceResult, len(queues))
	for _, topic := range res.Topics {
		for _, p := range topic.Partitions {
			result := produceResult{base: p.BaseOffset}
			if p.ErrorCode != 0 {
				result.err = kafka.Error(p.ErrorCode)
			}
			reported[Position{Topic: topic.Topic, Partition: int(p.Partition)}] = result
		}
	}
	for i, q := range queues {
		result, ok := reported[q.place]
		if !ok {
			result = produceResult{base: -1, err: errOmitted}
		}
		answer.results[i] = result
	}
	return answer
}

func (w *write) records(indexes []int) protocol.RecordReader {
	records := make([]protocol.Record, len(indexes))
	for n, i := range indexes {
		m := &w.msgs[i]
		records[n] = protocol.Record{Time: m.Time, Key: protocol.NewBytes(m.Key), Value: protocol.NewBytes(m.Value)}
		if len(m.Headers) > 0 {
			records[n].Headers = make([]protocol.Header, len(m.Headers))
			for h, header := range m.Headers {
				records[n].Headers[h] = protocol.Header{Key: header.Key, Value: header.Value}
			}
		}
	}
	return protocol.NewRecordReader(records...)
}

// notStored lists the broker's answers that mean for certain that a batch was not stored. Any other error leaves it
// open: a leader that was replaced while it waited for its followers answers with an error and keeps the batch.
var notStored = map[kafka.Error]bool{
	kafka.InvalidMessage:              true,
	kafka.UnknownTopicOrPartition:     true,
	kafka.InvalidMessageSize:          true,
	kafka.LeaderNotAvailable:          true,
	kafka.BrokerNotAvailable:          true, // from the library: the leader is not in its layout
	kafka.MessageSizeTooLarge:         true,
	kafka.InvalidTopic:                true,
	kafka.RecordListTooLarge:          true,
	kafka.NotEnoughReplicas:           true,
	kafka.InvalidRequiredAcks:         true,
	kafka.TopicAuthorizationFailed:    true,
	kafka.ClusterAuthorizationFailed:  true,
	kafka.InvalidTimestamp:            true,
	kafka.UnsupportedSASLMechanism:    true,
	kafka.IllegalSASLState:            true,
	kafka.UnsupportedVersion:          true,
	kafka.UnsupportedForMessageFormat: true,
	kafka.PolicyViolation:             true,
	kafka.SASLAuthenticationFailed:    true,
	kafka.UnsupportedCompressionType:  true,
	kafka.InvalidRecord:               true,
}

// concernsMessage reports whether an error is about the message, and not about the cluster.
func concernsMessage(err error) bool {
	code, ok := errors.AsType[kafka.Error](err)
	if !ok {
		return false
	}
	switch code {
	case kafka.InvalidMessage, kafka.InvalidMessageSize, kafka.MessageSizeTooLarge, kafka.RecordListTooLarge,
		kafka.InvalidTimestamp, kafka.InvalidRecord:
		return true
	default:
		return false
	}
}

// mayBeStored reports whether a failed try may have stored its messages.
func mayBeStored(err error) bool {
	if code, ok := errors.AsType[kafka.Error](err); ok {
		return !notStored[code]
	}
	return !neverSent(err)
}

// neverSent reports whether a request failed before it left.
func neverSent(err error) bool {
	if _, ok := errors.AsType[*produce.Error](err); ok {
		return true // The library found no single leader for the request.
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	_, dns := errors.AsType[*net.DNSError](err)
	return dns || errors.Is(err, errClosed) || untrusted(err)
}

// mayPass reports whether the same request can succeed later.
func mayPass(err error) bool {
	if code, ok := errors.AsType[kafka.Error](err); ok {
		return code.Temporary() || code == kafka.BrokerNotAvailable || code == kafka.Unknown
	}
	return !errors.Is(err, errClosed) && !untrusted(err)
}

// untrusted reports whether the two sides do not accept each other's certificates.
func untrusted(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return true // A TLS alert of the broker, for example when it refuses this program's certificate.
	}
	_, host := errors.AsType[x509.HostnameError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	return host || authority
}
