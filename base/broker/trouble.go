package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"adsync/base/clock"
)

const (
	// troubleAfter is how long requests at a place must have failed before readiness reports it. A leader that moves is
	// found within seconds.
	troubleAfter = 5 * time.Second
	// troubleKept is how long a failure counts after the last try. Failed requests are retried more often than that. But
	// a producer that no longer leads does not retry, and a partition without new messages never reports a success.
	troubleKept = 20 * time.Second
)

// troubles holds the failures of the last requests, for readiness.
type troubles struct {
	mu      sync.Mutex
	byPlace map[place]trouble
}

// place identifies what fails: one operation on a topic or a group. Each partition is a separate place, because the
// others may work.
type place struct {
	doing  string // such as "writes to topic jobs"
	detail string // the partition, or what else distinguishes its requests
}

type trouble struct {
	since, last time.Time // by this process's clock
	err         error     // the newest
}

// note records the error of a request.
func (t *troubles) note(at place, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := clock.Mark()
	since := now
	if had, failing := t.byPlace[at]; failing && now.Sub(had.last) < troubleKept {
		since = had.since
	}
	if t.byPlace == nil {
		t.byPlace = map[place]trouble{}
	}
	t.byPlace[at] = trouble{since: since, last: now, err: err}
}

// clear ends the trouble of a place.
func (t *troubles) clear(at place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byPlace, at)
}

// problem returns what fails, a line for each topic or group, or nil.
func (t *troubles) problem() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	oldest := map[string]trouble{}
	for at, of := range t.byPlace {
		if clock.Since(of.last) >= troubleKept {
			delete(t.byPlace, at)
			continue
		}
		if !certain(of.err) && of.last.Sub(of.since) < troubleAfter {
			continue
		}
		if had, ok := oldest[at.doing]; !ok || of.since.Before(had.since) {
			oldest[at.doing] = of
		}
	}
	var errs []error
	for doing, of := range oldest {
		errs = append(errs, fmt.Errorf("%s fail for %s: %w", doing, clock.Since(of.since).Round(time.Second), of.err))
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// certain reports whether one error is enough proof: too few copies in sync, or a refusal.
func certain(err error) bool {
	code, ok := errors.AsType[kafka.Error](err)
	if !ok {
		return untrusted(err)
	}
	switch code {
	case kafka.NotEnoughReplicas, kafka.NotEnoughReplicasAfterAppend, kafka.TopicAuthorizationFailed,
		kafka.GroupAuthorizationFailed,
		kafka.ClusterAuthorizationFailed, kafka.SASLAuthenticationFailed:
		return true
	default:
		return false
	}
}

// anyPartition stands for the topic itself, whose partitions are unknown.
const anyPartition = -1

// writing is the place of writes to a partition.
func writing(topic string, partition int) place {
	return place{doing: "writes to topic " + topic, detail: fmt.Sprint(partition)}
}

// committing is the place of a group's commits.
func committing(group string) place { return place{doing: "commits of group " + group} }

// Ready reports why this program cannot work with the cluster: no broker answers, or the last requests of this client
// failed. A refusal and too few copies in sync are reported at once, other errors after some seconds, because they
// may pass.
func (c *Client) Ready(ctx context.Context) error {
	if err := c.Ping(ctx); err != nil {
		return err
	}
	return c.troubles.problem()
}
