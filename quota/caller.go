package quota

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"adsync/base/clock"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/redis"
	"adsync/simulator"
	"adsync/simulator/platform"
)

// ready is what a caller writes before it calls.
const ready = "ready"

// Call is one process of a drill: it reads its order, reports that it is ready, and calls until ctx or its input
// ends.
func Call(ctx context.Context, in io.Reader, out, log io.Writer) error {
	var o Order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	redisConfig := redis.DefaultConfig()
	redisConfig.Addrs = []string{o.Redis}
	client, err := redis.Open(redisConfig)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	cfg := ratelimit.DefaultConfig()
	cfg.ArrivalSpread, cfg.Members = o.Spread, o.Members
	logger := slog.New(slog.NewTextHandler(log, nil)).With("caller", o.Process)
	c := &caller{
		Order: o, log: logger, platform: simulator.First(),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: 10 * time.Second},
	}
	var all sync.WaitGroup
	if o.Limiter == LimiterOurs || o.Limiter == LimiterPlain {
		cfg.Plain = o.Limiter == LimiterPlain
		w := ratelimit.New(cfg, client, redis.NewKeys("drill"), nil, Scenario{Limits: o.Limits}.Rules(), nil, logger)
		all.Go(func() { w.Listen(ctx) })
		c.waiter = ours{w}
	} else {
		c.waiter = cells{client, o.Limits}
	}
	for _, d := range o.Demands {
		all.Go(func() { c.want(ctx, d) })
	}
	if _, err := fmt.Fprintln(out, ready); err != nil {
		return err
	}
	all.Wait()
	return nil
}

// ours is the limiter of base/ratelimit. Its callers send at once, which is what is measured.
type ours struct{ *ratelimit.Waiter }

func (o ours) Wait(ctx context.Context, c grant.Call) error {
	_, err := o.Waiter.Wait(ctx, c)
	return err
}

type caller struct {
	Order
	log      *slog.Logger
	platform platform.Platform
	waiter   waiter
	http     *http.Client
}

// want starts the calls of a demand, until ctx ends.
func (c *caller) want(ctx context.Context, d Demand) {
	var open sync.WaitGroup
	defer open.Wait()
	var waiting atomic.Int64
	next := clock.Mark()
	for {
		next = next.Add(time.Duration(rand.ExpFloat64() / d.PerSecond * float64(time.Second)))
		timer := time.NewTimer(clock.Until(next))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if d.Most > 0 && waiting.Load() >= int64(d.Most) {
			continue
		}
		call := d.Call
		if len(d.Accounts) > 0 {
			call.Account = d.Accounts[rand.IntN(len(d.Accounts))]
		}
		waiting.Add(1)
		open.Go(func() {
			err := c.waiter.Wait(ratelimit.WithImportance(ctx, d.Importance), call)
			waiting.Add(-1)
			if err == nil {
				err = c.call(ctx, d, call.Account)
			}
			if err != nil && ctx.Err() == nil {
				c.log.WarnContext(ctx, "a call failed", "err", err)
			}
		})
	}
}

func (c *caller) call(ctx context.Context, d Demand, account string) error {
	req, err := c.request(ctx, d, account)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Code != 0 {
		return errors.New(answer.Message)
	}
	return nil
}
