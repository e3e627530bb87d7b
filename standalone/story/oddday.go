package story

import (
	"context"
	"time"

	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/task"
	simworld "adsync/simulator/world"
)

// hourRepeated is a pull of the hours of the last day on which a clock was put back, for an account abroad. There is
// none if the world has no such account, or if that day is further back than ago.
func hourRepeated(media string, ago int) Event {
	return Event{Name: "hour repeated", what: "both hours of its name are added up", lasting: true,
		begin: func(ctx context.Context, p *Story, _ time.Time) (metFunc, error) {
			var accounts []settings.Account
			const query = "SELECT id, timezone FROM media_account WHERE media = ? AND parked = '' ORDER BY id"
			if err := p.store.Config.Writer(ctx).Raw(query, media).Scan(&accounts).Error; err != nil {
				return nil, err
			}
			today := day.Of(p.midnight, simworld.Zone)
			for _, a := range accounts {
				zone, err := time.LoadLocation(a.Timezone)
				if err != nil {
					return nil, err
				}
				long, has := lastLongDay(today.Add(-1), today.Add(-ago), zone)
				if !has {
					continue
				}
				const whole = "SELECT COUNT(*) FROM coverage WHERE account_id = ? AND report = 'report_hourly'" +
					" AND level = 'account' AND day = ? AND state = ?"
				_, err = p.order(ctx, media+".report_hourly.account", task.Order{Accounts: []int64{a.ID}, From: long, To: long,
					By: "standalone --once"})
				return counted(p.store.Data, whole, a.ID, long, results.Complete), err
			}
			return nil, nil
		}}
}

// lastLongDay returns the last day of more than 24 hours between two days, from the newest to the oldest.
func lastLongDay(newest, oldest day.Day, zone *time.Location) (day.Day, bool) {
	for d := newest; d >= oldest; d = d.Add(-1) {
		if d.Add(1).Start(zone).Sub(d.Start(zone)) > 24*time.Hour {
			return d, true
		}
	}
	return "", false
}
