package queueing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/test/chaos/judge"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(1_800_000_000+int64(seconds), 0) }
	one := func(change func(*history)) *history {
		h := newHistory()
		h.tries("x")
		h.publishes("1", "x")
		h.delivers("1", delivery{body: "x", began: at(0), at: at(1)})
		h.acknowledges("1", ack{began: at(2), ended: at(3)})
		change(h)
		return h
	}
	for name, c := range map[string]struct {
		change func(*history)
		early  bool
		dead   bool
		kind   judge.Kind // "" for a history in which all holds
	}{
		"all is well": {change: func(*history) {}},
		"a publication without an answer may be delivered": {change: func(h *history) { delete(h.published, "1") }},
		"a published job that nobody had": {kind: judge.Lost, change: func(h *history) {
			h.tries("y")
			h.publishes("2", "y")
		}},
		"a published job that only was delivered": {kind: judge.Lost, change: func(h *history) { delete(h.acks, "1") }},
		"a dead letter":                        {dead: true, change: func(h *history) { delete(h.acks, "1") }},
		"an acknowledgement without an answer": {change: func(h *history) { h.acks["1"][0].ended = time.Time{} }},
		"a job that nobody published": {kind: judge.Wrong, change: func(h *history) {
			h.delivers("3", delivery{body: "z", began: at(0), at: at(1)})
		}},
		"another body": {kind: judge.Wrong, change: func(h *history) {
			h.tries("y")
			h.published["1"] = "y"
		}},
		"delivered after its acknowledgement": {kind: judge.Doubled, change: func(h *history) {
			h.delivers("1", delivery{body: "x", began: at(99), at: at(100)})
		}},
		"delivered again because the acknowledgement was not answered": {change: func(h *history) {
			h.acks["1"][0].ended = time.Time{}
			h.delivers("1", delivery{body: "x", began: at(99), at: at(100)})
		}},
		"delivered twice within its time to run": {kind: judge.Doubled, change: func(h *history) {
			h.acks["1"][0].ended = time.Time{}
			h.delivers("1", delivery{body: "x", began: at(2), at: at(4)})
		}},
		"delivered again after a nack": {change: func(h *history) {
			h.acks["1"][0].ended = time.Time{}
			h.deliveries["1"][0].nacked = at(2)
			h.delivers("1", delivery{body: "x", began: at(2), at: at(4)})
		}},
		"a claim that lapsed by a wrong clock": {early: true, change: func(h *history) {
			h.acks["1"][0].ended = time.Time{}
			h.delivers("1", delivery{body: "x", began: at(2), at: at(4)})
		}},
	} {
		f := one(c.change).judge(map[string]bool{"1": c.dead}, 10*time.Second, c.early)
		if c.kind == "" {
			require.Empty(t, f.problems, name)
			continue
		}
		require.Len(t, f.problems, 1, name)
		require.Equal(t, c.kind, f.problems[0].Kind, name)
	}
}
