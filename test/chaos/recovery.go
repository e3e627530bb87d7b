package main

import (
	"context"
	"time"

	"adsync/test/chaos/judge"
)

// spared is the share of their rate that calls must keep if their servers are not touched.
const spared = 0.4

// loss is the loss of a server.
type loss struct {
	at time.Time
	// media are the platforms whose calls it stops; the calls of others continue.
	media []string
	// others means that those calls must keep their rate. They are judged up to until.
	others []string
}

// lose records that a server is lost now. Wait for judge.BeforeLoss before the call, and for judge.BackWithin and
// judge.CallsWindow after it.
func (t *trial) lose(media, others []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.losses = append(t.losses, loss{at: time.Now(), media: media, others: others})
}

// checkCallsAreBack judges by the platforms' ledger how soon calls came back after each loss, and whether unaffected
// calls continued.
func checkCallsAreBack(ctx context.Context, t *trial) error {
	calls, err := t.world.CallsBySecond(ctx)
	if err != nil {
		return err
	}
	for _, l := range t.losses {
		for _, media := range l.media {
			after, ok := judge.BackAfter(calls[media], l.at)
			t.log("calls to %s are back after %s: %t", media, after, ok)
			if !ok {
				t.complain("calls to %s were not back to %.0f %% of their rate within %s of a loss", media, 100*judge.BackShare,
					judge.BackWithin)
			}
		}
		for _, media := range l.others {
			if least := judge.LeastShare(calls[media], l.at); least < spared {
				t.complain("calls to %s fell to %.0f %% of their rate, though nothing that they need was lost", media, 100*least)
			} else {
				t.log("calls to %s kept at least %.0f %% of their rate", media, 100*least)
			}
		}
	}
	return nil
}
