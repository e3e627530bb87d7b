package queueing

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"adsync/test/chaos/judge"
)

// history is what the clients tried and what they were answered.
type history struct {
	mu         sync.Mutex
	attempts   map[string]bool   // bodies that somebody tried to publish
	published  map[string]string // bodies by the ids of publications that were answered
	deliveries map[string][]delivery
	acks       map[string][]ack
}

// delivery is an answer with a job. began is when it was asked for, and at when it arrived; both are of this process.
type delivery struct {
	body      string
	began, at time.Time
	nacked    time.Time // when an answered nack began; zero without one
}

// ack is an attempt to acknowledge a job. ended is when it was answered; zero if it was not.
type ack struct{ began, ended time.Time }

func newHistory() *history {
	return &history{attempts: map[string]bool{}, published: map[string]string{}, deliveries: map[string][]delivery{},
		acks: map[string][]ack{}}
}

func (h *history) tries(body string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attempts[body] = true
}

func (h *history) publishes(id, body string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.published[id] = body
}

func (h *history) delivers(id string, d delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deliveries[id] = append(h.deliveries[id], d)
}

func (h *history) acknowledges(id string, a ack) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acks[id] = append(h.acks[id], a)
}

// findings are what a history shows.
type findings struct {
	published int
	again     int // deliveries of jobs that had been delivered before
	problems  []judge.Problem
}

// slack is how much earlier than its time to run a claim may seem to end: answers take time, and the server's clock is
// compared with this one.
const slack = time.Second

// judge compares the history with what must hold. dead are the ids of dead letters. Without earlyLapse a claim belongs
// to its consumer for its whole time to run.
func (h *history) judge(dead map[string]bool, ttr time.Duration, earlyLapse bool) findings {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := findings{published: len(h.published)}
	tell := func(kind judge.Kind, at time.Time, format string, args ...any) {
		f.problems = append(f.problems, judge.Problem{Kind: kind, Text: fmt.Sprintf(format, args...), At: at})
	}
	for id, body := range h.published {
		if len(h.acks[id]) == 0 && !dead[id] {
			tell(judge.Lost, time.Time{}, "job %s (%s) was published, and nobody had it: it is lost", id, body)
		}
	}
	for id, all := range h.deliveries {
		slices.SortFunc(all, func(a, b delivery) int { return a.at.Compare(b.at) })
		f.again += len(all) - 1
		for n, d := range all {
			if !h.attempts[d.body] {
				tell(judge.Wrong, d.at, "job %s (%q) was delivered, and nobody tried to publish it", id, d.body)
			}
			if body, known := h.published[id]; known && body != d.body {
				tell(judge.Wrong, d.at, "job %s was published as %q and delivered as %q", id, body, d.body)
			}
			for _, a := range h.acks[id] {
				if !a.ended.IsZero() && d.began.After(a.ended) {
					tell(judge.Doubled, d.at, "job %s (%s) was delivered %s after its acknowledgement was answered", id, d.body,
						d.began.Sub(a.ended))
				}
			}
			if n == 0 || earlyLapse {
				continue
			}
			before := all[n-1]
			if held := d.at.Sub(before.at); before.nacked.IsZero() && held < ttr-slack {
				tell(judge.Doubled, d.at, "job %s (%s) was delivered twice within %s: its claim was for %s", id, d.body, held, ttr)
			}
		}
	}
	slices.SortFunc(f.problems, func(a, b judge.Problem) int { return cmp.Compare(a.Text, b.Text) })
	return f
}
