package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"adsync/base/plural"
	"adsync/base/roster"
	"adsync/client"
)

// slowItems lists the endpoints that answer slowly.
type slowItems struct {
	*facts

	consumers Consumers // may be nil
}

// addSlow lists the endpoints that answer slowly, with the accounts of the slow calls.
func (l *slowItems) addSlow(ctx context.Context) error {
	if l.consumers == nil {
		return nil
	}
	living, err := l.consumers.List(ctx)
	if err != nil {
		l.trouble("consumers", err)
		return nil
	}
	type key struct{ media, endpoint string }
	sums, took := map[key]roster.Slow{}, map[key]float64{}
	for _, p := range living {
		for _, s := range p.Slow {
			k := key{s.Media, s.Endpoint}
			sum := sums[k]
			sum.Calls += s.Calls
			sum.Slow += s.Slow
			sum.Accounts = append(sum.Accounts, s.Accounts...)
			sums[k] = sum
			took[k] += s.Seconds * float64(s.Slow)
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.media, b.media), cmp.Compare(a.endpoint, b.endpoint))
	})
	for _, k := range keys {
		sum := sums[k]
		a := item{Attention: client.Attention{Kind: "slow", Severity: Warn, Media: k.media,
			Title: "Calls of " + k.endpoint + " are slow", MoneyOf: "a day of these accounts",
			Cause: fmt.Sprintf(
				"%d of %s of the last minutes took %.1f s on average. Each holds a slot of its lane meanwhile; %s.",
				sum.Slow, plural.Count(sum.Calls, "call", "calls"), took[k]/float64(max(sum.Slow, 1)), busiest(living, k.media)),
			Remedy: "Where slots are short, raise pool_size of the lane while it lasts. If it lasts for hours, ask the " +
				"platform, and pause the tasks that need it.",
			Command: "adsync consumers"}}
		for _, text := range sum.Accounts {
			if id, err := strconv.ParseInt(text, 10, 64); err == nil {
				a.ids = append(a.ids, id)
			}
		}
		a.count()
		l.add(a)
	}
	return nil
}

// slotsShort is the used part of a lane's slots from which they are short.
const slotsShort = 0.8

// busiest returns a text about the media's lane with the fewest free slots.
func busiest(living []roster.Process, media string) string {
	running, capacity := map[string]int{}, map[string]int{}
	for _, p := range living {
		for _, pool := range p.Pools {
			if pool.Media == media {
				running[pool.Lane] += pool.Running
				capacity[pool.Lane] += pool.Capacity
			}
		}
	}
	lane, part := "", 0.0
	for _, name := range slices.Sorted(maps.Keys(capacity)) {
		if of := float64(running[name]) / float64(max(capacity[name], 1)); of > part {
			lane, part = name, of
		}
	}
	if part < slotsShort {
		return "no lane is short of slots"
	}
	return fmt.Sprintf("the lane %s uses %d of its %d slots", lane, min(running[lane], capacity[lane]), capacity[lane])
}

// Consumers lists the live consumers, each with its pools and slow endpoints.
type Consumers interface {
	List(ctx context.Context) ([]roster.Process, error)
}
