package queueing

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	publishers = 6
	consumers  = 8
	ttr        = 4 * time.Second
	tries      = 60
	// pollSeconds is how long a consumer waits for a job.
	pollSeconds = 2
	// clientTimeout is how long a client waits for an answer.
	clientTimeout = 5 * time.Second
	// pace is about how long a client pauses between requests, so that the queue has some jobs and the load is steady.
	pace = 20 * time.Millisecond
	// stays is after about how many answers a consumer returns to the process that did not answer.
	stays = 20
	// abandoned is of how many deliveries one is forgotten, as by a consumer that dies, and nacked of how many one is
	// ended without success.
	abandoned, nacked = 40, 20
	// slow is of how many acknowledged deliveries one takes longer, up to slowMost, while its consumer continues.
	slow     = 3
	slowMost = ttr * 5 / 8
)

// queueNames are the queues of the clients.
var queueNames = []string{"a", "b", "c"}

// load is the clients at work.
type load struct {
	d       *desk
	history *history
	client  *http.Client

	publishing, all context.CancelFunc
	work            sync.WaitGroup
	sent            atomic.Int64
}

func newLoad(d *desk) *load {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	return &load{d: d, history: newHistory(), client: &http.Client{Timeout: clientTimeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: publishers + consumers, DialContext: dialer.DialContext}}}
}

func (l *load) start(ctx context.Context) {
	ctx, l.all = context.WithCancel(ctx)
	publishing, stop := context.WithCancel(ctx)
	l.publishing = stop
	for n := range publishers {
		random := rand.New(rand.NewPCG(uint64(l.d.Seed), uint64(1+n)))
		l.work.Go(func() { l.publish(publishing, random) })
	}
	for n := range consumers {
		random := rand.New(rand.NewPCG(uint64(l.d.Seed), uint64(100+n)))
		l.work.Go(func() { l.consume(ctx, random, n%len(l.d.queues)) })
	}
}

func (l *load) stopPublishing() { l.publishing() }

func (l *load) stop() {
	l.all()
	l.work.Wait()
	l.client.CloseIdleConnections()
}

// send sends a request to one of the processes. A status of 0 means that the answer is not known.
func (l *load) send(ctx context.Context, random *rand.Rand, method, path, body string) (status int, text []byte) {
	return l.sendTo(ctx, random.IntN(len(l.d.queues)), method, path, body)
}

// sendTo sends a request to one process.
func (l *load) sendTo(ctx context.Context, to int, method, path, body string) (status int, text []byte) {
	req, err := http.NewRequestWithContext(ctx, method, l.d.queues[to]+path, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	res, err := l.client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	if text, err = io.ReadAll(res.Body); err != nil {
		return 0, nil
	}
	return res.StatusCode, text
}

func pause(ctx context.Context, random *rand.Rand, d time.Duration) {
	_ = wait(ctx, d/2+time.Duration(random.Int64N(int64(d))))
}

// publish publishes until ctx ends: single jobs, bulks, and some with a delay.
func (l *load) publish(ctx context.Context, random *rand.Rand) {
	// The end of the load must not hide an answer.
	sending := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		queue := queueNames[random.IntN(len(queueNames))]
		path := fmt.Sprintf("/%s?ttl=0&tries=%d&delay=%d", queue, tries, max(0, random.IntN(10)-8))
		bodies := make([]string, 1+random.IntN(2)*random.IntN(9))
		for i := range bodies {
			bodies[i] = fmt.Sprintf("%q", fmt.Sprint("job ", l.sent.Add(1)))
			l.history.tries(bodies[i])
		}
		if len(bodies) == 1 {
			status, text := l.send(sending, random, http.MethodPut, path, bodies[0])
			var a struct {
				JobID string `json:"job_id"`
			}
			if status == http.StatusCreated && json.Unmarshal(text, &a) == nil {
				l.history.publishes(a.JobID, bodies[0])
			}
		} else {
			path = strings.Replace(path, "?", "/bulk?", 1)
			status, text := l.send(sending, random, http.MethodPut, path, "["+strings.Join(bodies, ",")+"]")
			var a struct {
				JobIDs []string `json:"job_ids"`
			}
			if status == http.StatusCreated && json.Unmarshal(text, &a) == nil {
				for i, id := range a.JobIDs {
					l.history.publishes(id, bodies[i])
				}
			}
		}
		pause(ctx, random, 4*pace)
	}
}

type answer struct {
	JobID string `json:"job_id"`
	Queue string
	Data  []byte
	Claim int64
}

// consume consumes and acknowledges until ctx ends. It asks one process, and another for a while if that does not
// answer.
func (l *load) consume(ctx context.Context, random *rand.Rand, home int) {
	from := home
	sending := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		names := append([]string{}, queueNames...)
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		began := time.Now()
		status, text := l.sendTo(sending, from, http.MethodGet, fmt.Sprintf("/%s?timeout=%d&ttr=%d&claim=true&count=%d",
			strings.Join(names, ","), pollSeconds, int(ttr.Seconds()), 2+random.IntN(3)), "")
		var jobs []answer
		switch {
		case status == 0:
			from = random.IntN(len(l.d.queues))
		case random.IntN(stays) == 0:
			from = home
		}
		if status != http.StatusOK || json.Unmarshal(text, &jobs) != nil {
			pause(ctx, random, pace)
			continue
		}
		at := time.Now()
		for _, j := range jobs {
			l.end(sending, random, j, delivery{body: string(j.Data), began: began, at: at})
		}
		pause(ctx, random, pace)
	}
}

// end does with a delivered job what consumers do: most acknowledge it, some end it without success, and some die.
func (l *load) end(ctx context.Context, random *rand.Rand, j answer, d delivery) {
	path := "/" + j.Queue + "/job/" + j.JobID
	switch chance := random.IntN(abandoned * nacked); {
	case chance%abandoned == 0:
		l.history.delivers(j.JobID, d)
	case chance%nacked == 1:
		d.nacked = time.Now()
		if status, _ := l.send(ctx, random, http.MethodPost, fmt.Sprintf("%s/nack?claim=%d", path, j.Claim),
			"of the test"); status >= http.StatusBadRequest {
			d.nacked = time.Time{}
		}
		l.history.delivers(j.JobID, d)
	case chance%slow == 2:
		l.history.delivers(j.JobID, d)
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		l.work.Go(func() {
			_ = wait(ctx, time.Duration(own.Int64N(int64(slowMost))))
			l.acknowledge(ctx, own, j.JobID, path)
		})
	default:
		l.history.delivers(j.JobID, d)
		l.acknowledge(ctx, random, j.JobID, path)
	}
}

func (l *load) acknowledge(ctx context.Context, random *rand.Rand, id, path string) {
	a := ack{began: time.Now()}
	if status, _ := l.send(ctx, random, http.MethodDelete, path, ""); status == http.StatusNoContent {
		a.ended = time.Now()
	}
	l.history.acknowledges(id, a)
}
