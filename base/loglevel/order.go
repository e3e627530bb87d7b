// Package loglevel changes the log level of a deployment's processes while they run. An order in Redis, made through
// any producer's API, applies for a time to every process that it names, consumers included. So operators need not
// reach each process, and no process stays on debug permanently. Redis may be away, or emptied: the processes then
// log at their configured level.
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

// Order sets the log level of processes for a time.
type Order struct {
	Level string // as telemetry.ParseLevel reads it
	Role  string // the role of the processes; empty for all
	Node  string // the node of the one process, as in its logs; empty for all
	By    string
}

// Orders keeps the order of a deployment.
type Orders struct {
	cache goredis.UniversalClient
	key   string
}

// NewOrders returns the Orders of the deployment with the given keys.
func NewOrders(cache goredis.UniversalClient, keys redis.Keys) *Orders {
	return &Orders{cache: cache, key: keys.Of("log", "level")}
}

// Put makes an order, which replaces the one before.
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

// End removes the order.
func (o *Orders) End(ctx context.Context) error {
	if err := o.cache.Del(ctx, o.key).Err(); err != nil {
		return fmt.Errorf("end the order of a log level: %w", err)
	}
	return nil
}

// Current returns the order and its remaining time, zero without an order.
func (o *Orders) Current(ctx context.Context) (Order, time.Duration, error) {
	var text *goredis.StringCmd
	var left *goredis.DurationCmd
	// Both are read in one transaction, so that an order that ends in between is not returned in part.
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
