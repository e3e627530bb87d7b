package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// refusals are the beginnings of a server's errors that stay the same until the server or the user's rights are
// changed. inScript are the texts for a command within a script: of Redis 7.0, and of later ones.
var (
	refusals = []string{"NOPERM ", "NOAUTH ", "WRONGPASS ", "OOM ", "MISCONF "}
	inScript = []string{"The user executing the script can't ", "ACL failure in script"}
)

// Refused reports whether the server answered and refused the request: the user lacks a right or gave a wrong
// password, or the server's memory is full. A server that refuses is not away: its data is still valid.
func Refused(err error) bool {
	answer, ok := errors.AsType[goredis.Error](err)
	if !ok {
		return false
	}
	text := answer.Error()
	return slices.ContainsFunc(refusals, func(word string) bool { return strings.HasPrefix(text, word) }) ||
		slices.ContainsFunc(inScript, func(words string) bool { return strings.Contains(text, words) })
}

// keysScript does with the key KEYS[1] what adsync's scripts do.
var keysScript = goredis.NewScript(`
redis.call('TIME')
redis.call('SET', KEYS[1], '1', 'PX', 1000)
redis.call('GET', KEYS[1])
redis.call('PTTL', KEYS[1])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'a', '1')
redis.call('HINCRBY', KEYS[1], 'a', 1)
redis.call('HGET', KEYS[1], 'a')
redis.call('HGETALL', KEYS[1])
redis.call('HLEN', KEYS[1])
redis.call('HDEL', KEYS[1], 'a')
redis.call('ZADD', KEYS[1], '1', 'a')
redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '+inf')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '0')
redis.call('PEXPIRE', KEYS[1], 1000)
redis.call('ZREM', KEYS[1], 'a')
return 1
`)

// CheckRights tries what adsync does with keys and channels of a deployment's prefix. Its error names the rights that
// the user lacks, in the form of ACL SETUSER. An error for which Refused is false means that the server does not
// answer.
func CheckRights(ctx context.Context, client goredis.UniversalClient, keys Keys) error {
	name := keys.Of("rights", "check") // of a key, and of a channel
	if err := keysScript.Run(ctx, client, []string{name}).Err(); err != nil {
		return lacking("keys of adsync", "~"+keys.Prefix()+":* +@read +@write +@scripting +@connection +@pubsub +time +info",
			err)
	}
	// Without it no process notices that a second server takes writes during a failover.
	if err := client.Info(ctx, "server").Err(); err != nil && Refused(err) {
		return lacking("command INFO", "+info", err)
	}
	channels := fmt.Sprintf("&%s:*", keys.Prefix())
	if err := client.Publish(ctx, name, "").Err(); err != nil {
		return lacking("channels of adsync", channels, err)
	}
	sub := client.Subscribe(ctx, name)
	defer func() { _ = sub.Close() }()
	if _, err := sub.Receive(ctx); err != nil {
		return lacking("channels of adsync", channels, err)
	}
	return nil
}

func lacking(what, rights string, err error) error {
	if !Refused(err) {
		return err
	}
	return fmt.Errorf("the user may not use the %s (%w): give it the rights %s by ACL SETUSER", what, err, rights)
}
