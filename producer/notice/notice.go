// Package notice sends the ends of subtasks to the applications that follow their tasks.
package notice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/broker"
	"adsync/base/failpoint"
	"adsync/base/lease"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client/outcomes"
)

// atOnce is how many notices are sent in one write.
const atOnce = 500

// Sender sends the notices of one slot to the topic of outcomes, those of a subject in the order of their numbers. A
// notice is deleted after it was sent. So a leader that dies in between leaves notices that the next one sends again,
// with the same numbers.
type Sender struct {
	Store Store
	Lease lease.Lease
	Slot  int
	Topic string
	// Write writes messages, in their order, to topics that exist. With a *broker.WriteError, those that it does not name
	// are stored.
	Write func(ctx context.Context, messages []broker.Message) error
	Sent  prometheus.Counter
}

// Store reads and deletes notices.
type Store interface {
	Notices(ctx context.Context, l lease.Lease, slot, limit int) ([]ledger.Notice, error)
	DeleteNotices(ctx context.Context, notices []ledger.Notice) error
	ExternalIDs(ctx context.Context, accountIDs []int64) (map[int64]string, error)
}

// SendAll sends notices until none is left. It returns lease.ErrStaleLease when the lease does not hold.
func (n *Sender) SendAll(ctx context.Context) error {
	for {
		notices, err := n.Store.Notices(ctx, n.Lease, n.Slot, atOnce)
		if err != nil || len(notices) == 0 {
			return err
		}
		if err := n.send(ctx, notices); err != nil {
			return err
		}
	}
}

func (n *Sender) send(ctx context.Context, notices []ledger.Notice) error {
	messages, err := n.messages(ctx, notices)
	if err != nil {
		return err
	}
	failpoint.Hit("producer.notices_read")
	if err = n.Write(ctx, messages); err != nil {
		notices = stored(notices, err)
	}
	failpoint.Hit("producer.notices_sent")
	if len(notices) > 0 {
		n.Sent.Add(float64(len(notices)))
		err = errors.Join(err, n.Store.DeleteNotices(ctx, notices))
	}
	return err
}

// stored returns the notices that a failed write has stored. A subject's notices after one that was not stored count as
// not stored: they must come after it.
func stored(notices []ledger.Notice, err error) []ledger.Notice {
	failed, ok := errors.AsType[*broker.WriteError](err)
	if !ok {
		return nil
	}
	left := map[ledger.Subject]bool{}
	var done []ledger.Notice
	for i, notice := range notices {
		if left[notice.Subject] || slices.Contains(failed.Failed, i) || slices.Contains(failed.Unknown, i) {
			left[notice.Subject] = true
			continue
		}
		done = append(done, notice)
	}
	return done
}

func (n *Sender) messages(ctx context.Context, notices []ledger.Notice) ([]broker.Message, error) {
	var ids []int64
	for _, notice := range notices { // by subject
		if id := notice.Subject.AccountID; id != 0 && (len(ids) == 0 || ids[len(ids)-1] != id) {
			ids = append(ids, id)
		}
	}
	accounts, err := n.Store.ExternalIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	messages := make([]broker.Message, len(notices))
	for i := range notices {
		value, err := json.Marshal(outcomeOf(&notices[i], accounts[notices[i].Subject.AccountID]))
		if err != nil {
			return nil, fmt.Errorf("notice %d of %s: %w", notices[i].Seq, notices[i].Subject, err)
		}
		messages[i] = broker.Message{Topic: n.Topic, Key: []byte(notices[i].Subject.String()), Value: value}
	}
	return messages, nil
}

func outcomeOf(n *ledger.Notice, account string) outcomes.Outcome {
	o := outcomes.Outcome{
		Seq: n.Seq, Application: n.Application, Task: n.TaskName, Media: n.Media, Handler: n.Handler, Account: account,
		Part: n.Part, RunID: strconv.FormatInt(n.RunID, 10), State: outcomes.State(n.State), Attempt: n.Attempt,
		ErrorClass: n.ErrorClass, Text: n.Text, Rows: n.Rows, Calls: n.Calls, TraceID: n.TraceID,
		PlannedAt: n.PlannedAt, StartedAt: n.StartedAt, EndedAt: n.EndedAt,
	}
	for _, f := range n.Files {
		o.Files = append(o.Files, outcomes.File(f))
	}
	if n.State == task.Failed && n.TimedOut {
		o.State = outcomes.Timeout
	}
	return o
}
