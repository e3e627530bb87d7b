package outside

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"adsync/jobs/external"
)

const (
	workersMost = 8
	ttr         = 4 * time.Second
	// pollSeconds is how long a worker waits for a job, and clientTimeout how long for an answer.
	pollSeconds   = 2
	clientTimeout = 5 * time.Second
	pace          = 50 * time.Millisecond
	// Of this many deliveries one dies with its worker, and one is released.
	died, released = 15, 8
	// Of this many first attempts one is ended without success; of later ones a third of that.
	nacked = 4
	// claimsMost is how many jobs a worker claims with a request.
	claimsMost = 2
	// rowsMost is what a worker reports at most; it reports none for half of the jobs.
	rowsMost = 1000
)

// workers are the programs that work the subtasks.
type workers struct {
	d       *desk
	history *history
	client  *http.Client
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

func newWorkers(d *desk) *workers {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	return &workers{d: d, history: newHistory(), client: &http.Client{Timeout: clientTimeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: workersMost, DialContext: dialer.DialContext}}}
}

func (w *workers) start(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(ctx)
	for n := range workersMost {
		random := rand.New(rand.NewPCG(uint64(w.d.Seed), uint64(100+n)))
		w.done.Go(func() { w.work(ctx, random) })
	}
}

func (w *workers) stop() {
	w.cancel()
	w.done.Wait()
	w.client.CloseIdleConnections()
}

// send sends a request to one of the servers. A status of 0 means that the answer is not known.
func (w *workers) send(ctx context.Context, random *rand.Rand, method, path, body string) (status int, text []byte) {
	req, err := http.NewRequestWithContext(ctx, method, w.d.queues[random.IntN(len(w.d.queues))]+path,
		strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	res, err := w.client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	if text, err = io.ReadAll(res.Body); err != nil {
		return 0, nil
	}
	return res.StatusCode, text
}

type answer struct {
	JobID string `json:"job_id"`
	Queue string
	Data  []byte
	Claim int64
	State []byte
}

// work claims jobs and ends them until ctx ends. The end of the test must not hide an answer.
func (w *workers) work(ctx context.Context, random *rand.Rand) {
	sending := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		began := time.Now()
		status, text := w.send(sending, random, http.MethodGet, fmt.Sprintf("/%s?timeout=%d&ttr=60&claim=true&count=%d",
			strings.Join(taskNames, ","), pollSeconds, claimsMost), "")
		var jobs []answer
		switch {
		case status == http.StatusOK && json.Unmarshal(text, &jobs) == nil:
		case status != http.StatusNotFound:
			w.history.unanswered()
			fallthrough
		default:
			_ = wait(ctx, pace)
			continue
		}
		at := time.Now()
		for _, j := range jobs {
			w.end(sending, random, j, began, at)
		}
	}
}

// end does with a job what workers do.
func (w *workers) end(ctx context.Context, random *rand.Rand, j answer, began, at time.Time) {
	var body external.Body
	if err := json.Unmarshal(j.Data, &body); err != nil {
		w.history.puzzles("job %s has the body %q: %v", j.JobID, j.Data, err)
		return
	}
	run, err := strconv.ParseInt(body.RunID, 10, 64)
	if err != nil || body.Task != j.Queue || body.Media != "system" {
		w.history.puzzles("job %s of %s has the body %q", j.JobID, j.Queue, j.Data)
		return
	}
	w.history.delivers(j.JobID, delivery{attempt: attempt{run, body.Part, body.Attempt}, claim: j.Claim, began: began,
		at: at, state: string(j.State)})
	_ = wait(ctx, time.Duration(random.Int64N(int64(pace))))
	chance := nacked
	if body.Attempt > 0 {
		chance *= 3
	}
	switch {
	case random.IntN(died) == 0:
	case random.IntN(released) == 0:
		w.do(ctx, random, j, end{verb: release, text: fmt.Sprintf("until claim %d", j.Claim)}, http.MethodPost,
			fmt.Sprintf("/release?claim=%d&delay=%d", j.Claim, random.IntN(2)))
	case random.IntN(chance) == 0:
		w.do(ctx, random, j, end{verb: nack, text: fmt.Sprintf("refused by claim %d", j.Claim)}, http.MethodPost,
			fmt.Sprintf("/nack?claim=%d", j.Claim))
	default:
		rows := int64(random.IntN(2) * random.IntN(rowsMost))
		w.do(ctx, random, j, end{verb: ack, rows: rows}, http.MethodDelete, fmt.Sprintf("?rows=%d", rows))
	}
}

// do ends a claim, and notes that before it is known whether it was done.
func (w *workers) do(ctx context.Context, random *rand.Rand, j answer, e end, method, path string) {
	e.began = time.Now()
	note := w.history.ends(j.JobID, e)
	status, _ := w.send(ctx, random, method, "/"+j.Queue+"/job/"+j.JobID+path, e.text)
	switch {
	case status == http.StatusNoContent:
		note(done)
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		note(refused)
	}
}
