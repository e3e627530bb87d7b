package consumer

import (
	"context"
	"log/slog"
	"time"

	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/telemetry"
)

// questionsMax is how many rows one query reads.
const questionsMax = 500

// checker reads subtasks' rows for the workers. Questions that arrive during a query share the next one, so that a busy
// consumer sends few queries and an idle one sends its query at once.
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

// close ends the checker. Open questions get no answer.
func (c *checker) close() {
	c.stop()
	<-c.ended
}

// ask returns the state in the subtask's row, and false if there is no row. It retries while the database does not
// answer: only the end of ctx is an error.
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
		"states of subtasks cannot be read and no work begins; retrying", func(ctx context.Context) error {
			var err error
			found, err = c.store.SubtaskStates(ctx, keys)
			return err
		})
	if err != nil {
		return // The consumer stops, and its workers too.
	}
	for _, q := range asked {
		status, ok := found[q.key]
		q.answer <- answer{status: status, found: ok}
	}
}

const (
	// storeTimeout bounds one try of a store call, so that a hanging connection is replaced.
	storeTimeout  = 30 * time.Second
	storePauseMin = 100 * time.Millisecond
	storePauseMax = 5 * time.Second
)

// persist calls try until it succeeds or ctx ends, with growing pauses. It logs failures as problem, grouped by place.
func persist(ctx context.Context, causes *telemetry.CauseLog, place, problem string,
	try func(ctx context.Context) error) error {
	for wait := storePauseMin; ; wait = min(2*wait, storePauseMax) {
		attempt, cancel := context.WithTimeout(ctx, storeTimeout)
		err := try(attempt)
		cancel()
		if err == nil {
			causes.Recovered(place, "the store answers again")
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		causes.Report(slog.LevelError, place, problem, err)
		if !pause(ctx, wait) {
			return err
		}
	}
}
