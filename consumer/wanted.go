package consumer

import (
	"context"
	"log/slog"
	"time"

	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/telemetry"
)

// questionsMax is how many rows one query asks for.
const questionsMax = 500

// checker reads subtasks' rows for the workers. While one query is under way the next questions gather and go
// together, so that a busy consumer asks rarely and an idle one at once.
type checker struct {
	store     Store
	causes    *telemetry.CauseLog
	questions chan question
	stop      context.CancelFunc
	ended     chan struct{}
}

type question struct {
	key    task.Key
	answer chan answer // with room for the one answer
}

type answer struct {
	status ledger.SubtaskStatus
	found  bool
}

func newChecker(s Store, causes *telemetry.CauseLog) *checker {
	return &checker{store: s, causes: causes, questions: make(chan question, questionsMax), ended: make(chan struct{})}
}

func (c *checker) start() {
	var ctx context.Context
	ctx, c.stop = context.WithCancel(context.Background())
	go c.run(ctx)
}

// close ends the checker; questions that are still open stay without an answer.
func (c *checker) close() {
	c.stop()
	<-c.ended
}

// ask returns what the row says, and false if there is no row. It waits out a database that does not answer: only
// the end of ctx is an error.
func (c *checker) ask(ctx context.Context, key task.Key) (ledger.SubtaskStatus, bool, error) {
	q := question{key: key, answer: make(chan answer, 1)}
	select {
	case c.questions <- q:
	case <-ctx.Done():
		return ledger.SubtaskStatus{}, false, context.Cause(ctx)
	}
	select {
	case a := <-q.answer:
		return a.status, a.found, nil
	case <-ctx.Done():
		return ledger.SubtaskStatus{}, false, context.Cause(ctx)
	}
}

func (c *checker) run(ctx context.Context) {
	defer close(c.ended)
	for {
		var asked []question
		select {
		case <-ctx.Done():
			return
		case q := <-c.questions:
			asked = append(asked, q)
		}
		for more := true; more && len(asked) < questionsMax; {
			select {
			case q := <-c.questions:
				asked = append(asked, q)
			default:
				more = false
			}
		}
		c.answer(ctx, asked)
	}
}

func (c *checker) answer(ctx context.Context, asked []question) {
	keys := make([]task.Key, len(asked))
	for i, q := range asked {
		keys[i] = q.key
	}
	var found map[task.Key]ledger.SubtaskStatus
	err := persist(ctx, c.causes, "subtask states",
		"the state of subtasks cannot be read, so no work begins; it is tried again", func(ctx context.Context) error {
			var err error
			found, err = c.store.SubtaskStates(ctx, keys)
			return err
		})
	if err != nil {
		return // The consumer stops, and those who asked with it.
	}
	for _, q := range asked {
		status, ok := found[q.key]
		q.answer <- answer{status: status, found: ok}
	}
}

const (
	// storeTimeout bounds one try at the store, so that a connection that hangs is given up for a new one.
	storeTimeout  = 30 * time.Second
	storePauseMin = 100 * time.Millisecond
	storePauseMax = 5 * time.Second
)

// persist tries until it succeeds or ctx ends, with growing pauses; problem is what is logged of failures at place.
func persist(ctx context.Context, causes *telemetry.CauseLog, place, problem string,
	try func(ctx context.Context) error) error {
	for wait := storePauseMin; ; wait = min(2*wait, storePauseMax) {
		attempt, cancel := context.WithTimeout(ctx, storeTimeout)
		err := try(attempt)
		cancel()
		if err == nil {
			causes.Recovered(place, "the store answers again: work goes on")
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		causes.Report(slog.LevelError, place, problem, err)
		if !pause(ctx, nil, wait) {
			return err
		}
	}
}
