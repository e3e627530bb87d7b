package redis_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/redis"
	"adsync/base/redis/redistest"
)

func TestCheckRights_NamesMissingRights(t *testing.T) {
	t.Parallel()
	client, keys := redistest.New(t)
	require.NoError(t, redis.CheckRights(t.Context(), client, keys))
	own := "~" + keys.Prefix() + ":*"
	for name, c := range map[string]struct {
		rights []string
		want   string
	}{
		"all needed rights": {[]string{own, "&" + keys.Prefix() + ":*", "+@read", "+@write", "+@scripting", "+@connection",
			"+@pubsub", "+time", "+info"}, ""},
		"no INFO":            {[]string{own, "allchannels", "+@all", "-info"}, "the rights +info by ACL SETUSER"},
		"no channel":         {[]string{own, "+@all"}, "the rights &" + keys.Prefix() + ":* by ACL SETUSER"},
		"other keys":         {[]string{"~other:*", "allchannels", "+@all"}, "the rights " + own + " +@read"},
		"no scripts":         {[]string{own, "allchannels", "+@all", "-@scripting"}, "+@scripting"},
		"no hashes":          {[]string{own, "allchannels", "+@all", "-@hash"}, "+@write"},
		"no channels at all": {[]string{own, "allchannels", "+@all", "-subscribe"}, "the rights &" + keys.Prefix()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := redis.CheckRights(t.Context(), redistest.As(t, client, c.rights...), keys)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.True(t, redis.Refused(err))
		})
	}
}

func TestRefused_IsAnAnswerOfAServer(t *testing.T) {
	t.Parallel()
	client, _ := redistest.New(t)
	require.False(t, redis.Refused(client.Do(t.Context(), "NOSUCH").Err()), "an answer of another kind")
	require.False(t, redis.Refused(context.DeadlineExceeded))
	require.False(t, redis.Refused(errors.New("NOPERM in an error of our own")))
	require.NoError(t, client.Close())
	require.False(t, redis.Refused(client.Ping(t.Context()).Err()))
}
