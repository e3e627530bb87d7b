package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/secret"
	"adsync/media"
)

// The places to which sealed texts are bound: a text that is copied to another row does not open there.
func accessPlace(id int64) string          { return fmt.Sprintf("media_token/%d/access", id) }
func refreshPlace(id int64) string         { return fmt.Sprintf("media_token/%d/refresh", id) }
func appPlace(mediaName, id string) string { return "media_app/" + mediaName + "/" + id }

// sharedToken is a login as Redis holds it: all that a call needs, sealed as in the table.
type sharedToken struct {
	AppID      string    `json:"app_id"`
	Login      string    `json:"login"`
	Name       string    `json:"name"`
	Access     string    `json:"access"`
	Expires    time.Time `json:"expires"`
	Generation int64     `json:"generation"`
}

const (
	redisTimeout = 300 * time.Millisecond
	redisRest    = 2 * time.Second
)

// askRedis runs a command and reports whether Redis answered. It skips the command if Redis has just failed to
// answer.
func (k *Keeper) askRedis(ctx context.Context, do func(ctx context.Context) error) bool {
	if k.Redis == nil || clock.Mark().UnixNano() < k.redisAway.Load() {
		return false
	}
	bounded, cancel := context.WithTimeout(ctx, k.redisTimeout)
	defer cancel()
	err := do(bounded)
	if err == nil || errors.Is(err, goredis.Nil) {
		return err == nil
	}
	k.metrics.redisErrors.WithLabelValues(k.Platform.Name()).Inc()
	if ctx.Err() == nil {
		k.redisAway.Store(clock.Mark().Add(redisRest).UnixNano())
	}
	return false
}

// sharedLasts is how long Redis keeps a login that is not refreshed.
const sharedLasts = 24 * time.Hour

func (k *Keeper) redisKey(id int64) string {
	return k.Keys.Of(k.Platform.Name(), "token", fmt.Sprint(id))
}

// shared returns the login that another process has put into Redis. It may be an old one, as processes write in no
// fixed order. Then the platform refuses it, and the table has the newest.
func (k *Keeper) shared(ctx context.Context, id int64) (Login, bool) {
	var data []byte
	found := k.askRedis(ctx, func(ctx context.Context) (err error) {
		data, err = k.Redis.Get(ctx, k.redisKey(id)).Bytes()
		return err
	})
	if !found {
		return Login{}, false
	}
	var t sharedToken
	if err := json.Unmarshal(data, &t); err != nil {
		return Login{}, false
	}
	access, err := k.Box.Open(t.Access, accessPlace(id))
	if err != nil {
		return Login{}, false
	}
	return Login{ID: id, App: media.App{ID: t.AppID}, Who: media.Login{ID: t.Login, Name: t.Name},
		Access: secret.NewText(access), Expires: t.Expires, Generation: t.Generation}, true
}

// share puts a login into Redis for the other processes.
func (k *Keeper) share(ctx context.Context, login Login) {
	sealed, err := k.Box.Seal(login.Access.Reveal(), accessPlace(login.ID))
	if err != nil {
		return
	}
	data, err := json.Marshal(sharedToken{AppID: login.App.ID, Login: login.Who.ID, Name: login.Who.Name, Access: sealed,
		Expires: login.Expires, Generation: login.Generation})
	if err != nil {
		return
	}
	k.askRedis(ctx, func(ctx context.Context) error {
		return k.Redis.Set(ctx, k.redisKey(login.ID), data, sharedLasts).Err()
	})
}

// unshare removes a parked login's token from Redis: otherwise each process that starts to use the login would try
// it.
func (k *Keeper) unshare(ctx context.Context, id int64) {
	k.askRedis(ctx, func(ctx context.Context) error { return k.Redis.Del(ctx, k.redisKey(id)).Err() })
}
