// Package loglevel changes what the processes of a deployment log while they run: an order in Redis, made over any producer's API, holds in every
// process that it names, consumers included, for a time. Nobody need reach each of them, and none stays on debug for ever. Redis may be away, or emptied:
// the processes then log as they are configured to.
package loglevel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/redis"
)

// Order has processes log at a level other than their own.
type Order struct {
	Level string // as telemetry.ParseLevel reads it
	Role  string // of the processes; empty for all
	Node  string // of the one process, as its logs name it; empty for all
	By    string
}

// Orders keeps the order of a deployment.
type Orders struct {
	cache goredis.UniversalClient
	key   string
}

// NewOrders returns the Orders of the deployment that has the keys.
func NewOrders(cache goredis.UniversalClient, keys redis.Keys) *Orders {
	return &Orders{cache: cache, key: keys.Of("log", "level")}
}

// Put makes an order, in the place of the one before.
func (o *Orders) Put(ctx context.Context, order Order, lasts time.Duration) error {
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	if err := o.cache.Set(ctx, o.key, text, lasts).Err(); err != nil {
		return fmt.Errorf("order a log level: %w", err)
	}
	return nil
}

// End takes the order back.
func (o *Orders) End(ctx context.Context) error {
	if err := o.cache.Del(ctx, o.key).Err(); err != nil {
		return fmt.Errorf("end the order of a log level: %w", err)
	}
	return nil
}

// Current returns the order and how long it still holds, zero if there is none.
func (o *Orders) Current(ctx context.Context) (Order, time.Duration, error) {
	var text *goredis.StringCmd
	var left *goredis.DurationCmd
	// In one transaction: of an order that ends in between, neither is told.
	_, err := o.cache.TxPipelined(ctx, func(p goredis.Pipeliner) error {
		text, left = p.Get(ctx, o.key), p.PTTL(ctx, o.key)
		return nil
	})
	if errors.Is(err, goredis.Nil) {
		return Order{}, 0, nil
	}
	if err != nil {
		return Order{}, 0, fmt.Errorf("read the order of a log level: %w", err)
	}
	var order Order
	if err := json.Unmarshal([]byte(text.Val()), &order); err != nil {
		return Order{}, 0, fmt.Errorf("read the order of a log level: %w", err)
	}
	return order, left.Val(), nil
}
