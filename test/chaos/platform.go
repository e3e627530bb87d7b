package main

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

var platformScenarios = []scenario{
	{
		name: "platform-outage-brief",
		doc:  "a platform answers everything with 503 for some seconds; the other continues",
		steps: func(ctx context.Context, t *trial) error {
			return spoilCalls(ctx, t, t.between(10*time.Second, 15*time.Second),
				map[string]any{"kind": "status", "status": 503, "media": firstMedia})
		},
	},
	{
		name: "platform-outage", long: true, mayFail: true, extra: 6 * time.Minute,
		doc: "both platforms answer everything with 500 for 5 minutes: subtasks that use up their attempts fail, and the " +
			"next pulls " +
			"fix it",
		// Work that waits for its next attempt does not end meanwhile.
		stallMax: -1,
		steps: func(ctx context.Context, t *trial) error {
			return spoilCalls(ctx, t, 5*time.Minute, map[string]any{"kind": "status", "status": 500})
		},
	},
	{
		name: "platform-over-limit",
		doc:  "a storm of rate-limit answers: everything waits, and no attempt is used up",
		settings: func(s map[string]any) {
			// The platform demands minutes without calls.
			s["media"] = map[string]any{"pause_max": "3s"}
		},
		steps: func(ctx context.Context, t *trial) error {
			return spoilCalls(ctx, t, t.between(8*time.Second, 12*time.Second), map[string]any{"kind": "over_limit"})
		},
		check: func(ctx context.Context, t *trial) error {
			var attempts int
			err := t.eachLog(ctx, func(table string) error {
				var n int
				err := t.store.Data.Writer(ctx).Raw("SELECT COALESCE(SUM(attempt), 0) FROM " + table).Row().Scan(&n)
				attempts += n
				return err
			})
			if attempts > 0 {
				t.complain("waiting for a limit cost %d attempts, want none", attempts)
			}
			return err
		},
	},
	{
		name: "platform-hangs", stallMax: 15 * time.Second,
		doc: "one endpoint of a platform never answers: its subtasks cost their own slots, and all others continue",
		steps: func(ctx context.Context, t *trial) error {
			return spoilCalls(ctx, t, t.between(12*time.Second, 16*time.Second),
				map[string]any{"kind": "hang", "media": firstMedia, "endpoint": nightOf(firstMedia).HourlyReports})
		},
	},
	{
		name: "platform-half-answers",
		doc:  "answers break off in their middle",
		steps: func(ctx context.Context, t *trial) error {
			return spoilCalls(ctx, t, t.between(8*time.Second, 12*time.Second), map[string]any{"kind": "half_body"})
		},
	},
	{
		name:  "platform-answers-empty",
		doc:   "a platform answers \"success, no rows\" for accounts that had spend today: their rows stay",
		steps: answerEmpty,
	},
	{
		name:  "platform-loses-rows",
		doc:   "rows move while a platform's pages are read, so that some are in none of them: their rows stay",
		steps: loseRows,
	},
	{
		name: "platform-slow", long: true,
		doc: "calls take so long that a backlog waits for much longer than usual: nothing is sent twice because of " +
			"its age",
		prepare: func(ctx context.Context, t *trial) error {
			return t.store.Config.Writer(ctx).Exec("UPDATE lane SET pool_size = 1").Error
		},
		steps: func(ctx context.Context, t *trial) error {
			return spoilCalls(ctx, t, t.between(28*time.Second, 32*time.Second),
				map[string]any{"kind": stage.Latency, "ms": 2500})
		},
		check: func(ctx context.Context, t *trial) error {
			slowest, err := t.slowest(ctx, "1 = 1")
			if err != nil {
				return err
			}
			t.log("the slowest subtask waited for %.1f s", slowest.Seconds())
			if slowest < 10*time.Second {
				t.complain("the slowest subtask waited for %.1f s only: the fault did not do its work", slowest.Seconds())
			}
			return t.eachLog(ctx, func(table string) error {
				var again int
				// In the full round afterwards a subtask may have to wait for a worker.
				err := t.store.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM "+table+` l JOIN run r ON r.id = l.run_id
WHERE r.task_name LIKE ? AND l.delivery > 1 + l.attempt`, loadPrefix+"%").Row().Scan(&again)
				if again > 0 {
					t.complain("%d subtasks were sent again though nothing had failed", again)
				}
				return err
			})
		},
	},
	{
		name: "summary-overtaken",
		doc:  "figures change for the last time between a summary's reading and its writing: the summary is made again",
		steps: func(ctx context.Context, t *trial) error {
			if _, err := t.armAny(ctx, "store.summary.summed", "wait 6s", t.of("consumer")); err != nil {
				return err
			}
			// Everything that changed up to now is pulled within the wait. After that no change causes another summary.
			if _, err := t.world.Freeze(ctx); err != nil {
				return err
			}
			return t.wait(ctx, 10*time.Second)
		},
	},
	{
		name: "tokens-die", long: true,
		doc: "access tokens repeatedly become invalid before they expire: they are refreshed, and no account is parked",
		// A token that becomes invalid right after its refresh looks like one that the platform refuses: its calls pause for
		// a minute.
		stallMax: 80 * time.Second,
		steps: func(ctx context.Context, t *trial) error {
			for range 4 {
				for _, media := range refreshing {
					if err := killTokens(ctx, t, media); err != nil {
						return err
					}
				}
				if err := t.wait(ctx, t.between(3*time.Second, 6*time.Second)); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "token-refresh-killed-before-call", long: true,
		doc:   "kill -9 of a consumer that has announced a refresh and not sent it: another one refreshes",
		steps: killInRefresh("token.before_call", refreshing...),
	},
	{
		name: "token-refresh-killed-after-answer", long: true,
		doc: "kill -9 of a consumer that has new tokens in hand and did not store them, where the platform leaves the " +
			"refresh token alive",
		steps: killInRefresh("token.answered", firstMedia),
	},
	{
		name: "token-pair-lost", long: true, extra: 5 * time.Minute,
		doc: "kill -9 of a consumer that has new tokens in hand, where the call invalidates the old pair: the login is " +
			"parked with one alert and no call, and its subtasks continue automatically once it is authorised again",
		steps: losePair,
	},
	{
		name:  "token-refresh-killed-after-store",
		doc:   "kill -9 of a consumer that has stored new tokens and not announced them",
		steps: killInRefresh("token.stored", refreshing...),
	},
}

// spoilCalls makes calls of platforms meet a fault for a time.
func spoilCalls(ctx context.Context, t *trial, d time.Duration, fault map[string]any) error {
	if err := t.world.Fault(ctx, fault); err != nil {
		return err
	}
	return t.wait(ctx, d)
}

// killTokens ends the access tokens of a platform.
func killTokens(ctx context.Context, t *trial, media string) error {
	err := t.world.Fault(ctx, map[string]any{"kind": "token_death", "media": media, "token": "access"})
	if err == nil {
		t.strike("deaths of tokens", 1)
	}
	return err
}

// killInRefresh kills a consumer at a step of a refresh, once for each of the platforms.
func killInRefresh(point string, medias ...string) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		for _, media := range medias {
			for _, i := range t.of("consumer") {
				if err := i.Arm(point, "kill"); err != nil {
					return err
				}
			}
			if err := killTokens(ctx, t, media); err != nil {
				return err
			}
			i, err := t.awaitPoint(ctx, point, t.of("consumer"))
			for _, other := range t.of("consumer") {
				other.Disarm(point)
			}
			if err != nil {
				return err
			}
			t.log("%s struck in %s", point, i.Name)
			// Time for the others to find the announced refresh, which stays valid for longer.
			if err := t.wait(ctx, t.between(8*time.Second, 10*time.Second)); err != nil {
				return err
			}
			i.ForgetStruck()
		}
		return nil
	}
}

// losePair invalidates a pair of tokens whose successor was never stored, and authorises the login again.
func losePair(ctx context.Context, t *trial) error {
	if err := killInRefresh("token.answered", lastMedia)(ctx, t); err != nil {
		return err
	}
	for _, i := range t.of("consumer") {
		if err := i.Ensure(); err != nil {
			return err
		}
	}
	config := t.store.Config.Writer(ctx)
	var parked int
	err := rig.Await(ctx, stage.Patience, "the login is parked", func(context.Context) (bool, error) {
		err := config.Raw("SELECT COUNT(*) FROM media_token WHERE state = 'reauthorise'").Row().Scan(&parked)
		return parked > 0, err
	})
	if err != nil {
		return err
	}
	t.strike("logins parked", parked)
	calls, err := t.world.Calls(ctx, lastMedia, "")
	if err != nil {
		return err
	}
	if err := t.wait(ctx, 15*time.Second); err != nil {
		return err
	}
	now, err := t.world.Calls(ctx, lastMedia, "")
	if err != nil {
		return err
	}
	if now != calls {
		t.complain("%d calls were made with the login that was parked, want none", now-calls)
	}
	alerts := 0
	for _, i := range t.of("consumer") {
		figures, err := i.ReadLog()
		if err != nil {
			return err
		}
		alerts += figures.Messages["ERROR login must be authorised again: the platform refused its refresh token"]
	}
	if alerts != parked {
		t.complain("%d alerts for %d parked logins, want one for each", alerts, parked)
	}

	// A person authorises it again.
	if err := config.Exec("DELETE FROM account_binding").Error; err != nil {
		return err
	}
	if _, err := rig.Run(ctx, t.program, "bind", "--config", filepath.Join(t.dir, "admin.yaml"), "--simulator",
		t.world.Address); err != nil {
		return err
	}
	t.log("%d logins were parked and are authorised again", parked)
	return rig.Await(ctx, 4*time.Minute, "the subtasks of the login continue", func(ctx context.Context) (bool, error) {
		var waiting int
		err := t.store.Data.Writer(ctx).Raw(
			"SELECT COUNT(*) FROM subtask_due WHERE state = 'deferred' AND reason LIKE '%must be authorised " +
				"again%'").Row().Scan(
			&waiting)
		return waiting == 0, err
	})
}

// loseRows makes reports lack a row that their total counts, and checks that adsync's rows stay.
func loseRows(ctx context.Context, t *trial) error {
	const count = "SELECT account_id, COUNT(*) FROM report_daily WHERE media = ? AND level = 'adgroup' GROUP BY " +
		"account_id"
	most := map[int64]int{}
	look := func() (fell int64, err error) {
		rows, err := t.store.Data.Writer(ctx).Raw(count, lastMedia).Rows()
		if err != nil {
			return 0, err
		}
		defer rows.Close()
		for rows.Next() {
			var id int64
			var n int
			if err := rows.Scan(&id, &n); err != nil {
				return 0, err
			}
			if n < most[id] {
				fell = id
			}
			most[id] = max(most[id], n)
		}
		return fell, rows.Err()
	}
	if _, err := look(); err != nil {
		return err
	}
	fault := map[string]any{"kind": "lost_row", "media": lastMedia, "endpoint": nightOf(lastMedia).DailyReports}
	if err := t.world.Fault(ctx, fault); err != nil {
		return err
	}
	var lost int64
	err := t.watch(ctx, t.between(10*time.Second, 14*time.Second), func() error {
		fell, err := look()
		lost = cmp.Or(lost, fell)
		return err
	})
	if lost != 0 {
		t.complain("rows of account %d were deleted because pages that disagreed lacked them", lost)
	}
	return err
}

// answerEmpty makes a platform return no rows for today for some accounts, and checks that adsync's rows stay.
func answerEmpty(ctx context.Context, t *trial) error {
	rows, err := t.store.Data.Writer(ctx).Raw(
		"SELECT account_id, media, DATE_FORMAT(MAX(day), '%Y-%m-%d') FROM report_daily" +
			" WHERE level = 'account' AND cost > 0 GROUP BY account_id, media ORDER BY account_id").Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	type spent struct {
		accountID  int64
		media, day string
	}
	var all []spent
	for rows.Next() {
		var s spent
		if err := rows.Scan(&s.accountID, &s.media, &s.day); err != nil {
			return err
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	t.random.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	all = all[:min(len(all), 4)]
	for _, s := range all {
		err := t.world.Fault(ctx, map[string]any{
			"kind": "alter", "what": "day", "seed": 1, "media": s.media, "account": t.external[s.accountID], "level": "account",
			"granularity": "daily", "day": s.day,
		})
		if err != nil {
			return err
		}
		t.strike("emptied days", 1)
	}
	gone := map[int64]bool{}
	err = t.watch(ctx, t.between(8*time.Second, 12*time.Second), func() error {
		for _, s := range all {
			var n int
			err := t.store.Data.Writer(ctx).Raw(
				"SELECT COUNT(*) FROM report_daily WHERE day = ? AND account_id = ? AND level = 'account'", s.day,
				s.accountID).Row().Scan(&n)
			if err != nil {
				return err
			}
			gone[s.accountID] = gone[s.accountID] || n == 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, is := range gone {
		if is {
			t.complain("the rows of account %d were deleted because the platform answered without any", id)
		}
	}
	return nil
}
