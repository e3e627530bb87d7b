package page_test

import (
	"context"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media/mediatest/invented"
	"adsync/producer/overview/overviewtest"
)

// limits returns limits as from Redis.
type limits struct{}

func (limits) State(_ context.Context, media string) ([]grant.LimitState, []grant.PauseState, error) {
	if media != invented.Tulip {
		return nil, nil, nil
	}
	key := func(endpoint string, period time.Duration, limit int) grant.Key {
		return grant.Key{Media: media, Endpoint: endpoint, Scope: grant.ScopeApp, Subject: "1110000001", Period: period,
			Limit: limit, Share: 0.95}
	}
	return []grant.LimitState{
			{Key: key("hourly_reports/get", time.Minute, 600), Part: 1, Window: 568, LastMinute: 1021,
				Lanes: []grant.LaneState{{Wanted: 812}}},
			{Key: key("adgroups/get", time.Minute, 300), Part: 0.9, Window: 120, LastMinute: 118},
			{Key: key("*", 24*time.Hour, 10_000_000), Part: 1, Window: 2_345_678},
		}, []grant.PauseState{
			{Media: media, Endpoint: "dynamic_creatives/get", Scope: grant.ScopeApp, Subject: "1110000001",
				Until: overviewtest.Now.Add(90 * time.Second), Times: 2},
		}, nil
}
