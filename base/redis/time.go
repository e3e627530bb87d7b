package redis

import (
	"context"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// timeScript returns the time of the server that has the key KEYS[1], in microseconds since 1970.
var timeScript = goredis.NewScript(`
local time = redis.call('TIME')
return time[1] * 1000000 + time[2]
`)

// TimeOf returns the time of the server that has a key. In a cluster TIME alone goes to any server, and each has its
// own clock.
func TimeOf(ctx context.Context, client goredis.UniversalClient, key string) (time.Time, error) {
	micros, err := timeScript.Run(ctx, client, []string{key}).Int64()
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMicro(micros), nil
}
