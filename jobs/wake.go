package jobs

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/store/jobstore"
	"adsync/base/telemetry"
)

// wake announces ready jobs to the other processes through Redis, so that their polls need not wait for their next
// look. What gets lost, or while Redis is away, their looks find.
type wake struct {
	redis   goredis.UniversalClient
	channel string
	self    string // this process
	desks   *desks
	causes  *telemetry.CauseLog

	mu      sync.Mutex
	waiting map[jobstore.Shelf]*note
	sending bool

	cancel context.CancelFunc
	work   sync.WaitGroup
}

// note is a shelf with ready jobs, as it is sent.
type note struct {
	Queue jobstore.QueueID `json:"q"`
	Table string           `json:"t"`
	Band  int              `json:"b"`
	Since int64            `json:"s"` // milliseconds since 1970
	Jobs  int              `json:"n"`
}

type notes struct {
	From  string  `json:"from"`
	Notes []*note `json:"notes"`
}

const (
	// wakeTimeout bounds one message: later ones say more.
	wakeTimeout = time.Second
	// noteJobsMax bounds how many polls a note wakes.
	noteJobsMax = 1000
	// resubscribePause is the pause after a subscription broke.
	resubscribePause = time.Second
)

func newWake(client goredis.UniversalClient, channel, self string, d *desks, logger *slog.Logger) *wake {
	return &wake{redis: client, channel: channel, self: self, desks: d,
		causes: telemetry.NewCauseLog(logger), waiting: map[jobstore.Shelf]*note{}, cancel: func() {}}
}

// Start implements service.Service.
func (w *wake) Start(ctx context.Context) error {
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.work.Go(func() { w.listen(ctx) })
	return nil
}

// Stop implements service.Service.
func (w *wake) Stop() {
	w.cancel()
	w.work.Wait()
}

// tell announces ready jobs. It does not wait for Redis.
func (w *wake) tell(jobs []jobstore.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range jobs {
		f := jobstore.ShelfOf(j)
		n := w.waiting[f]
		if n == nil {
			n = &note{Queue: f.Queue, Table: f.Table, Band: f.Band, Since: j.ReadyAt.UnixMilli()}
			w.waiting[f] = n
		}
		n.Since, n.Jobs = min(n.Since, j.ReadyAt.UnixMilli()), n.Jobs+1
	}
	if len(w.waiting) > 0 && !w.sending {
		w.sending = true
		w.work.Go(w.send)
	}
}

// send sends until nothing waits.
func (w *wake) send() {
	for {
		w.mu.Lock()
		waiting := w.waiting
		if w.sending = len(waiting) > 0; !w.sending {
			w.mu.Unlock()
			return
		}
		w.waiting = map[jobstore.Shelf]*note{}
		w.mu.Unlock()
		m := notes{From: w.self}
		for _, n := range waiting {
			m.Notes = append(m.Notes, n)
		}
		text, err := json.Marshal(m)
		if err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), wakeTimeout)
			err = w.redis.Publish(ctx, w.channel, text).Err()
			cancel()
		}
		if err != nil {
			w.causes.Report(slog.LevelWarn, "send", "other processes are not notified of ready jobs: they look once a second",
				err)
		} else {
			w.causes.Clear("send")
		}
	}
}

// listen receives the announcements of the others.
func (w *wake) listen(ctx context.Context) {
	for ctx.Err() == nil {
		subscription := w.redis.Subscribe(ctx, w.channel)
		// The end of ctx does not end a wait for a message.
		stop := context.AfterFunc(ctx, func() { _ = subscription.Close() })
		for {
			message, err := subscription.ReceiveMessage(ctx)
			if err != nil {
				if ctx.Err() == nil {
					w.causes.Report(slog.LevelWarn, "listen", "announcements of ready jobs are not received: this process looks once "+
						"a second", err)
				}
				break
			}
			w.causes.Clear("listen")
			w.received(message.Payload)
		}
		stop()
		_ = subscription.Close()
		select {
		case <-ctx.Done():
		case <-time.After(resubscribePause):
		}
	}
}

func (w *wake) received(text string) {
	var m notes
	if json.Unmarshal([]byte(text), &m) != nil || m.From == w.self {
		return
	}
	for _, n := range m.Notes {
		r := jobstore.Ready{Shelf: jobstore.Shelf{Queue: n.Queue, Table: n.Table, Band: n.Band},
			Since: time.UnixMilli(n.Since).UTC()}
		if !jobstore.IsShelf(r.Shelf) {
			continue
		}
		for range min(n.Jobs, noteJobsMax) {
			w.desks.found(r)
		}
	}
}
